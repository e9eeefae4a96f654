// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace surrogate::timeloop {

namespace {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

constexpr int64_t low_bits = 0xffffffff;

double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// Rounds to multiples of a unit by adding 1.5 * 2^52 units; the low bits of the sum are the count
/// of units. Two grids, a coarse one and one with the unit 2^-51 times as large, contain all bits
/// of most terms.
struct Grid {
    explicit Grid(int unit_exponent)
        : shift(1.5 * power_of_two(unit_exponent + 52)), bits(std::bit_cast<int64_t>(shift)) {}
    double shift;
    int64_t bits;
};

struct Units {
    int64_t coarse = 0, fine = 0;
    int64_t left = 0;  // nonzero: some terms have bits below the fine unit
};

#if defined(__x86_64__) && defined(__gnu_linux__)
#define SURROGATE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SURROGATE_CLONES
#endif

/// Counts the units of all terms. Every operation is exact, so that all clones give the same
/// result.
SURROGATE_CLONES Units units_of(const double* terms, int64_t n, Grid coarse, Grid fine) {
    Units units;
    for (int64_t i = 0; i < n; ++i) {
        const double a = terms[i] + coarse.shift;
        const double rest = terms[i] - (a - coarse.shift);
        const double b = rest + fine.shift;
        units.coarse += std::bit_cast<int64_t>(a) - coarse.bits;
        units.fine += std::bit_cast<int64_t>(b) - fine.bits;
        units.left |= std::bit_cast<int64_t>(rest - (b - fine.shift));
    }
    return units;
}

double left_of(double term, Grid coarse, Grid fine) {
    const double rest = term - ((term + coarse.shift) - coarse.shift);
    return rest - ((rest + fine.shift) - fine.shift);
}

/// Returns the bits of the largest |term|. The integer order of the bits is the order of the
/// numbers.
SURROGATE_CLONES uint64_t largest_of(const double* terms, int64_t n) {
    constexpr uint64_t without_sign = ~uint64_t{0} >> 1;
    uint64_t largest = 0;
    for (int64_t i = 0; i < n; ++i)
        largest = std::max(largest, std::bit_cast<uint64_t>(terms[i]) & without_sign);
    return largest;
}

}  // namespace

void ExactSum::clear() {
    limbs_.fill(0);
    n_added_ = 0;
}

void ExactSum::carry(Limbs& limbs) {
    for (size_t i = 0; i + 1 < limbs.size(); ++i) {
        limbs[i + 1] += limbs[i] >> 32;
        limbs[i] &= low_bits;
    }
}

/// Adds integer * 2^(position - 1074); |integer| < 2^62.
void ExactSum::add_integer(int64_t integer, int position) {
    const int128 wide = static_cast<int128>(integer) * (int64_t{1} << (position & 31));
    int64_t* limb = limbs_.data() + (position >> 5);
    limb[0] += static_cast<int64_t>(wide) & low_bits;
    limb[1] += static_cast<int64_t>(wide >> 32) & low_bits;
    limb[2] += static_cast<int64_t>(wide >> 64);
    constexpr int64_t n_safe = int64_t{1} << 29;  // numbers below 2^32 that fit in an int64
    if (++n_added_ == n_safe) {
        carry(limbs_);
        n_added_ = 0;
    }
}

void ExactSum::add(double term) {
    const auto bits = std::bit_cast<uint64_t>(term);
    const int exponent = static_cast<int>(bits >> 52) & 0x7ff;
    const auto fraction = static_cast<int64_t>(bits & ((uint64_t{1} << 52) - 1));
    const int64_t magnitude = exponent == 0 ? fraction : fraction | (int64_t{1} << 52);
    add_integer(term < 0 ? -magnitude : magnitude, std::max(exponent - 1, 0));
}

void ExactSum::add_chunk(const double* terms, int64_t n) {
    const uint64_t largest = largest_of(terms, n);
    if (largest == 0) return;
    const int top = static_cast<int>(largest >> 52) - 1022;  // |term| < 2^top
    if (top < -900 || top > 1000) {                          // grids beyond double range
        for (int64_t i = 0; i < n; ++i) add(terms[i]);
        return;
    }
    const int coarse_unit = top - 51, fine_unit = top - 102;
    const Grid coarse(coarse_unit), fine(fine_unit);
    const Units units = units_of(terms, n, coarse, fine);
    add_integer(units.coarse, coarse_unit + 1074);
    add_integer(units.fine, fine_unit + 1074);
    for (int64_t i = 0; units.left != 0 && i < n; ++i) add(left_of(terms[i], coarse, fine));
}

void ExactSum::add(const double* terms, int64_t n) {
    constexpr int64_t n_chunk = 1024;  // integers below 2^51 whose sum fits in an int64 below 2^62
    for (int64_t first = 0; first < n; first += n_chunk)
        add_chunk(terms + first, std::min(n_chunk, n - first));
}

void ExactSum::write(double* limbs) {
    carry(limbs_);
    n_added_ = 0;
    std::ranges::transform(limbs_, limbs, [](int64_t limb) { return static_cast<double>(limb); });
}

double ExactSum::value(const double* limbs) {
    Limbs sum;
    std::ranges::transform(limbs, limbs + n_limb, sum.begin(),
                           [](double limb) { return static_cast<int64_t>(limb); });
    carry(sum);
    const bool is_negative = sum.back() < 0;
    if (is_negative) {
        for (int64_t& limb : sum) limb = -limb;
        carry(sum);
    }
    size_t top = n_limb - 1;
    while (top > 2 && sum[top] == 0) --top;
    // The head has at least 65 bits if lower bits exist. Its last bit then records that they are
    // not zero.
    uint128 head = 0;
    for (size_t i = top + 1; i-- > top - 2;) head = (head << 32) | static_cast<uint64_t>(sum[i]);
    const auto is_zero = [](int64_t limb) { return limb == 0; };
    if (!std::all_of(sum.begin(), sum.begin() + static_cast<int64_t>(top) - 2, is_zero)) head |= 1;
    const auto rounded = static_cast<double>(head);
    const int exponent = 32 * (static_cast<int>(top) - 2) - 1074;
    int size = 0;
    std::frexp(rounded, &size);
    const double magnitude = size + exponent > std::numeric_limits<double>::max_exponent
                                 ? std::numeric_limits<double>::infinity()
                                 : std::ldexp(rounded, exponent);
    return is_negative ? -magnitude : magnitude;
}

}  // namespace surrogate::timeloop
