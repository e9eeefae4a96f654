// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace surrogate::kernels {

/// Returns true if one entry of a list of compiled images, in the syntax of CMake's
/// CUDA_ARCHITECTURES, runs on a device of capability major.minor.
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

/// Returns true if device code compiled for `images` runs on a device of capability major.minor.
/// "80 90a-real" is machine code for 8.0 and later of 8.x and for 9.0 alone, and PTX that the
/// driver translates for any device from 8.0 on: an entry without ending, or with "-virtual", keeps
/// PTX.
inline bool has_image_for(std::string_view images, int major, int minor) {
    while (!images.empty()) {
        const auto end = std::min(images.find(' '), images.size());
        if (image_runs_on(images.substr(0, end), major, minor)) return true;
        images.remove_prefix(std::min(end + 1, images.size()));
    }
    return false;
}

}  // namespace surrogate::kernels
