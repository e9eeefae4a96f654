// SPDX-License-Identifier: Apache-2.0
#include "kernels/grid/grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::kernels {
namespace {

using std::numbers::pi;

/// Number of nodes that are computed together: the recurrence of a single node waits for its own
/// results.
constexpr size_t n_together = 8;
using Nodes = std::array<double, n_together>;

/// Values of P_n and P_{n-1}.
struct Legendre {
    Nodes p{}, before{};
};

Legendre legendre(int64_t n, const Nodes& theta) {
    Nodes x;
    for (size_t i = 0; i < n_together; ++i) x[i] = std::cos(theta[i]);
    Legendre value{x, {}};
    value.before.fill(1);
    for (int64_t k = 2; k <= n; ++k) {
        const auto degree = static_cast<double>(k);
        const double a = (2 * degree - 1) / degree, b = (degree - 1) / degree;
        for (size_t i = 0; i < n_together; ++i) {
            const double next = a * x[i] * value.p[i] - b * value.before[i];
            value.before[i] = value.p[i];
            value.p[i] = next;
        }
    }
    return value;
}

/// Copies the northern rows to the south by symmetry; an odd middle row is on the equator.
void mirror(Latitudes& rows) {
    const size_t n = rows.theta.size();
    for (size_t k = 0; k < n / 2; ++k) {
        rows.theta[n - 1 - k] = pi - rows.theta[k];
        rows.weight[n - 1 - k] = rows.weight[k];
    }
    if (n % 2 == 1) rows.theta[n / 2] = pi / 2;
}

/// Fills the Clenshaw-Curtis nodes and weights. The cosines 2 pi j k / N repeat after N products,
/// hence one table.
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

/// Runs Newton's method in theta (cos theta loses digits near the poles) for the northern rows.
///   start(k) -> theta;  change(theta, P, P before) -> step;  weight(theta, P, P before)
/// A step of 1e-10 leaves an error of about n/2 * 1e-20.
template <class Start, class Change, class Weight>
void find_nodes(Latitudes& rows, int64_t degree, const Start& start, const Change& change,
                const Weight& weight) {
    constexpr int max_steps = 100;
    const size_t n_north = (rows.theta.size() + 1) / 2;
    for (size_t first = 0; first < n_north; first += n_together) {
        Nodes theta;
        for (size_t i = 0; i < n_together; ++i) theta[i] = start(std::min(first + i, n_north - 1));
        double largest = 1;
        for (int step = 0; step < max_steps && largest > 1e-10; ++step) {
            const Legendre value = legendre(degree, theta);
            largest = 0;
            for (size_t i = 0; i < n_together; ++i) {
                const double move = change(theta[i], value.p[i], value.before[i]);
                theta[i] += move;
                largest = std::max(largest, std::abs(move));
            }
        }
        const Legendre value = legendre(degree, theta);
        for (size_t i = 0; i < n_together && first + i < n_north; ++i) {
            rows.theta[first + i] = theta[i];
            rows.weight[first + i] = weight(theta[i], value.p[i], value.before[i]);
        }
    }
    mirror(rows);
}

/// Fills the rows with the roots of P_n(cos theta).
void fill_legendre_gauss(Latitudes& rows) {
    const auto n = static_cast<double>(rows.theta.size());
    // sin(theta) P_n'(cos theta) = - d/dtheta P_n(cos theta)
    const auto slope = [n](double theta, double p, double before) {
        return n * (before - std::cos(theta) * p) / std::sin(theta);
    };
    find_nodes(
        rows, static_cast<int64_t>(rows.theta.size()),
        [n](size_t k) { return pi * (static_cast<double>(k) + 0.75) / (n + 0.5); },
        [&](double theta, double p, double before) { return p / slope(theta, p, before); },
        [&](double theta, double p, double before) {
            const double s = slope(theta, p, before);
            return 2 / (s * s);
        });
}

/// Fills the rows with the poles and the roots of P'_{n-1}(cos theta).
void fill_lobatto(Latitudes& rows) {
    const auto n = static_cast<double>(rows.theta.size());
    find_nodes(
        rows, static_cast<int64_t>(rows.theta.size()) - 1,
        [n](size_t k) { return pi * static_cast<double>(k) / (n - 1); },
        [n](double theta, double p, double before) {
            if (theta == 0) return 0.0;
            return (std::cos(theta) * p - before) / (n * p * std::sin(theta));
        },
        [n](double, double p, double) { return 2 / (n * (n - 1) * p * p); });
}

/// Fills rows that are equally spaced in cos(theta).
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
                    "' does not exist; expected 'equiangular', 'legendre-gauss', 'lobatto' or "
                    "'equiangular-trapezoidal'");
}

Latitudes latitudes(GridKind kind, int64_t n_lat) {
    if (n_lat < 2)
        throw Error(Status::invalid_argument, std::string("a ") + name(kind) +
                                                  " grid needs at least 2 rows of latitude, got " +
                                                  std::to_string(n_lat));
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

}  // namespace surrogate::kernels
