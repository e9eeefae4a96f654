// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>
#include <vector>

#include "coupling/figure/panel.hpp"
#include "coupling/figure/picture_label.hpp"

namespace surrogate::vtk {

/// Draws panels side by side, aligned at the top, with a color bar under each. Labels (one per
/// panel) add numbers at bars and axes, texts around them and the heading. Returns the bytes of a
/// PNG file. Throws LIMIT (too wide).
std::vector<unsigned char> draw_picture(const std::vector<Panel>& panels,
                                        const std::string& heading,
                                        const std::vector<PictureLabel>& labels);

}  // namespace surrogate::vtk
