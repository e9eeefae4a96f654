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

using std::numbers::pi;
using Complex = Harmonics::Complex;

/// Rows 0 .. n - 1 of a square [l][m], the entries m <= l of which mean anything.
size_t coefficient(int64_t n_degree, int64_t l, int64_t m) {
    return static_cast<size_t>(l * n_degree + m);
}

/// The sum of a[j] * b[j], in four parts: a compiler may not split sums by itself.
double dot(size_t n, const double* a, const double* b) {
    double part[4] = {};
    size_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (size_t lane = 0; lane < 4; ++lane) part[lane] += a[j + lane] * b[j + lane];
    for (; j < n; ++j) part[0] += a[j] * b[j];
    return (part[0] + part[1]) + (part[2] + part[3]);
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
                        "'equiangular', 'legendre-gauss' and 'lobatto' have one");
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
    default_truncation(grid);  // refuses grids without a transform
    if (n_degree_ < 1 || n_degree_ > grid.n_lon / 2 + 1)
        throw Error(Status::invalid_argument,
                    "a transform on " + std::to_string(grid.n_lon) + " longitudes has 1 to " +
                        std::to_string(grid.n_lon / 2 + 1) + " degrees, " +
                        std::to_string(n_degree_) + " asked for");
    const LegendreTriangle triangle(n_degree_ + 1);
    p_.resize(static_cast<size_t>(std::max<int64_t>(0, end_row - first_row)) * triangle.size());
    for (int64_t row = first_row; row < end_row; ++row)
        triangle.evaluate(latitudes_.theta[static_cast<size_t>(row)],
                          p_.data() + static_cast<size_t>(row - first_row) * triangle.size());

    const auto n_lon = static_cast<double>(grid.n_lon);
    for (int64_t m = 0; m < n_degree_; ++m) {
        for (int64_t j = 0; j <= grid.n_lon / 2; ++j) {
            const double angle = 2 * pi * static_cast<double>(m * j % grid.n_lon) / n_lon;
            cosine_.push_back(std::cos(angle));
            sine_.push_back(std::sin(angle));
        }
    }
}

const double* Harmonics::legendre_row(int64_t row) const {
    return p_.data() +
           static_cast<size_t>(row - first_row_) * LegendreTriangle::size(n_degree_ + 1);
}

/// Columns j and n - j share their cosine, and their sine up to its sign.
void Harmonics::row_to_orders(const double* f, Complex* orders) const {
    const auto n = static_cast<size_t>(grid_.n_lon);
    std::vector<double> even(half()), odd(half());
    for (size_t j = 0; j < half(); ++j) {
        const bool is_alone = j == 0 || 2 * j == n;
        even[j] = is_alone ? f[j] : f[j] + f[n - j];
        odd[j] = is_alone ? 0 : f[j] - f[n - j];
    }
    const double scale = 2 * pi / static_cast<double>(n);
    for (size_t m = 0; m < static_cast<size_t>(n_degree_); ++m)
        orders[m] = {scale * dot(half(), even.data(), cosine_.data() + m * half()),
                     -scale * dot(half(), odd.data(), sine_.data() + m * half())};
}

void Harmonics::orders_to_row(const Complex* orders, double* f) const {
    const auto n = static_cast<size_t>(grid_.n_lon);
    std::vector<double> even(half()), odd(half());
    for (size_t m = 0; m < static_cast<size_t>(n_degree_); ++m) {
        const bool is_alone = m == 0 || 2 * m == n;
        const double a = (is_alone ? 1 : 2) * orders[m].real();
        const double b = is_alone ? 0 : -2 * orders[m].imag();
        const double *cosine = cosine_.data() + m * half(), *sine = sine_.data() + m * half();
        for (size_t j = 0; j < half(); ++j) {
            even[j] += a * cosine[j];
            odd[j] += b * sine[j];
        }
    }
    for (size_t j = 0; j < half(); ++j) f[j] = even[j] + odd[j];
    for (size_t j = 1; 2 * j < n; ++j) f[n - j] = even[j] - odd[j];
}

void Harmonics::forward(const double* f, Complex* c) const {
    const int64_t n = n_degree_;
    std::fill_n(c, n * n, Complex());
    std::vector<Complex> orders(static_cast<size_t>(n));
    for (int64_t row = 0; row < grid_.n_lat; ++row) {
        row_to_orders(f + row * grid_.n_lon, orders.data());
        const double weight = latitudes_.weight[static_cast<size_t>(row)];
        const double* p = legendre_row(row);
        for (int64_t m = 0; m < n; p += n + 1 - m, ++m) {
            const double sign = m % 2 == 1 ? odd_sign_ : 1;
            const Complex order = sign * weight * orders[static_cast<size_t>(m)];
            for (int64_t l = m; l < n; ++l) c[coefficient(n, l, m)] += p[l - m] * order;
        }
    }
}

void Harmonics::inverse_row(const Complex* c, int64_t row, double* f) const {
    const int64_t n = n_degree_;
    std::vector<Complex> orders(static_cast<size_t>(n));
    const double* p = legendre_row(row);
    for (int64_t m = 0; m < n; p += n + 1 - m, ++m) {
        Complex sum;
        for (int64_t l = m; l < n; ++l) sum += p[l - m] * c[coefficient(n, l, m)];
        orders[static_cast<size_t>(m)] = m % 2 == 1 ? odd_sign_ * sum : sum;
    }
    orders_to_row(orders.data(), f);
}

void Harmonics::inverse(const Complex* c, double* f) const {
    inverse_rows(c, 0, grid_.n_lat, f);
}

void Harmonics::inverse_rows(const Complex* c, int64_t first_row, int64_t end_row,
                             double* f) const {
    for (int64_t row = first_row; row < end_row; ++row)
        inverse_row(c, row, f + (row - first_row) * grid_.n_lon);
}

/// D0 = dP/dtheta and D1 = m P / sin(theta), triangles [m][l - m], l < n_degree, with the sign of
/// odd orders.
void Harmonics::fill_derivatives(int64_t row, double* d0, double* d1) const {
    const double* table = legendre_row(row);
    const auto p = [&](int64_t m, int64_t l) {
        return m > l ? 0 : table[LegendreTriangle::index(n_degree_ + 1, m, l)];
    };
    for (int64_t m = 0; m < n_degree_; ++m) {
        const double sign = m % 2 == 1 ? odd_sign_ : 1;
        for (int64_t l = m; l < n_degree_; ++l, ++d0, ++d1) {
            const auto x = static_cast<double>(l), y = static_cast<double>(m);
            if (m == 0) {
                *d0 = -std::sqrt(x * (x + 1)) * p(1, l);
                *d1 = 0;
                continue;
            }
            *d0 = sign / 2 *
                  (std::sqrt((x + y) * (x - y + 1)) * p(m - 1, l) -
                   std::sqrt((x - y) * (x + y + 1)) * p(m + 1, l));
            *d1 = sign / 2 * std::sqrt((2 * x + 1) / (2 * x + 3)) *
                  (std::sqrt((x - y + 1) * (x - y + 2)) * p(m - 1, l + 1) +
                   std::sqrt((x + y + 1) * (x + y + 2)) * p(m + 1, l + 1));
        }
    }
}

void Harmonics::vector_forward(const double* v, Complex* c) const {
    const int64_t n = n_degree_, n_point = grid_.n_lat * grid_.n_lon;
    std::fill_n(c, 2 * n * n, Complex());
    std::vector<Complex> south(static_cast<size_t>(n)), east(south.size());
    std::vector<double> d0(LegendreTriangle::size(n)), d1(d0.size());
    for (int64_t row = 0; row < grid_.n_lat; ++row) {
        row_to_orders(v + row * grid_.n_lon, south.data());
        row_to_orders(v + n_point + row * grid_.n_lon, east.data());
        fill_derivatives(row, d0.data(), d1.data());
        const double weight = latitudes_.weight[static_cast<size_t>(row)];
        size_t i = 0;
        for (int64_t m = 0; m < n; ++m) {
            const Complex v0 = weight * south[static_cast<size_t>(m)],
                          v1 = weight * east[static_cast<size_t>(m)];
            const Complex i_v0(-v0.imag(), v0.real()), i_v1(-v1.imag(), v1.real());
            for (int64_t l = m; l < n; ++l, ++i) {
                const double scale = l == 0 ? 1 : 1 / static_cast<double>(l * (l + 1));
                c[coefficient(n, l, m)] += scale * (d0[i] * v0 - d1[i] * i_v1);
                c[n * n + l * n + m] += scale * (-d1[i] * i_v0 - d0[i] * v1);
            }
        }
    }
}

void Harmonics::vector_inverse(const Complex* c, double* v) const {
    const int64_t n = n_degree_, n_point = grid_.n_lat * grid_.n_lon;
    std::vector<Complex> south(static_cast<size_t>(n)), east(south.size());
    std::vector<double> d0(LegendreTriangle::size(n)), d1(d0.size());
    for (int64_t row = 0; row < grid_.n_lat; ++row) {
        fill_derivatives(row, d0.data(), d1.data());
        size_t i = 0;
        for (int64_t m = 0; m < n; ++m) {
            Complex v0, v1;
            for (int64_t l = m; l < n; ++l, ++i) {
                const Complex s = c[coefficient(n, l, m)], t = c[n * n + l * n + m];
                v0 += d0[i] * s + d1[i] * Complex(-t.imag(), t.real());
                v1 += d1[i] * Complex(-s.imag(), s.real()) - d0[i] * t;
            }
            south[static_cast<size_t>(m)] = v0;
            east[static_cast<size_t>(m)] = v1;
        }
        orders_to_row(south.data(), v + row * grid_.n_lon);
        orders_to_row(east.data(), v + n_point + row * grid_.n_lon);
    }
}

}  // namespace surrogate::kernels::sphere
