// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

#include <algorithm>

namespace surrogate::impl::sphere {

using kernels::sphere::Resampling;
using kernels::sphere::Stencil;
using kernels::sphere::Strip;

namespace {

/// Accumulates the weights of one list: weights of all columns per ring of the coarse grid. Rings
/// may be added in any order.
class CoarseRings {
public:
    explicit CoarseRings(const Resampling& table)
        : table_(table),
          n_lon_(table.in.n_lon),
          factor_(table.out.n_lon / table.in.n_lon),
          weights_(static_cast<size_t>(table.in.n_lat * n_lon_)),
          is_used_(static_cast<size_t>(table.in.n_lat)) {}

    /// Adds `weight` times the fine point (row, column). `column` is relative to the column of
    /// output column 0.
    void add(int64_t row, int64_t column, double weight) {
        if (table_.is_identity) return add_column(row, column, weight);
        const auto h = static_cast<size_t>(row);
        const double t = table_.lat_t[h];
        add_extended(table_.above[h], column, (1 - t) * weight);
        add_extended(table_.above[h] + 1, column, t * weight);
    }

    /// Appends the added weights to `to` as strips, and resets the weights to zero.
    void move_to(Stencil& to) {
        spread_pole(north_, 0);
        spread_pole(south_, table_.in.n_lat - 1);
        for (int64_t row = 0; row < table_.in.n_lat; ++row) {
            if (!is_used_[static_cast<size_t>(row)]) continue;
            is_used_[static_cast<size_t>(row)] = 0;
            double* const ring = weights_.data() + row * n_lon_;
            const Strip strip = strip_of(row, ring);
            if (strip.count > 0) to.strips.push_back(strip);
            for (int64_t i = 0; i < strip.count; ++i)
                to.values.push_back(ring[(strip.first + i) % n_lon_]);
            std::fill_n(ring, n_lon_, 0.0);
        }
    }

private:
    void add_extended(int64_t row, int64_t column, double weight) {
        if (weight == 0) return;
        const int64_t inner = table_.has_poles ? row - 1 : row;
        if (inner >= 0 && inner < table_.in.n_lat) return add_fine(inner, column, weight);
        (inner < 0 ? north_ : south_) += weight;
    }
    /// A pole holds the mean of the row `nearest`.
    void spread_pole(double& weight, int64_t nearest) {
        for (int64_t j = 0; j < n_lon_ && weight != 0; ++j)
            add_column(nearest, j, weight / static_cast<double>(n_lon_));
        weight = 0;
    }
    void add_fine(int64_t row, int64_t column, double weight) {
        const int64_t left = column / factor_;
        const double t = static_cast<double>(column % factor_) / static_cast<double>(factor_);
        add_column(row, left, (1 - t) * weight);
        if (t > 0) add_column(row, left + 1, t * weight);
    }
    void add_column(int64_t row, int64_t column, double weight) {
        weights_[static_cast<size_t>(row * n_lon_ + column % n_lon_)] += weight;
        is_used_[static_cast<size_t>(row)] = 1;
    }

    /// The shortest run around the ring that has all weights: what the longest run of zeros leaves.
    Strip strip_of(int64_t row, const double* ring) const {
        int64_t longest = 0, behind = 0, run = 0;
        for (int64_t j = 0; j < 2 * n_lon_; ++j) {
            run = ring[j % n_lon_] == 0 ? run + 1 : 0;
            if (run <= longest) continue;
            longest = run;
            behind = (j + 1) % n_lon_;
        }
        const int64_t count = std::max<int64_t>(0, n_lon_ - longest);
        return {static_cast<int32_t>(row), static_cast<int32_t>(behind),
                static_cast<int32_t>(count)};
    }

    const Resampling& table_;
    int64_t n_lon_, factor_;
    std::vector<double> weights_;
    std::vector<char> is_used_;
    double north_ = 0, south_ = 0;
};

}  // namespace

Stencil upsampled(const Stencil& convolution, const Resampling& table) {
    Stencil to;
    to.n_column = table.in.n_lon;
    to.n_phase_out = table.out.n_lon / table.in.n_lon;
    to.first_row = convolution.first_row;
    to.end_row = convolution.end_row;
    to.n_basis = convolution.n_basis;
    to.begin.push_back(0);
    to.value_begin.push_back(0);
    CoarseRings rings(table);
    for (int64_t row = to.first_row; row < to.end_row; ++row) {
        for (int64_t phase = 0; phase < to.n_phase_out; ++phase) {
            for (int64_t k = 0; k < to.n_basis; ++k) {
                auto value = static_cast<size_t>(convolution.value_of(row, 0, k));
                for (const Strip& strip : convolution.list(row, 0, k)) {
                    const int64_t first = phase + strip.first + table.out.n_lon;
                    for (int64_t i = 0; i < strip.count; ++i)
                        rings.add(strip.row, (first + i) % table.out.n_lon,
                                  convolution.values[value++]);
                }
                rings.move_to(to);
                to.begin.push_back(std::ssize(to.strips));
                to.value_begin.push_back(std::ssize(to.values));
            }
        }
    }
    return to;
}

}  // namespace surrogate::impl::sphere
