// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "coupling/figure/picture.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

std::string numbered(const char* name, int32_t i) {
    return std::string(name) + "[" + std::to_string(i) + "]";
}

/// Writes a figure. `labels`: [n_panels], or NULL for a figure without texts.
void write_png(const char* path, const char* heading, int32_t n_panels,
               const surrogate_png_panel* panels, const surrogate_png_label* labels) {
    require(path, "path");
    require(panels, "panels");
    if (n_panels < 1)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "n_panels is " + std::to_string(n_panels) + ", expected at least 1");
    const std::string heading_text = checked_text(heading, "heading");
    std::vector<Panel> drawn;
    std::vector<PictureLabel> words;
    for (int32_t i = 0; i < n_panels; ++i) {
        drawn.emplace_back(panels[i], numbered("panels", i));
        words.push_back(labels == nullptr ? PictureLabel()
                                          : PictureLabel(labels[i], numbered("labels", i)));
    }
    const auto bytes = draw_picture(drawn, heading_text, words);
    write_atomically(path, bytes.data(), bytes.size());
}

}  // namespace

}  // namespace surrogate::vtk

extern "C" surrogate_status surrogate_png_write(const char* path, int32_t n_panels,
                                                const surrogate_png_panel* panels) {
    using namespace surrogate::vtk;
    return guarded([&] { write_png(path, nullptr, n_panels, panels, nullptr); });
}

extern "C" surrogate_status surrogate_png_write_labeled(const char* path, const char* heading,
                                                        int32_t n_panels,
                                                        const surrogate_png_panel* panels,
                                                        const surrogate_png_label* labels) {
    using namespace surrogate::vtk;
    return guarded([&] {
        require(labels, "labels");
        write_png(path, heading, n_panels, panels, labels);
    });
}
