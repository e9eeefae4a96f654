// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace surrogate::kernels {

/// One entry of a list of compiled images, as CMake's CUDA_ARCHITECTURES writes them.
inline bool image_runs_on(std::string_view image, int major, int minor) {
    const auto n_digit =
        std::find_if(image.begin(), image.end(), [](unsigned char c) { return !std::isdigit(c); }) -
        image.begin();
    int number = 0;
    for (const char digit : image.substr(0, static_cast<size_t>(n_digit)))
        number = 10 * number + (digit - '0');
    const auto rest = image.substr(static_cast<size_t>(n_digit));
    if (n_digit == 0) return false;
    const int image_major = number / 10, image_minor = number % 10;
    const bool is_exact = rest.starts_with('a');
    const bool is_same = major == image_major && minor == image_minor;
    if (is_exact) return is_same;
    const bool is_later = major > image_major || (major == image_major && minor >= image_minor);
    const bool machine_code = !rest.ends_with("-virtual") && major == image_major && is_later;
    const bool portable_code = !rest.ends_with("-real") && is_later;
    return machine_code || portable_code;
}

/// Whether device code compiled for `images` ("80-real 90a-real": machine code for 8.0 and later of
/// 8.x, and for 9.0 alone; "-virtual" and no ending keep code that any later device can translate)
/// runs on a device of capability major.minor.
inline bool has_image_for(std::string_view images, int major, int minor) {
    while (!images.empty()) {
        const auto end = std::min(images.find(' '), images.size());
        if (image_runs_on(images.substr(0, end), major, minor)) return true;
        images.remove_prefix(std::min(end + 1, images.size()));
    }
    return false;
}

}  // namespace surrogate::kernels
