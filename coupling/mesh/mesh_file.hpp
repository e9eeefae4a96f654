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

/// One rank's share of a mesh file.
///   image     a slab of the grid along its longest axis; each rank reads its slab only. The same
///             for structured grids
///   parallel  as many pieces as ranks or more: whole pieces, in order; each rank reads its own
///             only
///   other     the file is read whole and cut by coordinates into parts of equally many cells, with
///             the points they use; points without cells likewise. Ranks that can talk to each
///             other let one of them read and cut (can_share(), cut()) and send the parts
/// So a point may be on several ranks, and a piece may hold ghosts: `is_ghost`, `global_ids` and
/// coordinates tell which are the same (see coupling/mesh/shared_rows.hpp). A share may be empty.
/// "Rows" are the points (SURROGATE_POINT) or cells (SURROGATE_CELL) of the share.
class MeshFile {
public:
    /// Local. Throws IO (no such file), BAD_FILE (with what VTK says), NOT_SUPPORTED.
    ///   axis  0, 1, 2: the slabs of an image or structured grid cut this axis instead
    MeshFile(const std::string& path, int rank, int size, int axis = -1);

    /// A part of a mesh that another rank has read from the file.
    MeshFile(const std::string& path, Part part);

    /// Returns whether each of `size` ranks can read its part without reading the whole file.
    /// Local; opens the file. Throws as the constructor.
    static bool can_share(const std::string& path, int size);

    /// The parts of a mesh that is whole here (rank 0 of 1) and lives as long as they are made; no
    /// image or structured grid.
    Cut cut(int n_parts) const;

    GridKind kind() const { return name_.kind; }
    int64_t n_rows(int location) const;
    std::vector<ArrayInfo> arrays(int location) const;

    /// Coordinates [n_rows][3] of points or cell centres (the centre in the cell's own parameters,
    /// as VTK's vtkCellCenters). Coordinates are in the type of the file: true if that is float.
    std::vector<double> positions(int location) const;
    bool has_float_coordinates() const;

    /// Component of an array that exists, as double (exact for float).
    std::vector<double> values(int location, const std::string& name, int component) const;

    /// Numbers that are the same for the same point of the whole mesh: those of an image, the array
    /// marked as global ids, or one called GlobalPointIds, GlobalNodeId(s), GlobalCellIds,
    /// GlobalElementId(s). Empty if there are none.
    std::vector<int64_t> global_ids(int location) const;

    /// From the array vtkGhostType: a copy of a row owned elsewhere; a row that is not part of the
    /// mesh at all.
    std::vector<uint8_t> is_ghost(int location) const;
    std::vector<uint8_t> is_hidden(int location) const;

    /// Row of the whole file, as MeshFile(path, 0, 1) holds it, of each row here. Whole pieces of a
    /// parallel file are counted from 0: the ranks before must be added (`rows_are_relative`).
    const std::vector<int64_t>& file_rows(int location) const;
    bool rows_are_relative() const { return rows_are_relative_; }

    /// Adds an array; one of that name is called "<name>_input" from then on. Written as float or
    /// double.
    void add(int location, const ArrayInfo& info, const std::vector<double>& values);

    /// Writes the share; nothing if it has no points.
    void write(const std::string& path, Compression compression) const;

    /// Metadata for a summary: arrays and origin of this part, without pieces; and its
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
