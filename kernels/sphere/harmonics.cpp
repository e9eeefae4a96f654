// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/harmonics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/sphere/harmonics_legendre.hpp"

namespace surrogate::kernels::sphere {
namespace {

using Complex = Harmonics::Complex;

/// Number of orders that are passed from Fourier to Legendre sums together, on the stack.
constexpr int64_t order_block = 64;

Complex times_i(Complex z) {
    return {-z.imag(), z.real()};
}

/// D0 = dP/dtheta and D1 = m P / sin(theta) of one colatitude, from a triangle of one degree more.
struct Derivatives {
    double along_theta = 0, along_lambda = 0;
};

Derivatives derivatives(const double* triangle, int64_t l, int64_t m) {
    const auto x = static_cast<double>(l), y = static_cast<double>(m);
    const auto p = [&](int64_t order, int64_t degree) {
        return order > degree ? 0 : triangle[triangle_index(degree, order)];
    };
    if (m == 0) return {-std::sqrt(x * (x + 1)) * p(1, l), 0};
    return {(std::sqrt((x + y) * (x - y + 1)) * p(m - 1, l) -
             std::sqrt((x - y) * (x + y + 1)) * p(m + 1, l)) /
                2,
            std::sqrt((2 * x + 1) / (2 * x + 3)) / 2 *
                (std::sqrt((x - y + 1) * (x - y + 2)) * p(m - 1, l + 1) +
                 std::sqrt((x + y + 1) * (x + y + 2)) * p(m + 1, l + 1))};
}

}  // namespace

Truncation default_truncation(const Grid& grid) {
    int64_t n_degree = 0;
    switch (grid.kind) {
        case GridKind::equiangular: n_degree = (grid.n_lat + 1) / 2; break;
        case GridKind::legendre_gauss: n_degree = grid.n_lat; break;
        case GridKind::lobatto: n_degree = grid.n_lat - 1; break;
        case GridKind::equiangular_trapezoidal:
            throw Error(Status::invalid_argument,
                        "grid 'equiangular-trapezoidal' has no spherical harmonic transform; "
                        "use 'equiangular', 'legendre-gauss' or 'lobatto'");
    }
    return {std::min(n_degree, grid.n_lon / 2 + 1)};
}

Harmonics::Harmonics(const Grid& grid, Truncation truncation, bool csphase)
    : Harmonics(grid, truncation, csphase, 0, grid.n_lat) {}

Harmonics::Harmonics(const Grid& grid, Truncation truncation, bool csphase, int64_t first_row,
                     int64_t end_row)
    : grid_(grid),
      n_degree_(truncation.n_degree),
      first_row_(first_row),
      latitudes_(latitudes(grid.kind, grid.n_lat)),
      odd_sign_(csphase ? -1 : 1) {
    default_truncation(grid);  // throws for grids without a transform
    if (n_degree_ < 1 || n_degree_ > grid.n_lon / 2 + 1)
        throw Error(Status::invalid_argument, "a transform on " + std::to_string(grid.n_lon) +
                                                  " longitudes supports 1 to " +
                                                  std::to_string(grid.n_lon / 2 + 1) +
                                                  " degrees, got " + std::to_string(n_degree_));
    const size_t size = triangle_size(n_degree_ + 1);
    const LegendreRecurrence recurrence(n_degree_ + 1);
    p_.resize(static_cast<size_t>(std::max<int64_t>(0, end_row - first_row)) * size);
    for (int64_t row = first_row; row < end_row; ++row)
        recurrence.evaluate(latitudes_.theta[static_cast<size_t>(row)],
                            p_.data() + static_cast<size_t>(row - first_row) * size);
    fourier_ = FourierRow(grid.n_lon, n_degree_);
}

const double* Harmonics::triangle(int64_t row) const {
    return p_.data() + static_cast<size_t>(row - first_row_) * triangle_size(n_degree_ + 1);
}

void Harmonics::forward(const double* f, Complex* c) const {
    std::fill_n(c, n_degree_ * n_degree_, Complex());
    Complex orders[order_block];
    for (int64_t row = 0; row < grid_.n_lat; ++row) {
        const double weight = latitudes_.weight[static_cast<size_t>(row)];
        const double* p = triangle(row);
        for (int64_t first = 0; first < n_degree_; first += order_block) {
            const int64_t count = std::min(order_block, n_degree_ - first);
            fourier_.forward(f + row * grid_.n_lon, first, count, orders);
            for (int64_t i = 0; i < count; ++i) orders[i] *= weight * sign(first + i);
            for (int64_t l = first; l < n_degree_; ++l) {
                const double* p_l = p + triangle_index(l, first);
                Complex* c_l = c + l * n_degree_ + first;
                for (int64_t i = 0; i < std::min(count, l + 1 - first); ++i)
                    c_l[i] += p_l[i] * orders[i];
            }
        }
    }
}

void Harmonics::inverse(const Complex* c, double* f) const {
    inverse_rows(c, 0, grid_.n_lat, f);
}

template <class Factor>
void Harmonics::to_rows(const Complex* c, int64_t first_row, int64_t end_row, const Factor& factor,
                        double* f) const {
    for (int64_t row = first_row; row < end_row; ++row) {
        const double* p = triangle(row);
        for (int64_t first = 0; first < n_degree_; first += order_block) {
            const int64_t count = std::min(order_block, n_degree_ - first);
            Complex orders[order_block] = {};
            for (int64_t l = first; l < n_degree_; ++l) {
                const double* p_l = p + triangle_index(l, first);
                const Complex* c_l = c + l * n_degree_ + first;
                for (int64_t i = 0; i < std::min(count, l + 1 - first); ++i)
                    orders[i] += p_l[i] * c_l[i];
            }
            for (int64_t i = 0; i < count; ++i) orders[i] *= factor(row, first + i);
            fourier_.inverse(orders, first, count, first > 0, f + (row - first_row) * grid_.n_lon);
        }
    }
}

void Harmonics::inverse_rows(const Complex* c, int64_t first_row, int64_t end_row,
                             double* f) const {
    to_rows(
        c, first_row, end_row, [&](int64_t, int64_t m) { return sign(m); }, f);
}

/// Computes the gradient of forward(), which multiplies by the weight of the row and 2 pi / n_lon,
/// and counts each order once.
void Harmonics::forward_gradient(const Complex* dc, int64_t first_row, int64_t end_row,
                                 double* df) const {
    const double column = 2 * std::numbers::pi / static_cast<double>(grid_.n_lon);
    const auto factor = [&](int64_t row, int64_t m) {
        return sign(m) * latitudes_.weight[static_cast<size_t>(row)] * column / times(m);
    };
    to_rows(dc, first_row, end_row, factor, df);
}

void Harmonics::inverse_gradient(const double* df, int64_t row, Complex* dc) const {
    std::fill_n(dc, n_degree_ * n_degree_, Complex());
    const double* p = triangle(row);
    const double column = static_cast<double>(grid_.n_lon) / (2 * std::numbers::pi);
    Complex orders[order_block];
    for (int64_t first = 0; first < n_degree_; first += order_block) {
        const int64_t count = std::min(order_block, n_degree_ - first);
        fourier_.forward(df, first, count, orders);
        for (int64_t i = 0; i < count; ++i)
            orders[i] *= sign(first + i) * column * times(first + i);
        for (int64_t l = first; l < n_degree_; ++l) {
            const double* p_l = p + triangle_index(l, first);
            for (int64_t i = 0; i < std::min(count, l + 1 - first); ++i)
                dc[l * n_degree_ + first + i] = p_l[i] * orders[i];
        }
    }
}

/// Returns the bound. The squares of all functions of a degree add up to (2 l + 1) / (4 pi) at
/// every point; orders that are counted twice double it, and a small margin covers rounding.
double Harmonics::inverse_gradient_bound() const {
    const auto degree = static_cast<double>(n_degree_);
    return 2.01 * std::sqrt((2 * degree + 1) / (4 * std::numbers::pi));
}

void Harmonics::vector_forward(const double* v, Complex* c) const {
    const int64_t n = n_degree_, n_point = grid_.n_lat * grid_.n_lon;
    std::fill_n(c, 2 * n * n, Complex());
    Complex south[order_block], east[order_block];
    for (int64_t row = 0; row < grid_.n_lat; ++row) {
        const double weight = latitudes_.weight[static_cast<size_t>(row)];
        for (int64_t first = 0; first < n; first += order_block) {
            const int64_t count = std::min(order_block, n - first);
            fourier_.forward(v + row * grid_.n_lon, first, count, south);
            fourier_.forward(v + n_point + row * grid_.n_lon, first, count, east);
            for (int64_t l = std::max<int64_t>(1, first); l < n; ++l) {
                const double scale = weight / static_cast<double>(l * (l + 1));
                for (int64_t i = 0; i < std::min(count, l + 1 - first); ++i) {
                    const Derivatives d = derivatives(triangle(row), l, first + i);
                    const double factor = scale * sign(first + i);
                    Complex* to = c + l * n + first + i;
                    to[0] +=
                        factor * (d.along_theta * south[i] - d.along_lambda * times_i(east[i]));
                    to[n * n] -=
                        factor * (d.along_lambda * times_i(south[i]) + d.along_theta * east[i]);
                }
            }
        }
    }
}

void Harmonics::vector_inverse(const Complex* c, double* v) const {
    const int64_t n = n_degree_, n_point = grid_.n_lat * grid_.n_lon;
    for (int64_t row = 0; row < grid_.n_lat; ++row) {
        for (int64_t first = 0; first < n; first += order_block) {
            const int64_t count = std::min(order_block, n - first);
            Complex south[order_block] = {}, east[order_block] = {};
            for (int64_t l = first; l < n; ++l) {
                for (int64_t i = 0; i < std::min(count, l + 1 - first); ++i) {
                    const Derivatives d = derivatives(triangle(row), l, first + i);
                    const Complex s = sign(first + i) * c[l * n + first + i],
                                  t = sign(first + i) * c[n * n + l * n + first + i];
                    south[i] += d.along_theta * s + d.along_lambda * times_i(t);
                    east[i] += d.along_lambda * times_i(s) - d.along_theta * t;
                }
            }
            double* to = v + row * grid_.n_lon;
            fourier_.inverse(south, first, count, first > 0, to);
            fourier_.inverse(east, first, count, first > 0, to + n_point);
        }
    }
}

}  // namespace surrogate::kernels::sphere
