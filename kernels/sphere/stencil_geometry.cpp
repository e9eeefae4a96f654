// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/stencil_geometry.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;

std::vector<double> longitudes(int64_t n_lon) {
    std::vector<double> lambda(static_cast<size_t>(n_lon));
    for (size_t j = 0; j < lambda.size(); ++j)
        lambda[j] = 2 * pi * static_cast<double>(j) / static_cast<double>(n_lon);
    return lambda;
}

int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

/// Returns numbers near n that divide `other` or are divided by it.
std::string sizes_that_work(int64_t n, int64_t other) {
    const auto works = [&](int64_t m) { return m % other == 0 || other % m == 0; };
    int64_t below = std::max<int64_t>(n, 1), above = below;
    while (!works(below)) --below;
    while (!works(above)) ++above;
    return std::to_string(below) + " and " + std::to_string(above);
}

}  // namespace

Disks::Rows::Rows(const std::vector<double>& theta) {
    for (double angle : theta) {
        sine.push_back(std::sin(angle));
        cosine.push_back(std::cos(angle));
    }
}

Disks::Disks(const Latitudes& centres, const Latitudes& points, int64_t n_lon, double radius)
    : centres_(centres.theta),
      points_(points.theta),
      columns_(longitudes(n_lon)),
      n_lon_(n_lon),
      radius_(radius) {}

/// Returns the position. Source: spec of the sphere, section 4, with the same operations, so that
/// near-ties are decided as in the official code.
Disks::Position Disks::local(int64_t centre, int64_t point, int64_t column) const {
    const auto o = static_cast<size_t>(centre), i = static_cast<size_t>(point),
               j = static_cast<size_t>(column);
    const double sine = points_.sine[i], cosine = points_.cosine[i];
    return {centres_.cosine[o] * sine * columns_.cosine[j] - centres_.sine[o] * cosine,
            sine * columns_.sine[j],
            centres_.cosine[o] * cosine + centres_.sine[o] * sine * columns_.cosine[j]};
}

double Disks::distance(int64_t centre, int64_t point, int64_t column) const {
    const Position p = local(centre, point, column);
    // The square root of a rounded square is exact: the quotient never leaves [-1, 1].
    return std::acos(p.z / std::sqrt(p.x * p.x + p.y * p.y + p.z * p.z));
}

Sighting Disks::sight(int64_t centre, int64_t point, int64_t column) const {
    const Position p = local(centre, point, column);
    const double across = p.x * p.x + p.y * p.y;
    Sighting sighting{std::acos(p.z / std::sqrt(across + p.z * p.z)), 0};
    if (across >= 1e-24) {
        sighting.direction = std::atan2(p.y, p.x);
        if (sighting.direction < 0) sighting.direction += 2 * pi;
    }
    return sighting;
}

/// Returns the columns. The half-width is first estimated, then corrected with the distances
/// themselves.
Run Disks::columns(int64_t centre, int64_t point) const {
    const auto o = static_cast<size_t>(centre), i = static_cast<size_t>(point);
    const double across = centres_.sine[o] * points_.sine[i];
    const double along = std::cos(std::min(radius_, pi)) - centres_.cosine[o] * points_.cosine[i];
    const int64_t half = n_lon_ / 2;
    int64_t w = half;
    if (along >= across) {
        w = 0;
    } else if (along > -across) {
        w = std::min(half, static_cast<int64_t>(std::acos(along / across) / (2 * pi) *
                                                static_cast<double>(n_lon_)));
    }
    if (is_within(centre, point, w)) {
        while (w < half && is_within(centre, point, w + 1)) ++w;
    } else {
        while (w >= 0 && !is_within(centre, point, w)) --w;
    }
    if (w == half) return {-half, n_lon_};
    return {-w, 2 * w + 1};  // empty for w = -1
}

RowRange Meridian::rows(int64_t centre) const {
    // acos near its ends has an error of 1e-8: more rows are tried, and rows outside by their
    // distance are dropped.
    constexpr double slack = 1e-6;
    const double theta = centres_[static_cast<size_t>(centre)];
    const auto first = std::lower_bound(points_.begin(), points_.end(), theta - radius_ - slack);
    const auto end = std::upper_bound(first, points_.end(), theta + radius_ + slack);
    RowRange rows{first - points_.begin(), end - points_.begin()};
    const auto is_within = [&](int64_t row) { return disks_.distance(centre, row, 0) <= radius_; };
    while (rows.begin < rows.end && !is_within(rows.begin)) ++rows.begin;
    while (rows.begin < rows.end && !is_within(rows.end - 1)) --rows.end;
    return rows;
}

RowRange rows_within(const Latitudes& out, const Latitudes& in, double theta_cutoff,
                     int64_t first_row, int64_t end_row) {
    const Meridian meridian(out, in, reach(theta_cutoff));
    RowRange all;
    for (int64_t row = first_row; row < end_row; ++row) {
        const RowRange rows = meridian.rows(row);
        if (rows.begin >= rows.end) continue;
        if (all.begin >= all.end) all = rows;
        all = {std::min(all.begin, rows.begin), std::max(all.end, rows.end)};
    }
    return all;
}

Phases::Phases(const Grid& out, const Grid& in) : n_column(std::min(out.n_lon, in.n_lon)) {
    if (n_column < 1)
        throw Error(Status::invalid_argument, "grids need at least 1 longitude; output has " +
                                                  std::to_string(out.n_lon) + ", input " +
                                                  std::to_string(in.n_lon));
    if (in.n_lon % out.n_lon != 0 && out.n_lon % in.n_lon != 0)
        throw Error(Status::shape,
                    "output has " + std::to_string(out.n_lon) + " longitudes, input " +
                        std::to_string(in.n_lon) +
                        ", expected one number that divides the other; use outputs of " +
                        sizes_that_work(out.n_lon, in.n_lon) + " or inputs of " +
                        sizes_that_work(in.n_lon, out.n_lon) + ", for example");
    n_in = in.n_lon / n_column;
    n_out = out.n_lon / n_column;
}

Run Phases::of_input(Run run, int64_t phase) const {
    const int64_t first = -floor_divide(phase - run.first, n_in);
    return {first, floor_divide(run.last() - phase, n_in) - first + 1};
}

Run Phases::of_output(Run run, int64_t phase) const {
    const int64_t first = -floor_divide(run.last() - phase, n_out);
    return {first, floor_divide(phase - run.first, n_out) - first + 1};
}

}  // namespace surrogate::kernels::sphere
