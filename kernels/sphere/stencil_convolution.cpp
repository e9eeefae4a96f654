// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/sphere/stencil_basis.hpp"
#include "kernels/sphere/stencil_geometry.hpp"

namespace surrogate::kernels::sphere {
namespace {

/// Number of zeros inside a strip that cost less than a new strip.
constexpr int64_t longest_gap = 3;

/// All functions of a filter at the input points of one output row.
struct FilterRow {
    RowRange rows;               ///< of the input
    std::vector<Run> runs;       ///< one row of the input each
    std::vector<int64_t> begin;  ///< first point of a run
    std::vector<double> value;   ///< (point, basis function)
    std::vector<uint8_t> is_inside;
    std::vector<double> quadrature;  ///< weight of a point of each row
    std::vector<double> divisor;     ///< of each basis function
};

/// Builds Psi. A convolution has its disks around output points, filled with input points; a
/// transposed one has them around input points, filled with output points.
class Psi {
public:
    Psi(const Grid& out, const Grid& in, const Filter& filter, bool is_transposed)
        : filter_(filter),
          is_transposed_(is_transposed),
          phases_(out, in),
          out_rows_(latitudes(out.kind, out.n_lat)),
          in_rows_(latitudes(in.kind, in.n_lat)),
          n_lon_(is_transposed ? out.n_lon : in.n_lon),
          n_lon_in_(in.n_lon),
          meridian_(out_rows_, in_rows_, reach(filter.theta_cutoff)),
          disks_(is_transposed ? Disks(in_rows_, out_rows_, n_lon_, reach(filter.theta_cutoff))
                               : Disks(out_rows_, in_rows_, n_lon_, reach(filter.theta_cutoff))),
          basis_(make_basis(filter, reach(filter.theta_cutoff))),
          n_basis_(basis_->size()) {}

    Stencil stencil(int64_t first_row, int64_t end_row) {
        Stencil stencil;
        stencil.n_column = phases_.n_column;
        stencil.n_phase_in = phases_.n_in;
        stencil.n_phase_out = phases_.n_out;
        stencil.first_row = first_row;
        stencil.end_row = end_row;
        stencil.n_basis = n_basis_;
        stencil.begin.push_back(0);
        stencil.value_begin.push_back(0);
        if (filter_.norm == BasisNorm::mean && first_row < end_row) find_mean_sizes();
        for (int64_t row = first_row; row < end_row; ++row) {
            evaluate(row);
            if (filter_.norm == BasisNorm::modal) subtract_means();
            find_divisors();
            for (int64_t phase = 0; phase < phases_.n_out; ++phase)
                for (int64_t k = 0; k < n_basis_; ++k) add_list(phase, k, stencil);
        }
        stencil.strips.shrink_to_fit();
        stencil.values.shrink_to_fit();
        return stencil;
    }

private:
    size_t at(int64_t point, int64_t k) const { return static_cast<size_t>(point * n_basis_ + k); }

    /// Computes the raw values of an output row.
    void evaluate(int64_t row) {
        row_.rows = meridian_.rows(row);
        row_.runs.clear();
        row_.quadrature.clear();
        row_.begin.assign(1, 0);
        for (int64_t hi = row_.rows.begin; hi < row_.rows.end; ++hi) {
            row_.runs.push_back(is_transposed_ ? disks_.columns(hi, row) : disks_.columns(row, hi));
            row_.begin.push_back(row_.begin.back() + std::max<int64_t>(0, row_.runs.back().count));
            // Sums use the weights of the ring that contains the points.
            row_.quadrature.push_back(in_rows_.weight[static_cast<size_t>(hi)] /
                                      (2 * static_cast<double>(n_lon_)));
        }
        row_.value.resize(at(row_.begin.back(), 0));
        row_.is_inside.resize(row_.value.size());
        for (int64_t hi = row_.rows.begin; hi < row_.rows.end; ++hi) evaluate_run(row, hi);
    }

    void evaluate_run(int64_t row, int64_t hi) {
        const auto i = static_cast<size_t>(hi - row_.rows.begin);
        for (int64_t j = 0; j < row_.runs[i].count; ++j) {
            const int64_t column = (row_.runs[i].first + j + n_lon_) % n_lon_;
            const Sighting seen =
                is_transposed_ ? disks_.sight(hi, row, column) : disks_.sight(row, hi, column);
            const size_t to = at(row_.begin[i] + j, 0);
            basis_->evaluate(seen.distance, seen.direction, row_.value.data() + to,
                             row_.is_inside.data() + to);
        }
    }

    /// Returns the sum over the points of a row of f(point, quadrature weight).
    template <class Term>
    double sum(const Term& term) const {
        double total = 0;
        for (size_t i = 0; i < row_.runs.size(); ++i)
            for (int64_t p = row_.begin[i]; p < row_.begin[i + 1]; ++p)
                total += term(p, row_.quadrature[i]);
        return total;
    }
    /// Returns S_k = sum of |b_k| u.
    double size_of(int64_t k) const {
        return sum([&](int64_t p, double u) { return std::abs(row_.value[at(p, k)]) * u; });
    }
    /// Returns U_k = sum of u over the support.
    double support_of(int64_t k) const {
        return sum([&](int64_t p, double u) { return row_.is_inside[at(p, k)] ? u : 0; });
    }

    /// Subtracts from anisotropic functions their mean over the support.
    void subtract_means() {
        for (int64_t k = 0; k < n_basis_; ++k) {
            if (basis_->is_isotropic(k)) continue;
            const double mean = sum([&](int64_t p, double u) { return row_.value[at(p, k)] * u; }) /
                                std::max(support_of(k), smallest_divisor);
            for (int64_t p = 0; p < row_.begin.back(); ++p)
                if (row_.is_inside[at(p, k)]) row_.value[at(p, k)] -= mean;
        }
    }

    void find_mean_sizes() {
        mean_sizes_.assign(static_cast<size_t>(n_basis_), 0);
        const auto n_row = static_cast<int64_t>(out_rows_.theta.size());
        for (int64_t row = 0; row < n_row; ++row) {
            evaluate(row);
            for (int64_t k = 0; k < n_basis_; ++k)
                mean_sizes_[static_cast<size_t>(k)] += size_of(k) / static_cast<double>(n_row);
        }
    }

    void find_divisors() {
        row_.divisor.clear();
        for (int64_t k = 0; k < n_basis_; ++k) row_.divisor.push_back(divisor(k));
    }
    double divisor(int64_t k) const {
        switch (filter_.norm) {
            case BasisNorm::nodal:
            case BasisNorm::modal: return std::max(size_of(k), smallest_divisor);
            case BasisNorm::mean: {
                const double size = mean_sizes_[static_cast<size_t>(k)];
                return filter_.adds_epsilon ? size + smallest_divisor
                                            : std::max(size, smallest_divisor);
            }
            case BasisNorm::support: return std::max(support_of(k), smallest_divisor);
            case BasisNorm::geometric: return (1 - std::cos(filter_.theta_cutoff)) / 4;
            case BasisNorm::none: return 1;
        }
        throw Error(Status::internal, "unhandled normalization mode");
    }

    /// Adds the list of function k for one phase of the evaluated row.
    void add_list(int64_t phase, int64_t k, Stencil& stencil) const {
        for (int64_t hi = row_.rows.begin; hi < row_.rows.end; ++hi) {
            const Run run = row_.runs[static_cast<size_t>(hi - row_.rows.begin)];
            if (is_transposed_) {
                const Run columns = phases_.of_output(run, phase);
                add_strips(hi, k, hi, columns, phase - phases_.n_out * columns.first - run.first,
                           -phases_.n_out, stencil);
                continue;
            }
            for (int64_t r = 0; r < phases_.n_in; ++r) {
                const Run columns = phases_.of_input(run, r);
                add_strips(hi, k, hi * phases_.n_in + r, columns,
                           phases_.n_in * columns.first + r - run.first, phases_.n_in, stencil);
            }
        }
        stencil.begin.push_back(static_cast<int64_t>(stencil.strips.size()));
        stencil.value_begin.push_back(static_cast<int64_t>(stencil.values.size()));
    }

    /// Adds strips of the nonzero values among some columns of a phase row; column i is point
    /// `first_point + i * step` of the run of row hi.
    void add_strips(int64_t hi, int64_t k, int64_t phase_row, Run columns, int64_t first_point,
                    int64_t step, Stencil& stencil) const {
        const auto i = static_cast<size_t>(hi - row_.rows.begin);
        // Quadrature weights of the input, regardless of the ring of the sums.
        const double factor = in_rows_.weight[static_cast<size_t>(hi)] /
                              (2 * static_cast<double>(n_lon_in_)) /
                              row_.divisor[static_cast<size_t>(k)];
        const auto value = [&](int64_t column) {
            return row_.value[at(row_.begin[i] + first_point + column * step, k)];
        };
        int64_t column = 0;
        while (column < columns.count) {
            if (value(column) == 0) {
                ++column;
                continue;
            }
            int64_t end = column + 1;  // after the last nonzero value
            for (int64_t next = end; next < columns.count && next - end < longest_gap + 1; ++next)
                if (value(next) != 0) end = next + 1;
            stencil.strips.push_back({static_cast<int32_t>(phase_row),
                                      static_cast<int32_t>(columns.first + column),
                                      static_cast<int32_t>(end - column)});
            for (; column < end; ++column) stencil.values.push_back(value(column) * factor);
        }
    }

    static constexpr double smallest_divisor = 1e-9;

    Filter filter_;
    bool is_transposed_;
    Phases phases_;
    Latitudes out_rows_, in_rows_;
    int64_t n_lon_, n_lon_in_;  ///< n_lon_: of the ring whose points are in the disks
    Meridian meridian_;
    Disks disks_;
    std::unique_ptr<FilterBasis> basis_;
    int64_t n_basis_;
    FilterRow row_;
    std::vector<double> mean_sizes_;
};

void check(const Grid& out, const Grid& in, const Filter& filter, bool is_transposed) {
    const Grid& fine = is_transposed ? out : in;
    const Grid& coarse = is_transposed ? in : out;
    if (!(filter.theta_cutoff > 0))
        throw Error(
            Status::invalid_argument,
            "theta_cutoff is " + std::to_string(filter.theta_cutoff) + ", expected above 0");
    const Phases phases(out, in);  // throws with a text that names sizes that would work
    if (coarse.n_lon > phases.n_column)
        throw Error(Status::shape, std::string(is_transposed ? "input" : "output") + " has " +
                                       std::to_string(coarse.n_lon) + " longitudes, " +
                                       (is_transposed ? "output" : "input") + " only " +
                                       std::to_string(fine.n_lon) +
                                       "; a convolution needs an output grid that is not finer, a "
                                       "transposed convolution one that is not coarser");
}

}  // namespace

Stencil convolution(const Grid& out, const Grid& in, const Filter& filter, int64_t first_row,
                    int64_t end_row) {
    check(out, in, filter, false);
    return Psi(out, in, filter, false).stencil(first_row, end_row);
}

Stencil transposed_convolution(const Grid& out, const Grid& in, const Filter& filter,
                               int64_t first_row, int64_t end_row) {
    check(out, in, filter, true);
    return Psi(out, in, filter, true).stencil(first_row, end_row);
}

}  // namespace surrogate::kernels::sphere
