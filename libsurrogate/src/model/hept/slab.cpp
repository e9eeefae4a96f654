// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

int64_t slab_size(float r, int64_t n) {
    // The official code divides ranks in single precision, which is exact below this limit.
    constexpr int64_t single_limit = int64_t{1} << 24;
    if (n <= 1 || r <= 1) return std::max<int64_t>(1, n);
    if (n >= single_limit) {
        const double size = std::ceil(static_cast<double>(n) / static_cast<double>(r));
        return std::max<int64_t>(1, static_cast<int64_t>(size));
    }
    const float reciprocal = 1.0F / r;
    const float size = std::ceil(reciprocal * static_cast<float>(n));
    return std::max<int64_t>(1, static_cast<int64_t>(size));
}

}  // namespace surrogate::impl::hept
