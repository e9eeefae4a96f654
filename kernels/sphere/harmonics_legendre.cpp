// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/harmonics_legendre.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/sphere/harmonics.hpp"

namespace surrogate::kernels::sphere {

LegendreRecurrence::LegendreRecurrence(int64_t n_degree)
    : n_degree_(n_degree), a_(triangle_size(n_degree)), b_(a_.size()), diagonal_{0} {
    for (int64_t l = 1; l < n_degree; ++l) {
        const auto x = static_cast<double>(l);
        diagonal_.push_back(std::sqrt((2 * x + 1) / (2 * x)));
        for (int64_t m = 0; m < l; ++m) {
            const auto y = static_cast<double>(m);
            const size_t i = triangle_index(l, m);
            a_[i] = std::sqrt((2 * x - 1) / (x - y) * (2 * x + 1) / (x + y));
            if (m < l - 1)
                b_[i] = std::sqrt((x + y - 1) / (x - y) * (2 * x + 1) / (2 * x - 3) * (x - y - 1) /
                                  (x + y));
        }
    }
}

void LegendreRecurrence::evaluate(double theta, double* p) const {
    const double x = std::cos(theta), sine = std::sqrt((1 + x) * (1 - x));
    p[0] = 1 / std::sqrt(4 * std::numbers::pi);
    for (int64_t l = 1; l < n_degree_; ++l) {
        const size_t row = triangle_size(l);
        const double *a = a_.data() + row, *b = b_.data() + row;
        const double* last = p + triangle_size(l - 1);
        double* next = p + row;
        next[l] = diagonal_[static_cast<size_t>(l)] * sine * last[l - 1];
        next[l - 1] = a[l - 1] * x * last[l - 1];
        const double* before = l > 1 ? p + triangle_size(l - 2) : p;
        for (int64_t m = 0; m < l - 1; ++m) next[m] = a[m] * x * last[m] - b[m] * before[m];
    }
}

void legendre_functions(double theta, int64_t n_degree, double* p) {
    std::vector<double> values(triangle_size(n_degree));
    LegendreRecurrence(n_degree).evaluate(theta, values.data());
    std::fill_n(p, n_degree * n_degree, 0.0);
    for (int64_t l = 0; l < n_degree; ++l)
        for (int64_t m = 0; m <= l; ++m) p[m * n_degree + l] = values[triangle_index(l, m)];
}

}  // namespace surrogate::kernels::sphere
