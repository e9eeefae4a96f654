// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/exact_sum.hpp"

#include <bit>
#include <cmath>

namespace surrogate::impl {

namespace {

constexpr int low_shift = 40;

int ceil_log2(int64_t n) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1)));
}

}  // namespace

ExactGrid::ExactGrid(int64_t n_term, double bound)
    : two_limbs_(limbs(n_term) == 2), is_zero_(bound == 0) {
    int exponent = 0;  // smallest with bound < 2^exponent
    std::frexp(bound, &exponent);
    shift_ = 62 - ceil_log2(n_term) - exponent;
}

void ExactGrid::add(double term, int64_t* sum, int64_t stride) const {
    if (is_zero_) return;
    const double scaled = std::ldexp(term, shift_);  // exact: a power of two
    const double high = std::nearbyint(scaled);      // half to even
    sum[0] += static_cast<int64_t>(high);
    if (two_limbs_)
        sum[stride] += static_cast<int64_t>(std::nearbyint(std::ldexp(scaled - high, low_shift)));
}

double ExactGrid::value(const int64_t* sum, int64_t stride) const {
    if (is_zero_) return 0;
    double total = std::ldexp(static_cast<double>(sum[0]), -shift_);
    if (two_limbs_) total += std::ldexp(static_cast<double>(sum[stride]), -shift_ - low_shift);
    return total;
}

ExactRounding::ExactRounding(double bound) {
    if (bound == 0) return;
    int exponent = 0;
    std::frexp(bound, &exponent);
    const int shift = 62 - exponent, half = shift / 2;
    up_[0] = std::ldexp(1.0, half);
    up_[1] = std::ldexp(1.0, shift - half);
    down_[0] = std::ldexp(1.0, -half);
    down_[1] = std::ldexp(1.0, half - shift);
}

}  // namespace surrogate::impl
