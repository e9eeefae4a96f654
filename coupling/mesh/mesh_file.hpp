// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>
#include <vtkSmartPointer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/mesh/cut.hpp"
#include "coupling/mesh/mesh_geometry.hpp"
#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/summary.hpp"

class vtkDataArray;
class vtkDataSet;
class vtkImageData;
class vtkStructuredGrid;

namespace surrogate::vtk {

/// Reads one rank's part of a mesh file.
///   image     a slab of the grid along its longest axis; each rank reads its slab only. Also
///             structured grids
///   parallel  at least as many pieces as ranks: whole pieces, in order; each rank reads its pieces
///             only
///   other     the file is read whole and cut by coordinates into parts of equally many cells,
///             with their points, and equal numbers of points without cells. Ranks that communicate
///             let one rank read and cut (can_share(), cut()) and send the parts
/// A point may therefore be on several ranks, and a piece may have ghosts: `is_ghost`, `global_ids`
/// and coordinates identify equal rows (see coupling/mesh/shared_rows.hpp). A part may be empty.
/// "Rows" are the points (SURROGATE_POINT) or cells (SURROGATE_CELL) of the part.
class MeshFile {
public:
    /// Reads the part of a rank. Local. Throws IO (missing file), BAD_FILE (with the text of VTK),
    /// NOT_SUPPORTED.
    ///   axis  0, 1, 2: slabs of an image or structured grid are cut along this axis instead
    MeshFile(const std::string& path, int rank, int size, int axis = -1);

    /// Takes over a part of a mesh that another rank has read from the file.
    MeshFile(const std::string& path, Part part);

    /// Returns true if each of `size` ranks can read its part without reading the whole file.
    /// Local; opens the file. Throws as the constructor.
    static bool can_share(const std::string& path, int size);

    /// Cuts a mesh that this object has whole (rank 0 of 1) and that must outlive the cut; not for
    /// images or structured grids.
    Cut cut(int n_parts) const;

    GridKind kind() const { return name_.kind; }
    int64_t n_rows(int location) const;
    std::vector<ArrayInfo> arrays(int location) const;

    /// Returns coordinates [n_rows][3] of points or cell centers (the center in the cell's own
    /// parameters, as VTK's vtkCellCenters). has_float_coordinates() returns true if the file
    /// stores coordinates as float.
    std::vector<double> positions(int location) const;
    bool has_float_coordinates() const;

    /// Returns a component of an existing array as double (exact for float).
    std::vector<double> values(int location, const std::string& name, int component) const;

    /// Returns ids that identify points of the whole mesh: node numbers of an image, the array
    /// marked as global ids, or an array named GlobalPointIds, GlobalNodeId(s), GlobalCellIds,
    /// GlobalElementId(s). Empty without ids.
    std::vector<int64_t> global_ids(int location) const;

    /// Returns flags from the array vtkGhostType: is_ghost() for a copy of a row that another rank
    /// owns, and is_hidden() for a row that is not part of the mesh.
    std::vector<uint8_t> is_ghost(int location) const;
    std::vector<uint8_t> is_hidden(int location) const;

    /// Returns for each row its row in the whole file, as in MeshFile(path, 0, 1). For whole pieces
    /// of a parallel file, rows count from 0 on this rank, and the rows of the ranks before must be
    /// added (`rows_are_relative`).
    const std::vector<int64_t>& file_rows(int location) const;
    bool rows_are_relative() const { return rows_are_relative_; }

    /// Adds an array of type "Float32", "Float64" or "Int32", in which NaN becomes -1. An existing
    /// array of the same name is renamed to "<name>_input".
    void add(int location, const ArrayInfo& info, const std::vector<double>& values);

    /// Writes the part; nothing if it has no points.
    void write(const std::string& path, Compression compression) const;

    /// Returns the metadata for a summary: arrays and origin of this part, without pieces, and its
    /// own extent.
    SummaryInfo summary() const;
    PieceInfo piece(const std::string& file) const;

private:
    void read_block(const std::string& path, int rank, int size, int axis);
    void take_image(vtkImageData* found, const Extent& own);
    void take_structured(vtkStructuredGrid* found, const Extent& own);
    void read_cells(const std::string& path, int rank, int size);
    void take_part(Part part);

    MeshName name_;
    vtkSmartPointer<vtkDataSet> grid_;
    SummaryInfo summary_;  // whole extent, origin, spacing, direction of an image
    std::vector<int64_t> point_rows_, cell_rows_;
    bool rows_are_relative_ = false;
};

}  // namespace surrogate::vtk
