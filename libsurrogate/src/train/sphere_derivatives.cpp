// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/sphere_derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace surrogate::impl {

namespace {

constexpr int64_t n_lane = 8;  // numbers of different lines that are computed together

/// Pairs of points to the left and right of a point.
int64_t n_pair(int64_t n) {
    return (n - 1) / 2;
}

/// d(l) for l = 1 .. n_pair(n), times `factor`.
std::vector<double> coefficients_of(int64_t n, double factor) {
    std::vector<double> d;
    for (int64_t l = 1; l <= n_pair(n); ++l) {
        const double angle = std::numbers::pi * static_cast<double>(l) / static_cast<double>(n);
        const double size = 1 / (2 * (n % 2 == 0 ? std::tan(angle) : std::sin(angle)));
        d.push_back(factor * (l % 2 == 0 ? size : -size));
    }
    return d;
}

/// Rows of a panel: a line, continued at both ends.
int64_t n_panel_row(int64_t n) {
    return n + 2 * n_pair(n);
}

/// Derivatives of n_lane lines. panel: (n_panel_row, n_lane).
void differentiate_panel(const std::vector<double>& d, int64_t n, const double* panel, double* to,
                         int64_t stride, int64_t count) {
    const auto n_l = std::ssize(d);
    for (int64_t i = 0; i < n; ++i) {
        const double* const here = panel + (i + n_l) * n_lane;
        double sum[n_lane] = {};
        for (int64_t l = 0; l < n_l; ++l) {
            const double* const before = here - (l + 1) * n_lane;
            const double* const after = here + (l + 1) * n_lane;
            for (int64_t k = 0; k < n_lane; ++k)
                sum[k] += d[static_cast<size_t>(l)] * (before[k] - after[k]);
        }
        std::copy_n(sum, count, to + i * stride);
    }
}

}  // namespace

SphereDerivatives::SphereDerivatives(const SphereDomain& domain, int64_t n_output,
                                     const kernels::Queue& queue)
    : comm_(domain.context().comm()),
      n_output_(n_output),
      n_point_(domain.n_local()),
      longitude_(direction(domain, true)),
      latitude_(direction(domain, false)) {
    comm_.agree([&] {
        reserve(longitude_, queue.n_thread());
        reserve(latitude_, queue.n_thread());
        slopes_ = kernels::Buffer<double>(n_point_ * n_output_);
    });
}

/// Sets up the route to the lines. A rank holds its lines side by side, point after point, so that
/// neighboring numbers belong to different lines. Collective.
SphereDerivatives::Direction SphereDerivatives::direction(const SphereDomain& domain,
                                                          bool is_longitude) const {
    const auto& [kind, n_lat, n_lon] = domain.grid();
    const int64_t n = is_longitude ? n_lon : n_lat, n_line = is_longitude ? n_lat : n_lon;
    std::vector<int64_t> positions, begins, lines;
    comm_.agree([&] {
        lines = block_begins(n_line, 1, comm_.size());
        for (const int64_t line : lines) begins.push_back(line * n);
        for (int64_t i = 0; i < n_point_; ++i) {
            const int64_t at = domain.position(i), row = at / n_lon, column = at % n_lon;
            const int64_t line = is_longitude ? row : column, along = is_longitude ? column : row;
            const auto after = std::ranges::upper_bound(lines, line);
            const int64_t first = *(after - 1);
            positions.push_back(first * n + along * (*after - first) + line - first);
        }
    });
    Direction made{RowRoute(comm_, positions, begins), n, {}, {}, {}};
    comm_.agree([&] { made.coefficients = coefficients_of(n, is_longitude ? 1 : 2); });
    return made;
}

void SphereDerivatives::reserve(Direction& direction, int n_thread) {
    direction.lines = kernels::Buffer<double>(direction.route.target_rows().size() * n_output_);
    direction.values = kernels::Buffer<double>(n_point_ * n_output_);
    direction.route.reserve(comm_, n_output_ * 8);
    const int64_t n_scratch = direction.route.scratch_rows() * n_output_,
                  n_panel = n_thread * n_panel_row(direction.n) * n_lane;
    if (n_scratch > scratch_.size()) scratch_ = kernels::Buffer<double>(n_scratch);
    if (n_panel > panels_.size()) panels_ = kernels::Buffer<double>(n_panel);
}

/// Replaces values (n_point, n_output) by their derivatives. Collective, without agreement.
void SphereDerivatives::differentiate(const kernels::Queue& queue, Direction& direction,
                                      double* values) {
    const int64_t n = direction.n, before = n_pair(n), row_bytes = n_output_ * 8;
    const int64_t width = direction.lines.size() / n;  // numbers at one point of all lines
    double* const lines = direction.lines.data();
    direction.route.to_target(comm_, values, scratch_.data(), lines, row_bytes);
    queue.parallel_for((width + n_lane - 1) / n_lane, [&](int64_t block, int thread) {
        double* const panel = panels_.data() + thread * n_panel_row(n) * n_lane;
        const int64_t first = block * n_lane, count = std::min(n_lane, width - first);
        for (int64_t i = 0; i < n_panel_row(n); ++i) {
            const int64_t point = (i - before + n) % n;
            std::fill_n(std::copy_n(lines + point * width + first, count, panel + i * n_lane),
                        n_lane - count, 0.0);
        }
        differentiate_panel(direction.coefficients, n, panel, lines + first, width, count);
    });
    direction.route.to_origin(comm_, lines, scratch_.data(), values, row_bytes);
}

void SphereDerivatives::measure(const kernels::Queue& queue, const Sample& sample,
                                std::span<const double> scales, bool alive) {
    std::ranges::fill(longitude_.values, 0.0);
    for (int64_t o = 0; alive && o < n_output_; ++o) {
        for (int64_t i = 0; i < n_point_; ++i) {
            const int64_t at = o * n_point_ + i;
            longitude_.values[i * n_output_ + o] =
                (sample.prediction[at] - sample.target[at]) / scales[static_cast<size_t>(o)];
        }
    }
    std::ranges::copy(longitude_.values, latitude_.values.begin());
    for (Direction* const direction : {&longitude_, &latitude_})
        differentiate(queue, *direction, direction->values.data());
}

double SphereDerivatives::magnitude(int64_t output, int64_t point) const {
    const int64_t at = point * n_output_ + output;
    return std::abs(longitude_.values[at]) + std::abs(latitude_.values[at]);
}

/// The transpose of an antisymmetric matrix is the matrix with the other sign.
void SphereDerivatives::add_gradient(const kernels::Queue& queue, const Sample& sample,
                                     double* to) {
    for (Direction* const direction : {&longitude_, &latitude_}) {
        for (int64_t i = 0; i < n_point_; ++i) {
            for (int64_t at = i * n_output_; at < (i + 1) * n_output_; ++at)
                slopes_[at] = sample.weight_of(i) * sign(direction->values[at]);
        }
        differentiate(queue, *direction, slopes_.data());
        for (int64_t o = 0; o < n_output_; ++o) {
            for (int64_t i = 0; i < n_point_; ++i)
                to[o * n_point_ + i] -= slopes_[i * n_output_ + o];
        }
    }
}

int64_t SphereDerivatives::bytes() const {
    int64_t n = scratch_.bytes() + slopes_.bytes() + panels_.bytes();
    for (const Direction* const direction : {&longitude_, &latitude_}) {
        n += direction->route.bytes() + direction->lines.bytes() + direction->values.bytes() +
             8 * std::ssize(direction->coefficients);
    }
    return n;
}

}  // namespace surrogate::impl
