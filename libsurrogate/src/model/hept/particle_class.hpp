// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/model/hept/config.hpp"

/// Classes of particles: the last feature of pile-up.
namespace surrogate::impl::hept {

/// Text for BadValue::required.
inline constexpr const char* class_text = "a whole number from 0 to 6";

/// Returns the first invalid class in rows (n_row, n_number), whose last number is the class;
/// `column` is its input of the network.
template <class T>
BadValue find_bad_class(const T* rows, int64_t n_row, int64_t n_number, int64_t column) {
    constexpr int n_class = Config::n_class_of_particle;
    static_assert(n_class == 7);
    for (int64_t i = 0; i < n_row; ++i) {
        const auto value = static_cast<double>(rows[(i + 1) * n_number - 1]);
        if (value == std::floor(value) && value >= 0 && value < n_class) continue;
        BadValue bad{static_cast<int>(column), i, value};
        bad.required = class_text;
        return bad;
    }
    return {};
}

}  // namespace surrogate::impl::hept
