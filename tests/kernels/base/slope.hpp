// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/base/view.hpp"

namespace surrogate::kernels::test {

/// df / dx at the number that f reads through x, by central differences of fourth order: for smooth
/// f of size one the error is about 1e-12.
template <class Function>
double slope(double& x, const Function& f) {
    const double at = x, step = 1e-3 * std::max(1.0, std::abs(at));
    const auto difference = [&](double h) {
        x = at + h;
        const double above = f();
        x = at - h;
        const double below = f();
        x = at;
        return above - below;
    };
    return (8 * difference(step) - difference(2 * step)) / (12 * step);
}

/// gradient[k] is df / dvalues[k] for about 20 of the n values, the first and the last among them.
template <class Function>
void expect_slopes(const char* what, double* values, const double* gradient, int64_t n,
                   const Function& f, double bound) {
    const int64_t stride = std::max<int64_t>(1, (n - 1) / 20);
    for (int64_t k = 0; k < n; k = k == n - 1 ? n : std::min(k + stride, n - 1)) {
        const double want = slope(values[k], f), error = std::abs(gradient[k] - want);
        ASSERT_TRUE(error <= bound)
            << what << " " << k << " of " << n << ": got " << gradient[k] << ", differences give "
            << want << ", " << error / bound << " times the bound";
    }
}

/// sum over a tile of a(c, i) b(c, i): a scalar function of b whose gradient is a.
inline double inner_product(Tile<const double> a, Tile<const double> b) {
    double sum = 0;
    for (int64_t c = 0; c < a.shape[0]; ++c)
        for (int64_t i = 0; i < a.shape[1]; ++i) sum += a(c, i) * b(c, i);
    return sum;
}

}  // namespace surrogate::kernels::test
