// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_file.hpp"

#include <vtkCellData.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkMatrix3x3.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPointSet.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkStructuredGrid.h>
#include <vtkTypeInt32Array.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLPUnstructuredGridReader.h>
#include <vtkXMLPolyDataWriter.h>
#include <vtkXMLStructuredGridWriter.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "coupling/mesh/cut.hpp"
#include "coupling/mesh/mesh_cells.hpp"
#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

/// Returns 1 for rows whose vtkGhostType has one of the bits.
std::vector<uint8_t> marked(vtkDataSet* grid, int location, int bits) {
    std::vector<uint8_t> result(
        static_cast<size_t>(attributes_of(grid, location)->GetNumberOfTuples()));
    vtkDataArray* type =
        attributes_of(grid, location)->GetArray(vtkDataSetAttributes::GhostArrayName());
    if (type == nullptr) return result;
    for (size_t i = 0; i < result.size(); ++i) {
        const double value = type->GetComponent(vtkIdType(i), 0);  // of any type in a file
        result[i] = value >= 0 && value <= 255 && (static_cast<int>(value) & bits) != 0;
    }
    return result;
}

template <class Array>
vtkSmartPointer<vtkDataArray> make_array(const ArrayInfo& info, const std::vector<double>& values) {
    auto array = vtkSmartPointer<Array>::New();
    array->SetName(info.name.c_str());
    array->SetNumberOfTuples(static_cast<vtkIdType>(values.size()));
    using Value = typename Array::ValueType;
    std::transform(values.begin(), values.end(), array->GetPointer(0), [](double value) {
        if (std::is_integral_v<Value> && std::isnan(value)) return Value(-1);
        return static_cast<Value>(value);
    });
    if (!info.unit.empty())
        array->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), info.unit.c_str());
    return array;
}

/// Crops the grid, because a reader may return more than was requested.
template <class Grid>
void crop(Grid* grid, const Extent& own) {
    if (own[0] <= own[1] && !std::equal(own.begin(), own.end(), grid->GetExtent()))
        grid->Crop(own.data());
}

template <class Writer>
void write_as(vtkDataSet* grid, const std::string& path, Compression compression) {
    vtkNew<Writer> writer;
    writer->SetInputData(grid);
    write_file(writer, path, compression, file::Links::replaced);
}

}  // namespace

MeshFile::MeshFile(const std::string& path, int rank, int size, int axis)
    : name_(parse_mesh_name(path)) {
    if (has_extents(name_.kind))
        read_block(path, rank, size, axis);
    else
        read_cells(path, rank, size);
    summary_.kind = name_.kind;
}

MeshFile::MeshFile(const std::string& path, Part part) : name_(parse_mesh_name(path)) {
    take_part(std::move(part));
    summary_.kind = name_.kind;
}

bool MeshFile::can_share(const std::string& path, int size) {
    const MeshName name = parse_mesh_name(path);
    if (size == 1 || has_extents(name.kind)) return true;
    const auto reader = open_mesh(path, name);
    auto* pieces = vtkXMLPUnstructuredGridReader::SafeDownCast(reader);
    return pieces != nullptr && pieces->GetNumberOfPieces() >= size;
}

void MeshFile::take_part(Part part) {
    grid_ = part.grid;
    point_rows_ = std::move(part.point_rows);
    cell_rows_ = std::move(part.cell_rows);
}

Cut MeshFile::cut(int n_parts) const {
    return Cut(grid_, n_parts);
}

void MeshFile::read_block(const std::string& path, int rank, int size, int axis) {
    const auto reader = open_mesh(path, name_);
    const Extent whole = whole_extent(reader, path);
    const Extent own = axis < 0 ? slab(whole, rank, size) : slab(whole, rank, size, axis);
    if (own[0] <= own[1]) reading(path, [&] { reader->UpdateExtent(own.data()); });
    if (name_.kind == GridKind::image)
        take_image(vtkImageData::SafeDownCast(reader->GetOutputDataObject(0)), own);
    else
        take_structured(vtkStructuredGrid::SafeDownCast(reader->GetOutputDataObject(0)), own);
    point_rows_ = image_rows(whole, own, SURROGATE_POINT);
    cell_rows_ = image_rows(whole, own, SURROGATE_CELL);
    summary_.whole_extent = whole;
}

void MeshFile::take_image(vtkImageData* found, const Extent& own) {
    auto image = vtkSmartPointer<vtkImageData>::New();
    image->ShallowCopy(found);
    crop(image.Get(), own);
    grid_ = image;
    std::copy_n(image->GetOrigin(), 3, summary_.origin.begin());
    std::copy_n(image->GetSpacing(), 3, summary_.spacing.begin());
    std::copy_n(image->GetDirectionMatrix()->GetData(), 9, summary_.direction.begin());
}

void MeshFile::take_structured(vtkStructuredGrid* found, const Extent& own) {
    auto grid = vtkSmartPointer<vtkStructuredGrid>::New();
    if (own[0] <= own[1]) grid->ShallowCopy(found);
    crop(grid.Get(), own);
    grid_ = grid;
}

void MeshFile::read_cells(const std::string& path, int rank, int size) {
    const auto reader = open_mesh(path, name_);
    auto* pieces = vtkXMLPUnstructuredGridReader::SafeDownCast(reader);
    const bool deals_pieces = pieces != nullptr && pieces->GetNumberOfPieces() >= size && size > 1;
    reading(path, [&] {
        if (deals_pieces)
            reader->UpdatePiece(rank, size, 0);
        else
            reader->Update();
    });
    grid_ = vtkDataSet::SafeDownCast(reader->GetOutputDataObject(0));
    if (name_.is_parallel)
        check_cells(path, grid_);  // the reader of a single file has checked its cells
    if (size > 1 && !deals_pieces) {
        take_part(Cut(grid_, size).part(rank));
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
                         : info.type == "Int32" ? make_array<vtkTypeInt32Array>(info, values)
                                                : make_array<vtkDoubleArray>(info, values));
}

void MeshFile::write(const std::string& path, Compression compression) const {
    if (point_rows_.empty()) return;
    switch (name_.kind) {
        case GridKind::image: return write_as<vtkXMLImageDataWriter>(grid_, path, compression);
        case GridKind::surface: return write_as<vtkXMLPolyDataWriter>(grid_, path, compression);
        case GridKind::structured:
            return write_as<vtkXMLStructuredGridWriter>(grid_, path, compression);
        case GridKind::mesh:
            return write_as<vtkXMLUnstructuredGridWriter>(grid_, path, compression);
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
    if (auto* grid = vtkStructuredGrid::SafeDownCast(grid_)) grid->GetExtent(piece.extent.data());
    return piece;
}

}  // namespace surrogate::vtk
