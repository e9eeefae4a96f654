// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/harmonics_legendre.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/sphere/harmonics.hpp"

namespace surrogate::kernels::sphere {

LegendreTriangle::LegendreTriangle(int64_t n_degree)
    : n_degree_(n_degree), a_(size()), b_(size()), diagonal_(static_cast<size_t>(n_degree)) {
    for (int64_t m = 0; m < n_degree; ++m) {
        const auto y = static_cast<double>(m);
        if (m > 0) diagonal_[static_cast<size_t>(m)] = std::sqrt((2 * y + 1) / (2 * y));
        for (int64_t l = m + 1; l < n_degree; ++l) {
            const auto x = static_cast<double>(l);
            const size_t i = index(n_degree, m, l);
            a_[i] = std::sqrt((2 * x - 1) / (x - y) * (2 * x + 1) / (x + y));
            if (l > m + 1)
                b_[i] = std::sqrt((x + y - 1) / (x - y) * (2 * x + 1) / (2 * x - 3) * (x - y - 1) /
                                  (x + y));
        }
    }
}

void LegendreTriangle::evaluate(double theta, double* p) const {
    const double x = std::cos(theta), sine = std::sqrt((1 + x) * (1 - x));
    double on_diagonal = 1 / std::sqrt(4 * std::numbers::pi);
    for (int64_t m = 0; m < n_degree_; ++m) {
        if (m > 0) on_diagonal *= diagonal_[static_cast<size_t>(m)] * sine;
        const size_t first = index(n_degree_, m, m);
        p[first] = on_diagonal;
        double before = 0, last = on_diagonal;
        for (size_t i = first + 1; i < first + static_cast<size_t>(n_degree_ - m); ++i) {
            const double next = a_[i] * x * last - b_[i] * before;
            before = last;
            last = p[i] = next;
        }
    }
}

void legendre_functions(double theta, int64_t n_degree, double* p) {
    const LegendreTriangle triangle(n_degree);
    std::vector<double> values(triangle.size());
    triangle.evaluate(theta, values.data());
    std::fill_n(p, n_degree * n_degree, 0.0);
    size_t i = 0;
    for (int64_t m = 0; m < n_degree; ++m)
        for (int64_t l = m; l < n_degree; ++l) p[m * n_degree + l] = values[i++];
}

}  // namespace surrogate::kernels::sphere
