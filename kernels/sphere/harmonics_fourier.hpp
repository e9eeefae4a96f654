// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace surrogate::kernels::sphere {

/// Fourier sums of a real row over few orders, computed directly from tables of cosines. Columns j,
/// n - j, n / 2 - j and n / 2 + j share table entries up to signs, so that a row costs n / 4
/// products of two for each order. Does not allocate after construction.
class FourierRow {
public:
    using Complex = std::complex<double>;

    FourierRow() = default;
    FourierRow(int64_t n_column, int64_t n_order);

    /// Computes orders[i] = 2 pi / n sum_j f[j] exp(-i m lambda_j) for m = first + i, i < count.
    void forward(const double* f, int64_t first, int64_t count, Complex* orders) const;
    /// Computes f[j] = or += Re sum_i c_m orders[i] exp(i m lambda_j), m = first + i, c_m = 1 for m
    /// = 0 and m = n / 2 (which have no imaginary part), else 2.
    void inverse(const Complex* orders, int64_t first, int64_t count, bool accumulate,
                 double* f) const;

private:
    static constexpr size_t block = 64;  ///< columns that are folded together, on the stack
    /// Sums and differences of columns, for cosines and sines.
    struct Folded {
        double cosine_sum[block], cosine_difference[block], sine_sum[block], sine_difference[block];
    };
    void fold(const double* f, size_t first, size_t count, Folded& folded) const;
    void unfold(const Folded& folded, size_t first, size_t count, bool accumulate, double* f) const;

    size_t n_column_ = 0, n_folded_ = 0;
    std::vector<double> cosine_, sine_;  ///< (n_order, n_folded)
};

}  // namespace surrogate::kernels::sphere
