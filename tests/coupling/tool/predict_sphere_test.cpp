// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` on one sphere in every form of a structured file: rows from either pole,
// columns from anywhere, map or globe, seam closed or open, whole or in pieces. The prediction
// equals the library's own on any number of ranks.
#include <surrogate/surrogate_vtk.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkStructuredGrid.h>
#include <vtkUnsignedCharArray.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLPStructuredGridReader.h>
#include <vtkXMLStructuredGridReader.h>
#include <vtkXMLStructuredGridWriter.h>

#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "coupling/mesh/mesh_file.hpp"
#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/disk.hpp"
#include "tests/coupling/tool/predict_job.hpp"

namespace surrogate::test {
namespace {

const std::string model_file = std::string(SURROGATE_SHARE) + "/models/shallow_water.safetensors";
const char* const fields[] = {"geopotential", "vorticity", "divergence"};
const char* const units[] = {"m^2/s^2", "1/s", "1/s"};
constexpr int n_lat = 64, n_lon = 128;
constexpr double degree = std::numbers::pi / 180, radius = 6371220.0;

const std::vector<double>& latitudes(const char* grid = "legendre-gauss") {
    static std::map<std::string, std::vector<double>> known;
    auto& lat = known[grid];
    if (lat.empty()) {
        lat.resize(n_lat);
        check(surrogate_sphere_nodes(grid, n_lat, n_lon, lat.data(), nullptr, nullptr));
    }
    return lat;
}

/// Smooth, and within the ranges of the card. Row from the north, column from longitude 0.
double value_of(int field, int row, int col) {
    const double y = latitudes()[static_cast<size_t>(row)] * degree,
                 x = 360.0 / n_lon * col * degree;
    if (field == 0) return 95000 + 4000 * std::cos(2 * y) + 500 * std::sin(3 * x) * std::cos(y);
    if (field == 1) return 2e-5 * std::sin(y) + 3e-5 * std::cos(2 * x + 1) * std::cos(y);
    return 2e-6 * std::sin(4 * x) * std::cos(y) * std::sin(2 * y);
}

/// Layout of the sphere in a file.
struct Form {
    const char* name;
    bool is_map = false;
    bool is_closed = true;
    bool is_south_first = false;
    bool is_westward = false;
    bool is_transposed = false;  ///< rows along the file's i
    bool is_float = false;       ///< coordinates and fields
    double first_longitude = 0;
    int n_pieces = 1;
    const char* grid = "legendre-gauss";
    bool has_caps = false;  ///< one more row at each pole; its inputs must not be used
};

bool is_cap(int row) {
    return row < 0 || row == n_lat;
}

/// First and last row of the file, of a block of the grid's rows.
int first_of(const Form& form, int first) {
    return first - (form.has_caps && first == 0 ? 1 : 0);
}
int last_of(const Form& form, int last) {
    return last + (form.has_caps && last == n_lat - 1 ? 1 : 0);
}

/// The model's column nearest to a longitude.
int column_at(double lon) {
    return static_cast<int>((std::llround(lon / 360.0 * n_lon) % n_lon + n_lon) % n_lon);
}

/// Rows first .. last of the form, as the file has them.
vtkSmartPointer<vtkStructuredGrid> make_sphere(const Form& form, int first = 0,
                                               int last = n_lat - 1) {
    const int n_column = n_lon + (form.is_closed ? 1 : 0);
    first = first_of(form, first);
    last = last_of(form, last);
    auto grid = vtkSmartPointer<vtkStructuredGrid>::New();
    vtkNew<vtkPoints> points;
    points->SetDataType(form.is_float ? VTK_FLOAT : VTK_DOUBLE);
    std::array<vtkSmartPointer<vtkDataArray>, 3> arrays;
    for (size_t f = 0; f < 3; ++f) {
        arrays[f] = vtkSmartPointer<vtkDataArray>::Take(
            vtkDataArray::CreateDataArray(form.is_float ? VTK_FLOAT : VTK_DOUBLE));
        arrays[f]->SetName(fields[f]);
        arrays[f]->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), units[f]);
        grid->GetPointData()->AddArray(arrays[f]);
    }
    const auto add = [&](int i, int j) {
        const int row = form.is_south_first ? n_lat - 1 - i : i;
        const double lat =
            is_cap(row) ? (row < 0 ? 90 : -90) : latitudes(form.grid)[static_cast<size_t>(row)];
        const double lon = form.first_longitude + 360.0 / n_lon * (form.is_westward ? -j : j);
        const double ring = radius * std::cos(lat * degree);
        if (is_cap(row))
            points->InsertNextPoint(0, 0, std::copysign(radius, lat));
        else if (form.is_map)
            points->InsertNextPoint(lon, lat, radius);
        else
            points->InsertNextPoint(ring * std::cos(lon * degree), ring * std::sin(lon * degree),
                                    radius * std::sin(lat * degree));
        for (int f = 0; f < 3; ++f)
            arrays[static_cast<size_t>(f)]->InsertNextTuple1(
                is_cap(row) ? std::nan("") : value_of(f, row, column_at(lon)));
    };
    if (form.is_transposed) {
        grid->SetExtent(first, last, 0, n_column - 1, 0, 0);
        for (int j = 0; j < n_column; ++j)
            for (int i = first; i <= last; ++i) add(i, j);
    } else {
        grid->SetExtent(0, n_column - 1, first, last, 0, 0);
        for (int i = first; i <= last; ++i)
            for (int j = 0; j < n_column; ++j) add(i, j);
    }
    grid->SetPoints(points);
    return grid;
}

void write_grid(vtkStructuredGrid* grid, const std::string& path) {
    const vtkNew<vtkXMLStructuredGridWriter> writer;
    writer->SetInputData(grid);
    vtk::write_file(writer, path, vtk::Compression::lz4);
}

/// "<name>.vts", or "<name>.pvts" of pieces that share a row.
void write_sphere(const std::string& folder, const Form& form) {
    if (form.n_pieces == 1) return write_grid(make_sphere(form), folder + form.name + ".vts");
    vtk::SummaryInfo info;
    info.kind = vtk::GridKind::structured;
    info.whole_extent = {
        0, n_lon - (form.is_closed ? 0 : 1), first_of(form, 0), last_of(form, n_lat - 1), 0, 0};
    for (int piece = 0; piece < form.n_pieces; ++piece) {
        const int first = (n_lat - 1) * piece / form.n_pieces;
        const int last = (n_lat - 1) * (piece + 1) / form.n_pieces;
        const auto grid = make_sphere(form, first, last);
        const std::string file = form.name + std::to_string(piece) + ".vts";
        write_grid(grid, folder + file);
        info.point_arrays = vtk::arrays_of(grid, SURROGATE_POINT);
        info.pieces.push_back(
            {file, {0, info.whole_extent[1], first_of(form, first), last_of(form, last), 0, 0}});
    }
    vtk::write_atomically(folder + form.name + ".pvts", vtk::summary_text(info));
}

const Form forms[] = {
    {"globe"},
    {.name = "open", .is_closed = false},
    {.name = "map", .is_map = true},
    {.name = "map_south", .is_map = true, .is_south_first = true, .first_longitude = -180},
    {.name = "globe_south", .is_closed = false, .is_south_first = true, .first_longitude = 90},
    {.name = "westward", .is_map = true, .is_westward = true, .first_longitude = 360},
    {.name = "transposed", .is_transposed = true},
    {.name = "single", .is_map = true, .is_float = true},
    {.name = "single_globe", .is_float = true},
    {.name = "pieces", .n_pieces = 5},
    {.name = "caps", .has_caps = true},
    {.name = "caps_south", .is_closed = false, .is_south_first = true, .has_caps = true},
    {.name = "caps_transposed", .is_transposed = true, .has_caps = true},
    {.name = "caps_pieces", .n_pieces = 5, .has_caps = true},
};

void write_spheres(const std::string& folder) {
    for (const Form& form : forms) write_sphere(folder + "/", form);
}

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new MeshFolder(write_spheres));

std::string file_of(const Form& form) {
    return std::string(form.name) + (form.n_pieces > 1 ? ".pvts" : ".vts");
}

tool::PredictArguments arguments(const std::string& mesh, const std::string& out) {
    tool::PredictArguments result;
    result.model = model_file;
    result.mesh = MeshFolder::in(mesh);
    result.out = MeshFolder::in(out);
    result.quiet = true;
    return result;
}

/// The library's own prediction on one rank: [field][row from the north][column from 0].
const std::vector<std::vector<double>>& direct(bool is_reproducible) {
    static std::map<bool, std::vector<std::vector<double>>> known;
    auto& result = known[is_reproducible];
    if (!result.empty()) return result;
    const Options options{{"reproducible", is_reproducible ? "true" : "false"}};
    const Context context(options);
    const Model model(context, model_file);
    surrogate_sphere sphere{};
    sphere.grid = "legendre-gauss";
    sphere.n_lat = sphere.n_lat_local = n_lat;
    sphere.n_lon = sphere.n_lon_local = n_lon;
    Plan plan(model, Domain(context, sphere), options);
    std::vector<std::vector<double>> in(3), out(3, std::vector<double>(n_lat * n_lon));
    for (int f = 0; f < 3; ++f) {
        const auto k = static_cast<size_t>(f);
        for (int i = 0; i < n_lat; ++i)
            for (int j = 0; j < n_lon; ++j) in[k].push_back(value_of(f, i, j));
        plan.bind_input(fields[k], column(in[k].data(), n_lat * n_lon));
        plan.bind_output(fields[k], column(out[k].data(), n_lat * n_lon));
    }
    plan.run();
    return result = out;
}

vtkSmartPointer<vtkStructuredGrid> read_sphere(const std::string& file) {
    const std::string path = MeshFolder::in(file);
    const auto grid = vtk::parse_mesh_name(path).is_parallel
                          ? read<vtkXMLPStructuredGridReader>(path)
                          : read<vtkXMLStructuredGridReader>(path);
    return vtkStructuredGrid::SafeDownCast(grid);
}

/// Row from the north and column from 0 of a point.
size_t node_at(const Form& form, const double* x) {
    const double lat = form.is_map ? x[1] : std::atan2(x[2], std::hypot(x[0], x[1])) / degree;
    const double lon = form.is_map ? x[0] : std::atan2(x[1], x[0]) / degree;
    size_t row = 0;
    for (size_t i = 0; i < n_lat; ++i)
        if (std::abs(latitudes()[i] - lat) < std::abs(latitudes()[row] - lat)) row = i;
    return row * n_lon + static_cast<size_t>(column_at(lon));
}

/// Returns the value that the file must have at x: the prediction, or the mean of the row beside a
/// cap.
double wanted_at(const Form& form, const double* x, const std::vector<double>& wanted) {
    if (!form.has_caps || x[0] != 0 || x[1] != 0) return wanted[node_at(form, x)];
    const size_t row = x[2] > 0 ? 0 : n_lat - 1;
    double sum = 0;
    for (size_t j = 0; j < n_lon; ++j) sum += wanted[row * n_lon + j];
    return sum / n_lon;
}

/// Largest difference of a file's predictions to `wanted`, relative to each field's largest value.
/// The file must have the points of the form, in their order.
double difference(const std::string& file, const Form& form,
                  const std::vector<std::vector<double>>& wanted) {
    const auto found = read_sphere(file);
    const auto given = make_sphere(form);
    EXPECT_EQ(found->GetNumberOfPoints(), given->GetNumberOfPoints());
    if (found->GetNumberOfPoints() != given->GetNumberOfPoints()) return INFINITY;
    double largest = 0;
    for (size_t f = 0; f < 3; ++f) {
        vtkDataArray* array = found->GetPointData()->GetArray(fields[f]);
        vtkDataArray* kept =
            found->GetPointData()->GetArray((std::string(fields[f]) + "_input").c_str());
        if (array == nullptr || kept == nullptr) return INFINITY;
        EXPECT_STREQ(array->GetInformation()->Get(vtkDataArray::UNITS_LABEL()), units[f]);
        double scale = 0;
        for (const double value : wanted[f]) scale = std::max(scale, std::abs(value));
        for (vtkIdType p = 0; p < found->GetNumberOfPoints(); ++p) {
            double x[3], y[3];
            found->GetPoint(p, x);
            given->GetPoint(p, y);
            EXPECT_TRUE(std::equal(x, x + 3, y)) << "point " << p << " has moved";
            const double error =
                std::abs(array->GetComponent(p, 0) - wanted_at(form, x, wanted[f])) / scale;
            if (!(error <= largest)) largest = error;  // NaN too
        }
    }
    return largest;
}

class PredictSphere : public testing::TestWithParam<Form> {};

// Different order of sums, same inputs: the bound of the fast mode (1e-5).
TEST_P(PredictSphere, GivesTheLibrarysPrediction) {
    const Form& form = GetParam();
    for (const char* out : {"_out.vts", "_out.pvts"}) {
        const std::string file = form.name + std::string(out);
        tool::predict(MeshFolder::job(), arguments(file_of(form), file));
        EXPECT_LE(difference(file, form, direct(false)), 1e-5) << out;
        MeshFolder::job().barrier();
    }
}

TEST_P(PredictSphere, ReproducibleModeGivesTheSameBitsInEveryForm) {
    const Form& form = GetParam();
    if (form.is_float) GTEST_SKIP() << "fields in single precision are other fields";
    auto options = arguments(file_of(form), std::string(form.name) + "_bits.pvts");
    options.options = {{"reproducible", "true"}};
    tool::predict(MeshFolder::job(), options);
    EXPECT_EQ(difference(form.name + std::string("_bits.pvts"), form, direct(true)), 0.0);
    MeshFolder::job().barrier();
}

INSTANTIATE_TEST_SUITE_P(Forms, PredictSphere, testing::ValuesIn(forms),
                         [](const auto& test) { return test.param.name; });

// ---- errors and their texts ----

/// Writes a grid on rank 0, expects an error with these words for the prediction on it.
void expect_refusal(vtkStructuredGrid* grid, std::initializer_list<std::string> words) {
    if (MeshFolder::job().is_root()) write_grid(grid, MeshFolder::in("bad.vts"));
    MeshFolder::job().barrier();
    expect_words(refusal(arguments("bad.vts", "x.vts")), words);
    EXPECT_FALSE(std::filesystem::exists(MeshFolder::in("x.vts")));
}

TEST(PredictSphereRefuses, RowsOfAnotherGrid) {
    expect_refusal(make_sphere({.name = "", .grid = "equiangular"}),
                   {"equiangular", "legendre-gauss"});
    Form shifted{.name = "", .is_map = true};
    const auto grid = make_sphere(shifted);
    for (vtkIdType p = 0; p < grid->GetNumberOfPoints(); ++p) {
        double x[3];
        grid->GetPoint(p, x);
        x[1] *= 0.99;
        grid->GetPoints()->SetPoint(p, x);
    }
    expect_refusal(grid, {"latitudes", "nodes of a legendre-gauss grid of 64 rows"});
}

TEST(PredictSphereRefuses, ColumnsBetweenThoseOfTheModel) {
    expect_refusal(make_sphere({.name = "", .first_longitude = 1.0}), {"no whole step"});
}

TEST(PredictSphereRefuses, AGridOfAnotherSize) {
    const auto grid = make_sphere({.name = ""});
    int part[] = {0, n_lon, 0, n_lat - 2, 0, 0};
    grid->Crop(part);
    expect_refusal(grid, {"63 rows"});
}

TEST(PredictSphereRefuses, APointThatIsNotWhereItsRowAndColumnMeet) {
    const auto grid = make_sphere({.name = ""});
    grid->GetPoints()->SetPoint(40 * (n_lon + 1) + 17, 0, 0, radius);
    expect_refusal(grid, {"point (17, 40, 0)", "latitude 90"});
}

TEST(PredictSphereRefuses, GridsThatFollowNoCircleOfLatitude) {
    const auto grid = make_sphere({.name = "", .is_map = true});
    for (vtkIdType p = 0; p < grid->GetNumberOfPoints(); ++p) {
        double x[3];
        grid->GetPoint(p, x);
        x[1] = 0.5 * x[1] + 0.01 * x[0];
        grid->GetPoints()->SetPoint(p, x);
    }
    expect_refusal(grid, {"circles of latitude", "longitude, latitude, radius"});
}

TEST(PredictSphereRefuses, HiddenPoints) {
    const auto grid = make_sphere({.name = ""});
    grid->BlankPoint(77);
    expect_refusal(grid, {"hidden points"});
}

TEST(PredictSphereRefuses, AnArrayInAnotherUnit) {
    const auto grid = make_sphere({.name = ""});
    grid->GetPointData()
        ->GetArray("vorticity")
        ->GetInformation()
        ->Set(vtkDataArray::UNITS_LABEL(), "1/day");
    expect_refusal(grid, {"'1/day'", "'1/s'"});
}

TEST(PredictSphereRefuses, OtherKindsOfMeshAndPlaces) {
    auto options = arguments("globe.vts", "x.vts");
    options.at = "cells";
    expect_words(refusal(options), {"--at cells", "points of its grid"});
    if (MeshFolder::job().is_root()) {
        const vtkNew<vtkImageData> image;
        image->SetDimensions(4, 4, 1);
        const vtkNew<vtkXMLImageDataWriter> writer;
        writer->SetInputData(image);
        vtk::write_file(writer, MeshFolder::in("flat.vti"), vtk::Compression::none);
    }
    MeshFolder::job().barrier();
    expect_words(refusal(arguments("flat.vti", "x.vti")),
                 {"legendre-gauss of 64 x 128", "structured grid", "flat.vti"});
    vtkNew<vtkStructuredGrid> thick;
    vtkNew<vtkPoints> points;
    points->SetNumberOfPoints(8);
    thick->SetDimensions(2, 2, 2);
    thick->SetPoints(points);
    expect_refusal(thick, {"2 x 2 x 2 points", "one layer"});
}

}  // namespace
}  // namespace surrogate::test
