// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>
#include <vector>

#include "solver.hpp"

namespace shallow_water {

/// Writes a time series of the three fields on the sphere, DIR/NAME.pvd, for ParaView: one piece
/// per rank and state. It is complete after every state, so the series of a killed run can be
/// opened.
class Series {
public:
    /// Opens a series in a directory that exists. Throws std::runtime_error. Collective.
    Series(const Layout& layout, const Latitudes& latitudes, const std::string& directory,
           const std::string& name);
    ~Series() { surrogate_series_close(&series_); }
    Series(const Series&) = delete;
    Series& operator=(const Series&) = delete;

    /// Writes a state. Throws std::runtime_error on the ranks that fail. Collective.
    void write(double time_s, const Fields& fields);

private:
    void add_next_row(const Fields& fields);
    void publish(const surrogate_piece& mine);

    Layout layout_;
    surrogate_series* series_ = nullptr;
    int north_, south_;             // ranks with adjacent rows, or MPI_PROC_NULL
    std::vector<double> latitude_;  // degrees, including the first row of the southern neighbor
    std::vector<double> rows_;  // [n_field][n_row + 1][n_lon]: including that row, if there is one
};

/// Creates the directory and its parents. Throws Stop. Collective.
void make_directory(MPI_Comm comm, const std::string& path);

}  // namespace shallow_water
