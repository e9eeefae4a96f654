// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/mesh_file.hpp"

#include <vtkCell.h>
#include <vtkCellData.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkGenericCell.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkMatrix3x3.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPointSet.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkStreamingDemandDrivenPipeline.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataReader.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLPImageDataReader.h>
#include <vtkXMLPPolyDataReader.h>
#include <vtkXMLPUnstructuredGridReader.h>
#include <vtkXMLPolyDataReader.h>
#include <vtkXMLPolyDataWriter.h>
#include <vtkXMLUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>

#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/cut.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"
#include "coupling/vtk/read_errors.hpp"

namespace surrogate::vtk {

namespace {

vtkSmartPointer<vtkXMLReader> make_reader(const MeshName& name) {
    const auto pick = [&](vtkXMLReader* serial, vtkXMLReader* parallel) {
        auto reader = vtkSmartPointer<vtkXMLReader>::Take(name.is_parallel ? parallel : serial);
        (name.is_parallel ? serial : parallel)->Delete();
        return reader;
    };
    switch (name.kind) {
        case GridKind::image:
            return pick(vtkXMLImageDataReader::New(), vtkXMLPImageDataReader::New());
        case GridKind::surface:
            return pick(vtkXMLPolyDataReader::New(), vtkXMLPPolyDataReader::New());
        case GridKind::mesh: break;
    }
    return pick(vtkXMLUnstructuredGridReader::New(), vtkXMLPUnstructuredGridReader::New());
}

void check_can_open(const std::string& path) {
    errno = 0;
    const std::ifstream file(path, std::ios::binary);
    if (!file)
        throw Error(SURROGATE_IO, "cannot open the mesh '" + path + "': " +
                                      (errno != 0 ? std::strerror(errno) : "unknown reason"));
}

/// Runs a step of reading and turns what VTK reports into an error.
template <class Step>
void reading(const std::string& path, Step&& step) {
    const ReadErrors errors;
    step();
    if (!errors.text().empty())
        throw Error(SURROGATE_BAD_FILE,
                    "cannot read the mesh '" + path + "'; VTK says: " + errors.text());
}

using Extent = std::array<int, 6>;

bool is_flat(const Extent& extent, int axis) {
    return extent[size_t(2 * axis)] == extent[size_t(2 * axis + 1)];
}

/// Slab `rank` of `size` along the longest axis: equal ranges of cells; first > last: no cells.
Extent slab(const Extent& whole, int rank, int size) {
    size_t longest = 0;
    const auto n_cells = [&](size_t axis) { return whole[2 * axis + 1] - whole[2 * axis]; };
    for (size_t axis = 1; axis < 3; ++axis)
        if (n_cells(axis) >= n_cells(longest)) longest = axis;  // the last one: contiguous memory
    Extent own = whole;
    if (n_cells(longest) == 0) return rank == 0 ? whole : Extent{0, -1, 0, -1, 0, -1};
    const int first = static_cast<int>(range_begin(n_cells(longest), rank, size));
    const int end = static_cast<int>(range_begin(n_cells(longest), rank + 1, size));
    if (first == end) return {0, -1, 0, -1, 0, -1};
    own[2 * longest + 1] = own[2 * longest] + end;
    own[2 * longest] += first;
    return own;
}

/// Numbers of the points (cells) of `own` in the whole image, x fastest.
std::vector<int64_t> image_rows(const Extent& whole, const Extent& own, int location) {
    std::array<int64_t, 3> n{}, first{}, count{};
    for (size_t axis = 0; axis < 3; ++axis) {
        const bool counts_cells = location == SURROGATE_CELL && !is_flat(whole, int(axis));
        const int extra = counts_cells ? 0 : 1;
        n[axis] = whole[2 * axis + 1] - whole[2 * axis] + extra;
        first[axis] = own[2 * axis] - whole[2 * axis];
        count[axis] = std::max(0, own[2 * axis + 1] - own[2 * axis] + extra);
    }
    std::vector<int64_t> rows;
    for (int64_t k = 0; k < count[2]; ++k)
        for (int64_t j = 0; j < count[1]; ++j)
            for (int64_t i = 0; i < count[0]; ++i)
                rows.push_back(first[0] + i + n[0] * (first[1] + j + n[1] * (first[2] + k)));
    return rows;
}

std::vector<double> image_positions(vtkImageData* image, int location) {
    Extent extent;
    image->GetExtent(extent.data());
    std::array<double, 3> half{};
    std::array<int, 3> last{};
    for (size_t axis = 0; axis < 3; ++axis) {
        const bool is_between = location == SURROGATE_CELL && !is_flat(extent, int(axis));
        half[axis] = is_between ? 0.5 : 0.0;
        last[axis] = extent[2 * axis + 1] - (is_between ? 1 : 0);
    }
    std::vector<double> x;
    for (int k = extent[4]; k <= last[2]; ++k)
        for (int j = extent[2]; j <= last[1]; ++j)
            for (int i = extent[0]; i <= last[0]; ++i) {
                double at[3];
                image->TransformContinuousIndexToPhysicalPoint(i + half[0], j + half[1],
                                                               k + half[2], at);
                x.insert(x.end(), at, at + 3);
            }
    return x;
}

std::vector<double> point_positions(vtkDataSet* grid) {
    std::vector<double> x(3 * static_cast<size_t>(grid->GetNumberOfPoints()));
    for (vtkIdType i = 0; i < grid->GetNumberOfPoints(); ++i) grid->GetPoint(i, x.data() + 3 * i);
    return x;
}

std::vector<double> cell_positions(vtkDataSet* grid) {
    std::vector<double> x(3 * static_cast<size_t>(grid->GetNumberOfCells()));
    std::vector<double> weights(static_cast<size_t>(std::max(1, grid->GetMaxCellSize())));
    vtkNew<vtkGenericCell> cell;
    for (vtkIdType i = 0; i < grid->GetNumberOfCells(); ++i) {
        grid->GetCell(i, cell);
        if (cell->GetNumberOfPoints() == 0)
            throw Error(SURROGATE_NOT_SUPPORTED,
                        "cell " + std::to_string(i) + " has no points, hence no centre");
        double center[3];
        int part = cell->GetParametricCenter(center);
        cell->EvaluateLocation(part, center, x.data() + 3 * i, weights.data());
    }
    return x;
}

/// Rows whose vtkGhostType has one of the bits.
std::vector<uint8_t> marked(vtkDataSet* grid, int location, int bits) {
    std::vector<uint8_t> result(
        static_cast<size_t>(attributes_of(grid, location)->GetNumberOfTuples()));
    vtkDataArray* type =
        attributes_of(grid, location)->GetArray(vtkDataSetAttributes::GhostArrayName());
    if (type == nullptr) return result;
    for (size_t i = 0; i < result.size(); ++i)
        result[i] = (static_cast<int>(type->GetComponent(vtkIdType(i), 0)) & bits) != 0;
    return result;
}

template <class Array>
vtkSmartPointer<vtkDataArray> make_array(const ArrayInfo& info, const std::vector<double>& values) {
    auto array = vtkSmartPointer<Array>::New();
    array->SetName(info.name.c_str());
    array->SetNumberOfTuples(static_cast<vtkIdType>(values.size()));
    std::transform(values.begin(), values.end(), array->GetPointer(0),
                   [](double value) { return static_cast<typename Array::ValueType>(value); });
    if (!info.unit.empty())
        array->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), info.unit.c_str());
    return array;
}

template <class Writer>
void write_as(vtkDataSet* grid, const std::string& path) {
    vtkNew<Writer> writer;
    writer->SetInputData(grid);
    write_file(writer, path, Compression::lz4);
}

}  // namespace

MeshName parse_mesh_name(const std::string& path) {
    const std::string extension = extension_of(path);
    for (const GridKind kind : {GridKind::mesh, GridKind::image, GridKind::surface}) {
        if (extension == std::string(".").append(extension_of(kind))) return {kind, false};
        if (extension == std::string(".p").append(extension_of(kind))) return {kind, true};
    }
    throw Error(SURROGATE_NOT_SUPPORTED,
                "'" + path +
                    "' is no mesh file this program knows; it reads and writes .vtu, .vti, "
                    ".vtp, and in pieces .pvtu, .pvti, .pvtp (other formats: `meshio "
                    "convert IN OUT.vtu`)");
}

MeshFile::MeshFile(const std::string& path, int rank, int size) : name_(parse_mesh_name(path)) {
    check_can_open(path);
    if (name_.kind == GridKind::image)
        read_image(path, rank, size);
    else
        read_cells(path, rank, size);
    summary_.kind = name_.kind;
}

void MeshFile::read_image(const std::string& path, int rank, int size) {
    const auto reader = make_reader(name_);
    reader->SetFileName(path.c_str());
    reading(path, [&] { reader->UpdateInformation(); });
    Extent whole;
    vtkInformation* info = reader->GetOutputInformation(0);
    if (!info->Has(vtkStreamingDemandDrivenPipeline::WHOLE_EXTENT()))
        throw Error(SURROGATE_BAD_FILE, "'" + path + "' has no whole extent");
    info->Get(vtkStreamingDemandDrivenPipeline::WHOLE_EXTENT(), whole.data());
    const Extent own = slab(whole, rank, size);
    if (own[0] <= own[1]) reading(path, [&] { reader->UpdateExtent(own.data()); });
    auto* found = vtkImageData::SafeDownCast(reader->GetOutputDataObject(0));
    auto image = vtkSmartPointer<vtkImageData>::New();
    image->ShallowCopy(found);
    if (own[0] <= own[1] && !std::equal(own.begin(), own.end(), image->GetExtent()))
        image->Crop(own.data());  // a reader may bring more than asked for
    grid_ = image;
    point_rows_ = image_rows(whole, own, SURROGATE_POINT);
    cell_rows_ = image_rows(whole, own, SURROGATE_CELL);
    summary_.whole_extent = whole;
    std::copy_n(image->GetOrigin(), 3, summary_.origin.begin());
    std::copy_n(image->GetSpacing(), 3, summary_.spacing.begin());
    std::copy_n(image->GetDirectionMatrix()->GetData(), 9, summary_.direction.begin());
}

void MeshFile::read_cells(const std::string& path, int rank, int size) {
    const auto reader = make_reader(name_);
    reader->SetFileName(path.c_str());
    reading(path, [&] { reader->UpdateInformation(); });
    auto* pieces = vtkXMLPUnstructuredGridReader::SafeDownCast(reader);
    const bool deals_pieces = pieces != nullptr && pieces->GetNumberOfPieces() >= size && size > 1;
    reading(path, [&] {
        if (deals_pieces)
            reader->UpdatePiece(rank, size, 0);
        else
            reader->Update();
    });
    grid_ = vtkDataSet::SafeDownCast(reader->GetOutputDataObject(0));
    if (size > 1 && !deals_pieces) {
        Part part = cut(grid_, rank, size);
        grid_ = part.grid;
        point_rows_ = std::move(part.point_rows);
        cell_rows_ = std::move(part.cell_rows);
        return;
    }
    rows_are_relative_ = deals_pieces;
    point_rows_.resize(static_cast<size_t>(grid_->GetNumberOfPoints()));
    cell_rows_.resize(static_cast<size_t>(grid_->GetNumberOfCells()));
    std::iota(point_rows_.begin(), point_rows_.end(), 0);
    std::iota(cell_rows_.begin(), cell_rows_.end(), 0);
}

int64_t MeshFile::n_rows(int location) const {
    return static_cast<int64_t>(file_rows(location).size());
}

const std::vector<int64_t>& MeshFile::file_rows(int location) const {
    return location == SURROGATE_POINT ? point_rows_ : cell_rows_;
}

std::vector<ArrayInfo> MeshFile::arrays(int location) const {
    return arrays_of(grid_, location);
}

std::vector<double> MeshFile::positions(int location) const {
    if (n_rows(location) == 0) return {};
    if (auto* image = vtkImageData::SafeDownCast(grid_)) return image_positions(image, location);
    return location == SURROGATE_POINT ? point_positions(grid_) : cell_positions(grid_);
}

bool MeshFile::has_float_coordinates() const {
    auto* set = vtkPointSet::SafeDownCast(grid_);
    return set != nullptr && set->GetPoints() != nullptr &&
           set->GetPoints()->GetDataType() == VTK_FLOAT;
}

std::vector<double> MeshFile::values(int location, const std::string& name, int component) const {
    std::vector<double> result(static_cast<size_t>(n_rows(location)));
    if (result.empty()) return result;
    vtkDataArray* array = attributes_of(grid_, location)->GetArray(name.c_str());
    for (size_t i = 0; i < result.size(); ++i)
        result[i] = array->GetComponent(static_cast<vtkIdType>(i), component);
    return result;
}

std::vector<int64_t> MeshFile::global_ids(int location) const {
    if (name_.kind == GridKind::image) return file_rows(location);
    vtkDataSetAttributes* attributes = attributes_of(grid_, location);
    vtkDataArray* ids = attributes->GetGlobalIds();
    const bool is_point = location == SURROGATE_POINT;
    for (const char* name : {is_point ? "GlobalPointIds" : "GlobalCellIds",
                             is_point ? "GlobalNodeId" : "GlobalElementId",
                             is_point ? "GlobalNodeIds" : "GlobalElementIds"})
        if (ids == nullptr) ids = attributes->GetArray(name);
    if (ids == nullptr || ids->GetNumberOfComponents() != 1) return {};
    std::vector<int64_t> result(static_cast<size_t>(n_rows(location)));
    for (size_t i = 0; i < result.size(); ++i)
        result[i] = ids->GetVariantValue(static_cast<vtkIdType>(i)).ToTypeInt64();
    return result;
}

std::vector<uint8_t> MeshFile::is_ghost(int location) const {
    return marked(grid_, location,
                  location == SURROGATE_POINT ? int{vtkDataSetAttributes::DUPLICATEPOINT}
                                              : int{vtkDataSetAttributes::DUPLICATECELL});
}

std::vector<uint8_t> MeshFile::is_hidden(int location) const {
    return marked(grid_, location,
                  location == SURROGATE_POINT ? int{vtkDataSetAttributes::HIDDENPOINT}
                                              : int{vtkDataSetAttributes::HIDDENCELL});
}

void MeshFile::add(int location, const ArrayInfo& info, const std::vector<double>& values) {
    vtkDataSetAttributes* attributes = attributes_of(grid_, location);
    vtkAbstractArray* old = attributes->GetAbstractArray(info.name.c_str());
    if (old != nullptr) {
        const auto kept = vtkSmartPointer<vtkAbstractArray>(old);
        attributes->RemoveArray(info.name.c_str());
        kept->SetName((info.name + "_input").c_str());
        attributes->AddArray(kept);
    }
    attributes->AddArray(info.type == "Float32" ? make_array<vtkFloatArray>(info, values)
                                                : make_array<vtkDoubleArray>(info, values));
}

void MeshFile::write(const std::string& path) const {
    if (point_rows_.empty()) return;
    switch (name_.kind) {
        case GridKind::image: return write_as<vtkXMLImageDataWriter>(grid_, path);
        case GridKind::surface: return write_as<vtkXMLPolyDataWriter>(grid_, path);
        case GridKind::mesh: return write_as<vtkXMLUnstructuredGridWriter>(grid_, path);
    }
}

SummaryInfo MeshFile::summary() const {
    SummaryInfo info = summary_;
    info.point_arrays = arrays(SURROGATE_POINT);
    info.cell_arrays = arrays(SURROGATE_CELL);
    info.coordinate_type = has_float_coordinates() ? "Float32" : "Float64";
    return info;
}

PieceInfo MeshFile::piece(const std::string& file) const {
    PieceInfo piece{file, {}};
    if (auto* image = vtkImageData::SafeDownCast(grid_)) image->GetExtent(piece.extent.data());
    return piece;
}

}  // namespace surrogate::vtk
