// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sphere/stencil.hpp"

/// Helpers of neighborhoods and filters: distances, which columns of a row lie in a disk, phases.
namespace surrogate::kernels::sphere {

/// Reach of a layer: official code widens every cutoff by this factor.
constexpr double reach(double theta_cutoff) {
    return 1.001 * theta_cutoff;
}

/// Consecutive columns of one row, relative to the column of the centre.
struct Run {
    int64_t first = 0, count = 0;
    int64_t last() const { return first + count - 1; }
};

/// A point as seen from a centre: 0 = south, pi/2 = east, pi = north, 3 pi/2 = west.
struct Sighting {
    double distance = 0, direction = 0;
};

/// Disks of one radius around points of one list of rows, filled with points of another grid.
class Disks {
public:
    Disks(const Latitudes& centres, const Latitudes& points, int64_t n_lon, double radius);

    /// Columns of row `point` within the disk around row `centre`: [-w, w] or a full ring.
    Run columns(int64_t centre, int64_t point) const;
    /// Returns the offset of the column |column| steps east of the center. If the center or its
    /// antipode is met, the direction is rounding noise: 0 by decree, so that all machines agree.
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

/// Rows that meet a disk. The meridian of a centre passes through column 0 of all rows.
class Meridian {
public:
    Meridian(const Latitudes& centres, const Latitudes& points, double radius)
        : disks_(centres, points, 1, radius),
          centres_(centres.theta),
          points_(points.theta),
          radius_(radius) {}

    /// Rows of the points within the disk around row `centre`. Both grids see each other alike.
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

    /// Columns of a phase row `phase` (of the input) that a run of input columns covers.
    Run of_input(Run run, int64_t phase) const;
    /// If the output is the finer grid and `run` holds output columns around an input point: the
    /// input columns whose run covers column `phase`.
    Run of_output(Run run, int64_t phase) const;

    int64_t n_column = 0, n_in = 1, n_out = 1;
};

}  // namespace surrogate::kernels::sphere
