// SPDX-License-Identifier: Apache-2.0
#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkFieldData.h>
#include <vtkIdTypeArray.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkStringArray.h>
#include <vtkStructuredGrid.h>
#include <vtkUnsignedCharArray.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLPolyDataWriter.h>
#include <vtkXMLStructuredGridWriter.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/summary.hpp"
#include "tests/coupling/mesh/hostile_meshes.hpp"
#include "tests/coupling/mesh/mesh_mutator.hpp"

namespace surrogate::test {

namespace {

enum class Form { ascii, base64, base64_zlib, raw, raw_lz4, raw_zlib, raw_lzma, appended_base64 };

template <class Writer>
std::string text_of(vtkDataSet* grid, Form form) {
    vtkNew<Writer> writer;
    writer->SetInputData(grid);
    writer->SetWriteToOutputString(true);
    writer->SetCompressorTypeToNone();
    if (form == Form::ascii) writer->SetDataModeToAscii();
    if (form == Form::base64 || form == Form::base64_zlib) writer->SetDataModeToBinary();
    if (form >= Form::raw) {
        writer->SetDataModeToAppended();
        writer->SetEncodeAppendedData(form == Form::appended_base64);
    }
    if (form == Form::raw_lz4) writer->SetCompressorTypeToLZ4();
    if (form == Form::raw_zlib || form == Form::base64_zlib) writer->SetCompressorTypeToZLib();
    if (form == Form::raw_lzma) writer->SetCompressorTypeToLZMA();
    if (form == Form::raw_lz4) writer->SetHeaderTypeToUInt64();
    // Small data shall have several blocks; LZMA takes 64 MB for each.
    if (form != Form::raw_lzma) writer->SetBlockSize(64);
    writer->Write();
    return writer->GetOutputString();
}

template <class Array>
vtkSmartPointer<Array> named(const char* name, vtkIdType n, int n_component = 1) {
    auto array = vtkSmartPointer<Array>::New();
    array->SetName(name);
    array->SetNumberOfComponents(n_component);
    array->SetNumberOfTuples(n);
    for (vtkIdType i = 0; i < n; ++i)
        for (int c = 0; c < n_component; ++c) array->SetComponent(i, c, static_cast<double>(i % 7));
    return array;
}

void add_arrays(vtkDataSet* grid) {
    const vtkIdType n_points = grid->GetNumberOfPoints(), n_cells = grid->GetNumberOfCells();
    vtkNew<vtkStringArray> names;
    names->SetName("names");
    for (vtkIdType i = 0; i < n_cells; ++i) names->InsertNextValue("cell");
    grid->GetPointData()->AddArray(named<vtkDoubleArray>("mobility", n_points));
    grid->GetPointData()->AddArray(named<vtkIdTypeArray>("GlobalPointIds", n_points));
    grid->GetPointData()->AddArray(named<vtkDoubleArray>("velocity", n_points, 3));
    grid->GetCellData()->AddArray(named<vtkDoubleArray>("mobility", n_cells));
    grid->GetCellData()->AddArray(
        named<vtkUnsignedCharArray>(vtkDataSetAttributes::GhostArrayName(), n_cells));
    grid->GetCellData()->AddArray(names);
    grid->GetFieldData()->AddArray(named<vtkDoubleArray>("TimeValue", 1));
}

/// Returns a structured grid of 3 x 3 x 3 points.
vtkSmartPointer<vtkPoints> lattice() {
    auto points = vtkSmartPointer<vtkPoints>::New();
    for (int i = 0; i < 27; ++i) points->InsertNextPoint(i % 3, i / 3 % 3, i / 9);
    return points;
}

vtkSmartPointer<vtkUnstructuredGrid> grid_of_all_cells() {
    auto grid = vtkSmartPointer<vtkUnstructuredGrid>::New();
    grid->SetPoints(lattice());
    const auto add = [&](int type, std::vector<vtkIdType> corners) {
        grid->InsertNextCell(type, static_cast<vtkIdType>(corners.size()), corners.data());
    };
    add(VTK_VERTEX, {0});
    add(VTK_POLY_LINE, {0, 1, 2, 5});
    add(VTK_TRIANGLE, {0, 1, 3});
    add(VTK_TRIANGLE_STRIP, {0, 1, 3, 4, 6});
    add(VTK_POLYGON, {0, 1, 4, 7, 6, 3});
    add(VTK_TETRA, {0, 1, 3, 9});
    add(VTK_HEXAHEDRON, {0, 1, 4, 3, 9, 10, 13, 12});
    add(VTK_QUADRATIC_EDGE, {0, 2, 1});
    std::vector<vtkIdType> all(27);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<vtkIdType>(i);
    add(VTK_LAGRANGE_HEXAHEDRON, all);
    add(VTK_LAGRANGE_TRIANGLE, {0, 2, 6, 1, 4, 3});
    return grid;
}

vtkSmartPointer<vtkUnstructuredGrid> polyhedra() {
    auto grid = vtkSmartPointer<vtkUnstructuredGrid>::New();
    grid->SetPoints(lattice());
    const vtkIdType faces[] = {3, 0, 1, 3, 3, 0, 1, 9, 3, 0, 3, 9, 3, 1, 3, 9};
    const vtkIdType corners[] = {0, 1, 3, 9};
    grid->InsertNextCell(VTK_POLYHEDRON, 4, corners, 4, faces);
    grid->InsertNextCell(VTK_TETRA, 4, corners);
    return grid;
}

vtkSmartPointer<vtkPolyData> surface() {
    auto grid = vtkSmartPointer<vtkPolyData>::New();
    grid->SetPoints(lattice());
    vtkNew<vtkCellArray> verts, lines, polys, strips;
    verts->InsertNextCell({0});
    lines->InsertNextCell({0, 1, 2});
    polys->InsertNextCell({0, 1, 3});
    polys->InsertNextCell({0, 1, 4, 7, 6});
    strips->InsertNextCell({0, 1, 3, 4});
    grid->SetVerts(verts);
    grid->SetLines(lines);
    grid->SetPolys(polys);
    grid->SetStrips(strips);
    return grid;
}

vtkSmartPointer<vtkImageData> image(int first) {
    auto grid = vtkSmartPointer<vtkImageData>::New();
    grid->SetExtent(first, first + 2, 0, 2, 0, 2);
    return grid;
}

vtkSmartPointer<vtkStructuredGrid> structured(int first) {
    auto grid = vtkSmartPointer<vtkStructuredGrid>::New();
    grid->SetExtent(first, first + 2, 0, 2, 0, 2);
    grid->SetPoints(lattice());
    return grid;
}

/// Two pieces, the second `b`, and their summary.
MeshFiles pieces(const std::string& name, vtk::GridKind kind, vtkDataSet* grid,
                 const std::string& a, const std::string& b) {
    const std::string extension = vtk::extension_of(kind);
    vtk::SummaryInfo info;
    info.kind = kind;
    info.point_arrays = vtk::arrays_of(grid, SURROGATE_POINT);
    info.cell_arrays = vtk::arrays_of(grid, SURROGATE_CELL);
    info.coordinate_type = "Float32";
    info.whole_extent = {0, 4, 0, 2, 0, 2};
    info.spacing = {1, 1, 1};
    info.pieces = {{"a." + extension, {0, 2, 0, 2, 0, 2}}, {"b." + extension, {2, 4, 0, 2, 0, 2}}};
    return {name,
            {{"mesh.p" + extension, vtk::summary_text(info)},
             {"a." + extension, a},
             {"b." + extension, b}}};
}

}  // namespace

std::vector<MeshFiles> sound_meshes() {
    using vtk::GridKind;
    const auto cells = grid_of_all_cells(), faces = polyhedra();
    const auto polys = surface();
    const auto pixels = image(0), more_pixels = image(2);
    const auto curved = structured(0), more_curved = structured(2);
    for (vtkDataSet* grid : std::initializer_list<vtkDataSet*>{cells, faces, polys, pixels,
                                                               more_pixels, curved, more_curved})
        add_arrays(grid);
    std::vector<MeshFiles> all;
    for (const Form form : {Form::ascii, Form::base64, Form::base64_zlib, Form::raw, Form::raw_lz4,
                            Form::raw_zlib, Form::appended_base64}) {
        const std::string cell_text = text_of<vtkXMLUnstructuredGridWriter>(cells, form);
        const std::string face_text = text_of<vtkXMLUnstructuredGridWriter>(faces, form);
        const std::string poly_text = text_of<vtkXMLPolyDataWriter>(polys, form);
        const std::string pixel_text = text_of<vtkXMLImageDataWriter>(pixels, form);
        const std::string curved_text = text_of<vtkXMLStructuredGridWriter>(curved, form);
        all.push_back({"cells", {{"mesh.vtu", cell_text}}});
        all.push_back({"polyhedra", {{"mesh.vtu", face_text}}});
        all.push_back({"surface", {{"mesh.vtp", poly_text}}});
        all.push_back({"image", {{"mesh.vti", pixel_text}}});
        all.push_back({"structured", {{"mesh.vts", curved_text}}});
        all.push_back(pieces("pieces", GridKind::mesh, cells, cell_text, face_text));
        all.push_back(pieces("surfaces", GridKind::surface, polys, poly_text, poly_text));
        all.push_back(pieces("images", GridKind::image, pixels, pixel_text,
                             text_of<vtkXMLImageDataWriter>(more_pixels, form)));
        all.push_back(pieces("blocks", GridKind::structured, curved, curved_text,
                             text_of<vtkXMLStructuredGridWriter>(more_curved, form)));
    }
    all.push_back(
        {"LZMA", {{"mesh.vtu", text_of<vtkXMLUnstructuredGridWriter>(cells, Form::raw_lzma)}}});
    all.push_back({"short cells", {{"mesh.vtu", VtuText().text()}}});
    all.push_back({"short surface", {{"mesh.vtp", VtpText().text()}}});
    all.push_back({"short image", {{"mesh.vti", VtiText().text()}}});
    return all;
}

}  // namespace surrogate::test
