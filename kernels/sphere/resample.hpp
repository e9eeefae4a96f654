// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/grid/grid.hpp"

namespace surrogate::kernels::sphere {

enum class Interpolation { bilinear, bilinear_spherical };

/// Interpolation from one grid to another: latitude first, then longitude.
///   row ho:   between extended input rows above[ho] and above[ho] + 1 with weights (a, b). If
///             has_poles, extended row 0 is the north pole, 1 .. n_lat_in the input rows, n_lat_in
///             + 1 the south pole, where every column holds the mean of the nearest row; otherwise
///             extended rows are input rows.
///   column:   between columns left[wo] and (left[wo] + 1) % n_lon_in.
struct Resampling {
    Grid out, in;
    Interpolation interpolation = Interpolation::bilinear;
    bool is_identity = false;  ///< equal grids: the tables then copy every row exactly
    bool has_poles = false;
    std::vector<int32_t> above;  ///< (n_lat_out)
    std::vector<double> lat_t;   ///< (n_lat_out) weight parameter t in [0, 1]
    std::vector<double> lat_w;   ///< (n_lat_out) angular gap, for bilinear_spherical
    // Columns: n_lon_out entries, filled up to a multiple of lane_count with repetitions.
    std::vector<int32_t> left;
    std::vector<double> lon_t;
    double lon_w = 0;
    std::vector<float> lon_t_single;  ///< rounded once, for the kernels on float
    /// Weights (a, b) of left and right for bilinear_spherical; empty for bilinear.
    std::vector<float> lon_a_single, lon_b_single;
};

/// Weights of two neighbors at angle w for bilinear_spherical: sin((1 - t) w) / sin(w) and sin(t w)
/// / sin(w), linear where sin(w) <= 1e-4.
struct PairWeights {
    double a = 0, b = 0;
};
PairWeights spherical_weights(double t, double w);

/// Builds the tables of a resampling. Source: spec of the sphere, section 7.
Resampling resampling(const Grid& out, const Grid& in, Interpolation interpolation);

/// Computes one output row `row` of a resampling: upper, lower (n_channel, n_lon_in) the two
/// extended input rows, scratch (n_channel, n_lon_in) and y (n_channel, n_lon_out) tiles, no
/// overlap. accumulate: y += .
template <class T>
void resample_row(const Queue& queue, const Resampling& table, int64_t row, Tile<const T> upper,
                  Tile<const T> lower, Tile<T> scratch, bool accumulate, Tile<T> y);

/// Computes y(c, j) = mean over j of x(c, j), in double, in a fixed order: the row of a pole.
template <class T>
void pole_row(Tile<const T> x, Tile<T> y);

namespace ref {
template <class T>
void resample_row(const Resampling& table, int64_t row, Tile<const T> upper, Tile<const T> lower,
                  Tile<T> scratch, bool accumulate, Tile<T> y);
}
namespace simd {
void resample_row(VectorLevel level, const Resampling& table, int64_t row, Tile<const float> upper,
                  Tile<const float> lower, Tile<float> scratch, bool accumulate, Tile<float> y);
}

}  // namespace surrogate::kernels::sphere
