// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sphere/stencil.hpp"

/// Shared by neighborhoods and filters: distances, columns of a row in a disk, phases.
namespace surrogate::kernels::sphere {

/// Returns the reach of a layer: the official code widens every cutoff by this factor.
constexpr double reach(double theta_cutoff) {
    return 1.001 * theta_cutoff;
}

/// Consecutive columns of one row, relative to the column of the center.
struct Run {
    int64_t first = 0, count = 0;
    int64_t last() const { return first + count - 1; }
};

/// Distance and direction of a point from a center: 0 = south, pi/2 = east, pi = north, 3 pi/2 =
/// west.
struct Sighting {
    double distance = 0, direction = 0;
};

/// Disks of one radius around points of one list of rows, filled with points of another grid.
class Disks {
public:
    Disks(const Latitudes& centres, const Latitudes& points, int64_t n_lon, double radius);

    /// Returns the columns of row `point` within the disk around the center row (first argument):
    /// [-w, w] or a full ring.
    Run columns(int64_t centre, int64_t point) const;
    /// Returns distance and direction of the column |column| steps east of the center. At the
    /// center and its antipode the direction is only rounding error; it is set to 0, so that all
    /// machines agree.
    Sighting sight(int64_t centre, int64_t point, int64_t column) const;
    double distance(int64_t centre, int64_t point, int64_t column) const;

private:
    struct Rows {
        explicit Rows(const std::vector<double>& theta);
        std::vector<double> sine, cosine;
    };
    struct Position {
        double x = 0, y = 0, z = 0;
    };
    Position local(int64_t centre, int64_t point, int64_t column) const;
    bool is_within(int64_t centre, int64_t point, int64_t column) const {
        return distance(centre, point, column) <= radius_;
    }

    Rows centres_, points_, columns_;
    int64_t n_lon_;
    double radius_;
};

/// Finds the rows that meet a disk. The meridian of a center passes through column 0 of all rows.
class Meridian {
public:
    Meridian(const Latitudes& centres, const Latitudes& points, double radius)
        : disks_(centres, points, 1, radius),
          centres_(centres.theta),
          points_(points.theta),
          radius_(radius) {}

    /// Returns the rows of the points within the disk around a center row. The relation is
    /// symmetric between the grids.
    RowRange rows(int64_t centre) const;

private:
    Disks disks_;
    std::vector<double> centres_, points_;
    double radius_;
};

/// The columns of two grids split into phase rows. Throws shape if neither number of longitudes
/// divides the other.
struct Phases {
    Phases(const Grid& out, const Grid& in);

    /// Returns the columns of a phase row `phase` (of the input) that a run of input columns
    /// covers.
    Run of_input(Run run, int64_t phase) const;
    /// Returns, for a finer output grid, the input columns whose run covers column `phase`; `run`
    /// holds output columns around an input point.
    Run of_output(Run run, int64_t phase) const;

    int64_t n_column = 0, n_in = 1, n_out = 1;
};

}  // namespace surrogate::kernels::sphere
