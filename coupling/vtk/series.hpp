// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>
#include <vector>

#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/summary.hpp"

/// State of a series on one rank: the handle of the C interface.
struct surrogate_series {
    std::string path;    // out/run.pvd
    std::string folder;  // out/run
    std::string name;    // run
    int32_t rank = 0, size = 1;
    surrogate::vtk::Compression compression = surrogate::vtk::Compression::lz4;
    bool unit_in_name = false;
    bool closes_poles = true;
    int32_t n_written = 0;                          // number of writes, including failed writes
    double time_s = 0;                              // of the last write
    surrogate::vtk::SummaryInfo summary;            // of the last write, without pieces
    std::vector<surrogate::vtk::SeriesStep> steps;  // published; rank 0 only
    int32_t last_published = -1;                    // step number of the last published step
};

namespace surrogate::vtk {

/// Returns "step_000012_0003.vti", or the name without the rank if rank < 0.
std::string step_file(int32_t step, int32_t rank, const std::string& extension);

/// Returns "step_000012.pvti".
std::string summary_file(int32_t step, GridKind kind);

/// Returns the file of a rank's piece. On one rank it is the file of the step.
std::string piece_file(const surrogate_series& series, int32_t step, int32_t rank);

/// Implements surrogate_series_publish for valid pointers. Throws Error; the series is then
/// unchanged.
void publish(surrogate_series& series, int32_t n_pieces, const surrogate_piece* pieces);

}  // namespace surrogate::vtk
