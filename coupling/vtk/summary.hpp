// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

// XML files that name other files: .pvtu, .pvti, .pvtp, .pvts (one step or mesh, its pieces) and
// .pvd (a series). VTK's parallel writers need VTK's own MPI controller; without it they drop every
// piece except the first and report success. Therefore VTK writes the pieces, and these functions
// write the files that name them, from the reports of the ranks.

namespace surrogate::vtk {

/// One array, which every piece has.
struct ArrayInfo {
    std::string name;
    std::string type;  ///< name of the type in VTK: "Float32", "Float64", "Int64", ..
    int n_components = 1;
    std::string unit;            ///< "" if unknown
    bool is_global_ids = false;  ///< marked as VTK's global ids
};

enum class GridKind { mesh, image, surface, structured };  ///< .vtu, .vti, .vtp, .vts

/// Returns true if pieces are blocks of a whole extent: images and structured grids.
bool has_extents(GridKind kind);

struct PieceInfo {
    std::string file;           ///< relative to the summary
    std::array<int, 6> extent;  ///< of an image or structured grid
};

struct SummaryInfo {
    GridKind kind = GridKind::mesh;
    std::vector<ArrayInfo> point_arrays, cell_arrays;
    std::string coordinate_type = "Float64";  ///< of all kinds except images
    std::array<int, 6> whole_extent = {};     ///< of images and structured grids
    std::array<double, 3> origin = {};        ///< of images, as the next two
    std::array<double, 3> spacing = {};
    std::array<double, 9> direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    std::vector<PieceInfo> pieces;
};

std::string summary_text(const SummaryInfo& info);

struct SeriesStep {
    double time_s;
    std::string file;  ///< relative to the .pvd
};

std::string pvd_text(const std::vector<SeriesStep>& steps);

/// Returns "vtu", "vti", "vtp" or "vts".
std::string extension_of(GridKind kind);

}  // namespace surrogate::vtk
