// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;

/// P_n and P_{n-1} at x.
struct Legendre {
    double p = 0, before = 0;
};

Legendre legendre(int64_t n, double x) {
    double before = 1, p = x;
    for (int64_t k = 2; k <= n; ++k) {
        const auto degree = static_cast<double>(k);
        const double next = ((2 * degree - 1) * x * p - (degree - 1) * before) / degree;
        before = p;
        p = next;
    }
    return {p, before};
}

/// Rows south of the equator mirror those north of it; an odd middle row lies on the equator.
void mirror(Latitudes& rows) {
    const size_t n = rows.theta.size();
    for (size_t k = 0; k < n / 2; ++k) {
        rows.theta[n - 1 - k] = pi - rows.theta[k];
        rows.weight[n - 1 - k] = rows.weight[k];
    }
    if (n % 2 == 1) rows.theta[n / 2] = pi / 2;
}

/// Clenshaw-Curtis. The cosines 2 pi j k / N repeat after N products, hence one table.
void fill_equiangular(Latitudes& rows) {
    const auto n_gap = static_cast<int64_t>(rows.theta.size()) - 1;
    const auto gap = static_cast<double>(n_gap);
    std::vector<double> cosine(static_cast<size_t>(n_gap));
    for (size_t i = 0; i < cosine.size(); ++i)
        cosine[i] = std::cos(2 * pi * static_cast<double>(i) / gap);
    for (int64_t k = 0; k <= n_gap; ++k) {
        double sum = 0;
        for (int64_t j = 1; j <= n_gap / 2; ++j) {
            const double b = 2 * j == n_gap ? 1 : 2;
            sum +=
                b / static_cast<double>(4 * j * j - 1) * cosine[static_cast<size_t>(j * k % n_gap)];
        }
        const double c = k == 0 || k == n_gap ? 1 : 2;
        rows.theta[static_cast<size_t>(k)] = pi * static_cast<double>(k) / gap;
        rows.weight[static_cast<size_t>(k)] = c / gap * (1 - sum);
    }
}

/// Newton's method stops when a step no longer changes theta: it converges quadratically, four or
/// five steps from the starting points below.
constexpr int max_newton_steps = 100;
bool is_settled(double step, double theta) {
    return std::abs(step) <= 1e-15 * theta;
}

/// Roots of P_n(cos theta), found in theta: cos theta loses digits near the poles.
void fill_legendre_gauss(Latitudes& rows) {
    const auto n = static_cast<int64_t>(rows.theta.size());
    const auto degree = static_cast<double>(n);
    for (int64_t k = 0; k < (n + 1) / 2; ++k) {
        double theta = pi * (static_cast<double>(k) + 0.75) / (degree + 0.5);
        double slope = 0;  // sin(theta) P_n'(cos theta) = - d/dtheta P_n(cos theta)
        for (int step = 0; step < max_newton_steps; ++step) {
            const Legendre value = legendre(n, std::cos(theta));
            slope = degree * (value.before - std::cos(theta) * value.p) / std::sin(theta);
            const double change = value.p / slope;
            theta += change;
            if (is_settled(change, theta)) break;
        }
        rows.theta[static_cast<size_t>(k)] = theta;
        rows.weight[static_cast<size_t>(k)] = 2 / (slope * slope);
    }
    mirror(rows);
}

/// The poles and the roots of P'_{n-1}(cos theta).
void fill_lobatto(Latitudes& rows) {
    const auto n = static_cast<int64_t>(rows.theta.size());
    const auto count = static_cast<double>(n);
    for (int64_t k = 0; k < (n + 1) / 2; ++k) {
        double theta = pi * static_cast<double>(k) / (count - 1);
        Legendre value = legendre(n - 1, std::cos(theta));
        for (int step = 0; k > 0 && step < max_newton_steps; ++step) {
            const double x = std::cos(theta);
            const double change =
                (x * value.p - value.before) / (count * value.p * std::sin(theta));
            theta += change;
            value = legendre(n - 1, std::cos(theta));
            if (is_settled(change, theta)) break;
        }
        rows.theta[static_cast<size_t>(k)] = theta;
        rows.weight[static_cast<size_t>(k)] = 2 / (count * (count - 1) * value.p * value.p);
    }
    mirror(rows);
}

/// Equally spaced in cos(theta).
void fill_trapezoidal(Latitudes& rows) {
    const size_t n = rows.theta.size();
    const auto gap = static_cast<double>(n - 1);
    for (size_t k = 0; k < (n + 1) / 2; ++k) {
        rows.theta[k] = std::acos(1 - 2 * static_cast<double>(k) / gap);
        rows.weight[k] = k == 0 ? 1 / gap : 2 / gap;
    }
    mirror(rows);
}

}  // namespace

const char* name(GridKind kind) {
    switch (kind) {
        case GridKind::equiangular: return "equiangular";
        case GridKind::legendre_gauss: return "legendre-gauss";
        case GridKind::lobatto: return "lobatto";
        case GridKind::equiangular_trapezoidal: return "equiangular-trapezoidal";
    }
    return "?";
}

GridKind parse_grid_kind(std::string_view text) {
    for (GridKind kind : {GridKind::equiangular, GridKind::legendre_gauss, GridKind::lobatto,
                          GridKind::equiangular_trapezoidal}) {
        if (text == name(kind)) return kind;
    }
    throw Error(Status::invalid_argument,
                "grid '" + std::string(text) +
                    "' is not known; grids are 'equiangular', 'legendre-gauss', 'lobatto' and "
                    "'equiangular-trapezoidal'");
}

Latitudes latitudes(GridKind kind, int64_t n_lat) {
    if (n_lat < 2)
        throw Error(Status::invalid_argument, std::string("a ") + name(kind) +
                                                  " grid needs at least 2 rows of latitude, " +
                                                  std::to_string(n_lat) + " asked for");
    Latitudes rows;
    rows.theta.resize(static_cast<size_t>(n_lat));
    rows.weight.resize(static_cast<size_t>(n_lat));
    switch (kind) {
        case GridKind::equiangular: fill_equiangular(rows); break;
        case GridKind::legendre_gauss: fill_legendre_gauss(rows); break;
        case GridKind::lobatto: fill_lobatto(rows); break;
        case GridKind::equiangular_trapezoidal: fill_trapezoidal(rows); break;
    }
    return rows;
}

double largest_gap(const Latitudes& latitudes) {
    double largest = 0;
    for (size_t k = 0; k + 1 < latitudes.theta.size(); ++k)
        largest = std::max(largest, latitudes.theta[k + 1] - latitudes.theta[k]);
    return largest;
}

}  // namespace surrogate::kernels::sphere
