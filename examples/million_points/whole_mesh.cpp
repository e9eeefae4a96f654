// SPDX-License-Identifier: Apache-2.0
#include "whole_mesh.hpp"

#include <vtkCellArray.h>
#include <vtkCellType.h>
#include <vtkDelaunay2D.h>
#include <vtkDoubleArray.h>
#include <vtkErrorCode.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <stdexcept>

#include "points.hpp"

namespace million {

namespace {

vtkNew<vtkPoints> vtk_points(const std::vector<Position>& places) {
    vtkNew<vtkPoints> points;
    points->SetDataTypeToDouble();
    points->SetNumberOfPoints(vtkIdType(places.size()));
    for (vtkIdType i = 0; i < vtkIdType(places.size()); ++i)
        points->SetPoint(i, places[std::size_t(i)].x, places[std::size_t(i)].y, 0);
    return points;
}

/// Returns the corners of all Delaunay triangles of `places` that contain none of the points from
/// n_point on.
std::vector<PetscInt> triangulate(const std::vector<Position>& places, int64_t n_point) {
    const vtkNew<vtkPolyData> cloud;
    cloud->SetPoints(vtk_points(places));
    const vtkNew<vtkDelaunay2D> delaunay;
    delaunay->SetInputData(cloud);
    delaunay->SetTolerance(1e-9);  // relative to the size: nearer points are merged
    delaunay->Update();
    std::vector<PetscInt> corners;
    vtkIdType n_corner = 0;
    const vtkIdType* corner = nullptr;
    vtkCellArray* const triangles = delaunay->GetOutput()->GetPolys();
    for (triangles->InitTraversal(); triangles->GetNextCell(n_corner, corner);)
        if (corner[0] < n_point && corner[1] < n_point && corner[2] < n_point)
            corners.insert(corners.end(), corner, corner + 3);
    return corners;
}

/// Checks Euler's formula for a region with holes whose border consists of sides of triangles.
void check_triangles(int64_t n_point, int64_t n_border, int64_t n_hole, int64_t n_found) {
    const int64_t n_wanted = 2 * n_point - n_border - 2 + 2 * n_hole;
    if (n_found != n_wanted)
        throw std::runtime_error("the triangulation of " + std::to_string(n_point) +
                                 " points has " + std::to_string(n_found) + " triangles, " +
                                 std::to_string(n_wanted) + " are expected; use another -seed");
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw std::runtime_error(path + ": " + what);
}

void check_done(const std::string& path, unsigned long error) {
    if (error != vtkErrorCode::NoError) fail(path, vtkErrorCode::GetStringFromErrorCode(error));
}

}  // namespace

WholeMesh make_mesh(const Plate& plate, int64_t n_point, uint64_t seed) {
    Points points = scatter_points(plate, n_point, seed);
    const auto n = int64_t(points.place.size());
    // There is a point in the middle of each pipe: the triangles inside the pipe are the ones that
    // use it.
    points.place.insert(points.place.end(), plate.pipes.begin(), plate.pipes.end());
    WholeMesh mesh;
    mesh.corners = triangulate(points.place, n);
    check_triangles(n, points.n_border, int64_t(plate.pipes.size()), mesh.n_cell());
    points.place.resize(std::size_t(n));
    mesh.place = std::move(points.place);
    mesh.distance = std::move(points.distance);
    return mesh;
}

void write_mesh(const std::string& path, const WholeMesh& mesh) {
    const vtkNew<vtkCellArray> triangles;
    triangles->AllocateExact(mesh.n_cell(), 3 * mesh.n_cell());
    for (std::size_t i = 0; i < mesh.corners.size(); i += 3)
        triangles->InsertNextCell({mesh.corners[i], mesh.corners[i + 1], mesh.corners[i + 2]});
    const vtkNew<vtkDoubleArray> distance;
    distance->SetName("distance");
    distance->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), "m");
    distance->SetArray(const_cast<double*>(mesh.distance.data()), vtkIdType(mesh.n_point()), 1);
    const vtkNew<vtkUnstructuredGrid> grid;
    grid->SetPoints(vtk_points(mesh.place));
    grid->SetCells(VTK_TRIANGLE, triangles);
    grid->GetPointData()->AddArray(distance);
    const vtkNew<vtkXMLUnstructuredGridWriter> writer;
    writer->SetInputData(grid);
    writer->SetFileName(path.c_str());
    writer->SetDataModeToAppended();
    writer->EncodeAppendedDataOff();
    writer->SetCompressorTypeToLZ4();
    writer->SetHeaderTypeToUInt64();
    if (writer->Write() == 0) fail(path, "cannot be written");
    check_done(path, writer->GetErrorCode());
}

WholeMesh read_mesh(const std::string& path) {
    const vtkNew<vtkXMLUnstructuredGridReader> reader;
    reader->SetFileName(path.c_str());
    reader->Update();
    check_done(path, reader->GetErrorCode());
    vtkUnstructuredGrid* const grid = reader->GetOutput();
    vtkDataArray* const distance = grid->GetPointData()->GetArray("distance");
    if (grid->GetNumberOfCells() == 0) fail(path, "the file has no mesh, or a mesh without cells");
    if (distance == nullptr) fail(path, "no array 'distance' on the points");
    if (!grid->IsHomogeneous() || grid->GetCellType(0) != VTK_TRIANGLE)
        fail(path, "some cells are not triangles");
    WholeMesh mesh;
    for (vtkIdType i = 0; i < grid->GetNumberOfPoints(); ++i) {
        const double* const x = grid->GetPoint(i);
        mesh.place.push_back({x[0], x[1]});
        mesh.distance.push_back(distance->GetComponent(i, 0));
    }
    vtkIdType n_corner = 0;
    const vtkIdType* corner = nullptr;
    vtkCellArray* const triangles = grid->GetCells();
    for (triangles->InitTraversal(); triangles->GetNextCell(n_corner, corner);)
        mesh.corners.insert(mesh.corners.end(), corner, corner + 3);
    return mesh;
}

}  // namespace million
