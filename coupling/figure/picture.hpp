// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>
#include <vector>

#include "coupling/figure/panel.hpp"
#include "coupling/figure/picture_label.hpp"

namespace surrogate::vtk {

/// Panels side by side, their upper edges in line, a colour bar under each; what the labels (as
/// many as panels) also numbers at bars and axes, texts around them and the heading above all.
/// Returns the bytes of a PNG file. Throws LIMIT (too wide).
std::vector<unsigned char> draw_picture(const std::vector<Panel>& panels,
                                        const std::string& heading,
                                        const std::vector<PictureLabel>& labels);

}  // namespace surrogate::vtk
