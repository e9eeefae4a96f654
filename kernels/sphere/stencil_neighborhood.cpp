// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/sphere/stencil_geometry.hpp"

namespace surrogate::kernels::sphere {
namespace {

/// Builds the lists of a neighborhood.
class Neighborhood {
public:
    Neighborhood(const Grid& out, const Grid& in, double theta_cutoff)
        : out_(out),
          in_(in),
          theta_cutoff_(theta_cutoff),
          radius_(reach(theta_cutoff)),
          phases_(out, in),
          out_rows_(latitudes(out.kind, out.n_lat)),
          in_rows_(latitudes(in.kind, in.n_lat)),
          meridian_(out_rows_, in_rows_, radius_),
          // The disks are around the points of the coarser grid and contain points of the finer
          // grid, as in the official code.
          disks_(phases_.n_out > 1 ? Disks(in_rows_, out_rows_, out.n_lon, radius_)
                                   : Disks(out_rows_, in_rows_, in.n_lon, radius_)) {}

    Stencil stencil(int64_t first_row, int64_t end_row) const {
        Stencil stencil;
        stencil.n_column = phases_.n_column;
        stencil.n_phase_in = phases_.n_in;
        stencil.n_phase_out = phases_.n_out;
        stencil.first_row = first_row;
        stencil.end_row = end_row;
        stencil.begin.push_back(0);
        for (int64_t row = first_row; row < end_row; ++row) {
            const RowRange seen = meridian_.rows(row);
            for (int64_t phase = 0; phase < phases_.n_out; ++phase) {
                add_list(row, phase, seen, stencil.strips);
                const auto end = static_cast<int64_t>(stencil.strips.size());
                if (end == stencil.begin.back()) throw_is_empty(row, phase);
                stencil.begin.push_back(end);
            }
        }
        return stencil;
    }

private:
    void add_list(int64_t row, int64_t phase, RowRange seen, std::vector<Strip>& strips) const {
        const auto add = [&](int64_t phase_row, Run run) {
            if (run.count > 0)
                strips.push_back({static_cast<int32_t>(phase_row), static_cast<int32_t>(run.first),
                                  static_cast<int32_t>(run.count)});
        };
        for (int64_t hi = seen.begin; hi < seen.end; ++hi) {
            if (phases_.n_out > 1) {
                add(hi, phases_.of_output(disks_.columns(hi, row), phase));
                continue;
            }
            const Run run = disks_.columns(row, hi);
            for (int64_t r = 0; r < phases_.n_in; ++r)
                add(hi * phases_.n_in + r, phases_.of_input(run, r));
        }
    }

    [[noreturn]] void throw_is_empty(int64_t row, int64_t phase) const {
        double nearest = std::numbers::pi;
        const int64_t column = std::min(phase, phases_.n_out - phase);
        for (int64_t hi = 0; hi < in_.n_lat; ++hi)
            nearest = std::min(nearest, phases_.n_out > 1 ? disks_.distance(hi, row, column)
                                                          : disks_.distance(row, hi, 0));
        throw Error(Status::invalid_argument,
                    "output row " + std::to_string(row) + " of " + std::to_string(out_.n_lat) +
                        " has no neighbor within theta_cutoff = " + std::to_string(theta_cutoff_) +
                        "; it has one from " +
                        std::to_string(std::ceil(nearest / 1.001 * 1e6) / 1e6) + " on");
    }

    Grid out_, in_;
    double theta_cutoff_, radius_;
    Phases phases_;
    Latitudes out_rows_, in_rows_;
    Meridian meridian_;
    Disks disks_;
};

}  // namespace

int64_t Stencil::pairs(int64_t row) const {
    const int64_t n_list_of_row = n_phase_out * n_basis;
    const auto list = static_cast<size_t>((row - first_row) * n_list_of_row);
    int64_t sum = 0;
    for (int64_t s = begin[list]; s < begin[list + static_cast<size_t>(n_list_of_row)]; ++s)
        sum += strips[static_cast<size_t>(s)].count;
    return sum;
}

int64_t Stencil::bytes() const {
    const auto size = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
    return static_cast<int64_t>(size(begin) + size(strips) + size(value_begin) + size(values));
}

Stencil neighborhood(const Grid& out, const Grid& in, double theta_cutoff, int64_t first_row,
                     int64_t end_row) {
    if (!(theta_cutoff > 0))
        throw Error(Status::invalid_argument,
                    "theta_cutoff is " + std::to_string(theta_cutoff) + ", expected above 0");
    return Neighborhood(out, in, theta_cutoff).stencil(first_row, end_row);
}

}  // namespace surrogate::kernels::sphere
