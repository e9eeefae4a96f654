// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>
#include <vector>

#include "fluid/grid.hpp"

namespace darcy {

/// Writes a time series of concentration, mobility and pressure: DIR/NAME.pvd, one piece per rank
/// and step. The series is complete after every step, so the series of a killed run can be opened.
class Output {
public:
    Output() = default;
    ~Output() { surrogate_series_close(&series_); }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    PetscErrorCode create(const Grid& grid, const std::string& directory, const std::string& name);
    PetscErrorCode write(PetscReal time_s, Vec c, Vec mobility, Vec pressure);

private:
    PetscErrorCode publish(const surrogate_piece& mine);

    const Grid* grid_ = nullptr;
    surrogate_image image_{};
    surrogate_series* series_ = nullptr;
};

/// One panel of a figure: its title, a vector, and the values at the ends of its color map.
struct Panel {
    const char *title, *quantity, *unit;
    Vec vec;
    double min, max;
    bool is_difference;
};

/// Writes panels side by side under a heading, to a PNG file on rank 0. Collective.
PetscErrorCode write_picture(const Grid& grid, const std::string& path, const std::string& heading,
                             const std::vector<Panel>& panels);

}  // namespace darcy
