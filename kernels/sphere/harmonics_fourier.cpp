// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/harmonics_fourier.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;

/// Returns the sum of a[j] * b[j], in eight partial sums, because a compiler may not split sums
/// itself.
double dot(size_t n, const double* a, const double* b) {
    constexpr size_t n_part = 8;
    double part[n_part] = {};
    size_t j = 0;
    for (; j + n_part <= n; j += n_part)
        for (size_t i = 0; i < n_part; ++i) part[i] += a[j + i] * b[j + i];
    for (size_t i = 0; j + i < n; ++i) part[i] += a[j + i] * b[j + i];
    return ((part[0] + part[4]) + (part[1] + part[5])) +
           ((part[2] + part[6]) + (part[3] + part[7]));
}

void add_multiple(size_t n, double a, const double* x, double* y) {
    for (size_t j = 0; j < n; ++j) y[j] += a * x[j];
}

}  // namespace

FourierRow::FourierRow(int64_t n_column, int64_t n_order)
    : n_column_(static_cast<size_t>(n_column)),
      n_folded_(n_column_ % 2 == 0 ? n_column_ / 4 + 1 : n_column_ / 2 + 1) {
    for (int64_t m = 0; m < n_order; ++m) {
        for (size_t j = 0; j < n_folded_; ++j) {
            const int64_t turns = m * static_cast<int64_t>(j) % n_column;
            const double angle =
                2 * pi * static_cast<double>(turns) / static_cast<double>(n_column);
            cosine_.push_back(std::cos(angle));
            sine_.push_back(std::sin(angle));
        }
    }
}

/// Folds columns. cos(m (pi - x)) = (-1)^m cos(m x): even orders use sums of the columns that
/// mirror at n / 4, odd orders differences. For sines it is the reverse.
void FourierRow::fold(const double* f, size_t first, size_t count, Folded& folded) const {
    const size_t n = n_column_;
    const auto even = [&](size_t j) { return j == 0 || 2 * j == n ? f[j] : f[j] + f[n - j]; };
    const auto odd = [&](size_t j) { return j == 0 || 2 * j == n ? 0 : f[j] - f[n - j]; };
    for (size_t i = 0; i < count; ++i) {
        const size_t j = first + i;
        const bool is_alone = n % 2 == 1 || 4 * j == n;
        const double mirrored_even = is_alone ? 0 : even(n / 2 - j);
        const double mirrored_odd = is_alone ? 0 : odd(n / 2 - j);
        folded.cosine_sum[i] = even(j) + mirrored_even;
        folded.cosine_difference[i] = even(j) - mirrored_even;
        folded.sine_sum[i] = odd(j) + mirrored_odd;
        folded.sine_difference[i] = odd(j) - mirrored_odd;
    }
}

void FourierRow::forward(const double* f, int64_t first, int64_t count, Complex* orders) const {
    std::fill_n(orders, count, Complex());
    Folded folded;
    for (size_t j = 0; j < n_folded_; j += block) {
        const size_t n = std::min(block, n_folded_ - j);
        fold(f, j, n, folded);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t m = first + i;
            const size_t table = static_cast<size_t>(m) * n_folded_ + j;
            const bool is_even = m % 2 == 0;
            // Without a mirror at n / 4 sums and differences are equal.
            const double *for_cosine = is_even ? folded.cosine_sum : folded.cosine_difference,
                         *for_sine = is_even ? folded.sine_difference : folded.sine_sum;
            orders[i] += Complex(dot(n, for_cosine, cosine_.data() + table),
                                 -dot(n, for_sine, sine_.data() + table));
        }
    }
    const double scale = 2 * pi / static_cast<double>(n_column_);
    for (int64_t i = 0; i < count; ++i) orders[i] *= scale;
}

/// Computes columns from the contributions of orders of either parity to their cosines and sines.
void FourierRow::unfold(const Folded& folded, size_t first, size_t count, bool accumulate,
                        double* f) const {
    const size_t n = n_column_;
    const auto write = [&](size_t j, double value) { f[j] = accumulate ? f[j] + value : value; };
    const auto write_pair = [&](size_t j, double even, double odd) {
        write(j, even + odd);
        if (j != 0 && 2 * j != n) write(n - j, even - odd);
    };
    for (size_t i = 0; i < count; ++i) {
        const size_t j = first + i;
        write_pair(j, folded.cosine_sum[i] + folded.cosine_difference[i],
                   folded.sine_sum[i] + folded.sine_difference[i]);
        if (n % 2 == 1 || 4 * j == n) continue;
        write_pair(n / 2 - j, folded.cosine_sum[i] - folded.cosine_difference[i],
                   folded.sine_sum[i] - folded.sine_difference[i]);
    }
}

void FourierRow::inverse(const Complex* orders, int64_t first, int64_t count, bool accumulate,
                         double* f) const {
    for (size_t j = 0; j < n_folded_; j += block) {
        const size_t n = std::min(block, n_folded_ - j);
        Folded folded = {};
        for (int64_t i = 0; i < count; ++i) {
            const auto m = static_cast<size_t>(first + i);
            const bool is_even = m % 2 == 0, is_alone = m == 0 || 2 * m == n_column_;
            const double factor = is_alone ? 1 : 2;
            const size_t table = m * n_folded_ + j;
            add_multiple(n, factor * orders[i].real(), cosine_.data() + table,
                         is_even ? folded.cosine_sum : folded.cosine_difference);
            if (is_alone) continue;
            add_multiple(n, -factor * orders[i].imag(), sine_.data() + table,
                         is_even ? folded.sine_difference : folded.sine_sum);
        }
        unfold(folded, j, n, accumulate, f);
    }
}

}  // namespace surrogate::kernels::sphere
