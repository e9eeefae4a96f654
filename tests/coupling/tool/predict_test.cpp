// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` on the same square in every format and cut: the prediction equals the
// library's own for the points of the square, each counted once, on any number of ranks.
#include "coupling/tool/predict.hpp"

#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>

#include <cmath>
#include <filesystem>

#include "coupling/job/text.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"
#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {
namespace {

using tool::Failure;
using tool::PredictArguments;
using vtk::MeshFile;

const std::string model_file = std::string(SURROGATE_SHARE) + "/models/darcy_flow.safetensors";

using Meshes = MeshFolder;
[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new Meshes(write_meshes));

/// Returns predictions of the library itself on one rank, at points or cell centers of the square
/// in their natural order. at_mobility: the coordinates of a point are (mobility, mobility).
template <class T>
std::vector<double> direct(int location, bool is_reproducible, bool at_mobility = false) {
    const int extra = location == SURROGATE_POINT ? 1 : 0;
    const double half = location == SURROGATE_POINT ? 0.0 : 0.5;
    std::vector<double> x;
    std::vector<T> a, p;
    for (int j = 0; j < n_y + extra; ++j)
        for (int i = 0; i < n_x + extra; ++i) {
            const double at[] = {(i + half) / n_x, (j + half) / n_y, 0.0};
            const double value = mobility(at[0], at[1]);
            const double moved[] = {value, value, 0.0};
            x.insert(x.end(), at_mobility ? moved : at, (at_mobility ? moved : at) + 3);
            a.push_back(static_cast<T>(value));
        }
    const auto n = static_cast<int64_t>(a.size());
    p.resize(a.size());
    const Context context(Options{{"reproducible", is_reproducible ? "true" : "false"}});
    const Model model(context, model_file);
    const Domain domain(context, matrix(x.data(), n, 3));
    Plan plan(model, domain, Options{{"reproducible", is_reproducible ? "true" : "false"}});
    plan.bind_input("mobility", column(a.data(), n));
    plan.bind_output("pressure", column(p.data(), n));
    plan.run();
    return {p.begin(), p.end()};
}

PredictArguments arguments(const std::string& mesh, const std::string& out) {
    PredictArguments result;
    result.model = model_file;
    result.mesh = Meshes::in(mesh);
    result.out = Meshes::in(out);
    result.quiet = true;
    return result;
}

/// The tests of a cut write to one name.
PredictArguments replacing(const std::string& mesh, const std::string& out) {
    PredictArguments result = arguments(mesh, out);
    result.overwrite = true;
    return result;
}

/// Natural number of the point or cell at x.
int64_t number_at(const double* x, int location) {
    const double half = location == SURROGATE_POINT ? 0.0 : 0.5;
    const auto i = std::llround(x[0] * n_x - half), j = std::llround(x[1] * n_y - half);
    return i + j * (location == SURROGATE_POINT ? n_x + 1 : n_x);
}

/// Largest difference to `wanted` over all rows of a file, relative to the largest value; every
/// number must occur.
double difference(const std::string& file, int location, const std::vector<double>& wanted,
                  const char* array = "pressure") {
    const MeshFile mesh(Meshes::in(file), 0, 1);
    const auto x = mesh.positions(location);
    const auto found = mesh.values(location, array, 0);
    std::vector<char> has(wanted.size());
    double largest = 0, scale = 0;
    for (const double value : wanted) scale = std::max(scale, std::abs(value));
    for (size_t i = 0; i < found.size(); ++i) {
        const auto k = static_cast<size_t>(number_at(x.data() + 3 * i, location));
        has.at(k) = 1;
        const double error = std::abs(found[i] - wanted[k]) / scale;
        if (!(error <= largest)) largest = error;  // NaN too
    }
    EXPECT_EQ(std::count(has.begin(), has.end(), 0), 0) << "numbers without a row in " << file;
    return largest;
}

struct Cut {
    const char *in, *out;  // why it is here
};

class PredictOnEveryCut : public testing::TestWithParam<Cut> {};

// Different order of sums, same inputs: the bound of the fast mode (1e-5).
TEST_P(PredictOnEveryCut, GivesTheLibrarysPredictionAtPoints) {
    const auto [in, out] = GetParam();
    tool::predict(Meshes::job(), replacing(in, out));
    EXPECT_LE(difference(out, SURROGATE_POINT, direct<double>(SURROGATE_POINT, false)), 1e-5);
    Meshes::job().barrier();
}

TEST_P(PredictOnEveryCut, GivesTheLibrarysPredictionAtCells) {
    const auto [in, out] = GetParam();
    auto options = replacing(in, out);
    options.at = "cells";
    tool::predict(Meshes::job(), options);
    EXPECT_LE(difference(out, SURROGATE_CELL, direct<double>(SURROGATE_CELL, false)), 1e-5);
    Meshes::job().barrier();
}

// Without ids in the file, points are ordered by coordinates: the results are bitwise identical for
// every cut and number of ranks.
TEST_P(PredictOnEveryCut, ReproducibleModeGivesTheSameBits) {
    const auto [in, out] = GetParam();
    auto options = replacing(in, out);
    options.options = {{"reproducible", "true"}};
    tool::predict(Meshes::job(), options);
    const bool has_ids = std::string(in).find("ids") != std::string::npos ||
                         std::string(in).find("vti") != std::string::npos;
    // Files with ids order points by them: other sums, the same for all such files (the ids of all
    // are in one order).
    static std::vector<double> with_ids;
    std::vector<double> wanted = direct<double>(SURROGATE_POINT, true);
    if (has_ids) {
        const MeshFile mesh(Meshes::in(out), 0, 1);
        const auto x = mesh.positions(SURROGATE_POINT);
        const auto found = mesh.values(SURROGATE_POINT, "pressure", 0);
        EXPECT_LE(difference(out, SURROGATE_POINT, wanted), 1e-5);
        if (with_ids.empty()) {
            with_ids.resize(n_points);
            for (size_t i = 0; i < found.size(); ++i)
                with_ids[static_cast<size_t>(number_at(x.data() + 3 * i, SURROGATE_POINT))] =
                    found[i];
        }
        wanted = with_ids;
    }
    EXPECT_EQ(difference(out, SURROGATE_POINT, wanted), 0.0);
    Meshes::job().barrier();
}

INSTANTIATE_TEST_SUITE_P(
    Files, PredictOnEveryCut,
    testing::Values(Cut{"serial.vtu", "a.pvtu"},      // cut by us, pieces written
                    Cut{"serial.vtu", "b.vtu"},       // gathered into one file
                    Cut{"ids.vtu", "c.pvtu"},         //
                    Cut{"two.pvtu", "d.pvtu"},        // fewer pieces than 3 ranks: cut again
                    Cut{"five.pvtu", "e.pvtu"},       // more pieces than ranks: dealt
                    Cut{"five.pvtu", "f.vtu"},        // dealt and gathered
                    Cut{"ghosts.pvtu", "g.pvtu"},     // ghost cells and points, no ids
                    Cut{"ghosts_ids.pvtu", "h.vtu"},  // two layers of ghosts and ids
                    Cut{"serial.vtp", "i.pvtp"},      //
                    Cut{"three.pvtp", "j.vtp"},       //
                    Cut{"serial.vti", "k.pvti"},      // slabs that share a line of points
                    Cut{"serial.vti", "l.vti"},       //
                    Cut{"blocks.pvti", "m.pvti"},     //
                    Cut{"serial.vts", "r.pvts"},      // points of their own, no ids
                    Cut{"strips.pvts", "s.vts"}),
    [](const auto& cut) {
        std::string name = std::string(cut.param.in) + "_to_" + cut.param.out;
        std::replace(name.begin(), name.end(), '.', '_');
        return name;
    });

TEST(Predict, FloatInGivesFloatOutAndDoubleGivesDouble) {
    tool::predict(Meshes::job(), arguments("float.vtu", "n.vtu"));
    tool::predict(Meshes::job(), arguments("serial.vtu", "o.vtu"));
    const auto type_in = [](const std::string& file) {
        for (const auto& array : MeshFile(Meshes::in(file), 0, 1).arrays(SURROGATE_POINT))
            if (array.name == "pressure") return array.type + " [" + array.unit + "]";
        return std::string("none");
    };
    EXPECT_EQ(type_in("n.vtu"), "Float32 [Pa]");
    EXPECT_EQ(type_in("o.vtu"), "Float64 [Pa]");
    EXPECT_LE(difference("n.vtu", SURROGATE_POINT, direct<float>(SURROGATE_POINT, false)), 1e-5);
    Meshes::job().barrier();
}

TEST(Predict, MapsNameArraysAndOutputs) {
    auto options = arguments("serial.vtu", "p.vtu");
    options.maps = {tool::parse_map("mobility=mobility:0"), tool::parse_map("pressure=guess")};
    tool::predict(Meshes::job(), options);
    const auto names = [](const std::string& file) {
        std::string text;
        for (const auto& array : MeshFile(Meshes::in(file), 0, 1).arrays(SURROGATE_POINT))
            text += array.name + " ";
        return text;
    };
    EXPECT_EQ(names("p.vtu"), "mobility guess ");
    options.maps = {tool::parse_map("pressure=mobility")};  // an array of that name is kept
    options.out = Meshes::in("q.vtu");
    tool::predict(Meshes::job(), options);
    EXPECT_EQ(names("q.vtu"), "mobility_input mobility ");
    Meshes::job().barrier();
}

/// Returns the norm of the derivatives of the prediction at point k with respect to the inputs of
/// each point, in deviations of the card, by the library on one rank.
std::vector<double> direct_influence(int64_t k) {
    std::vector<double> x, a;
    for (int j = 0; j <= n_y; ++j)
        for (int i = 0; i <= n_x; ++i) {
            const auto at = point(i, j);
            x.insert(x.end(), at.begin(), at.end());
            a.push_back(mobility(at[0], at[1]));
        }
    const auto n = static_cast<int64_t>(a.size());
    const Context context;
    const Model model(context, model_file);
    const Domain domain(context, matrix(x.data(), n, 3));
    Plan plan(model, domain, Options{{"gradients", "inputs"}});
    std::vector<double> pressure(a.size()), w(a.size()), norm(a.size());
    w.at(static_cast<size_t>(k)) = 1 / model.outputs()[0].std;
    plan.bind_input("mobility", column(a.data(), n));
    plan.bind_output("pressure", column(pressure.data(), n));
    plan.bind_output_gradient("pressure", column(w.data(), n));
    std::vector<std::vector<double>> gradients(3, std::vector<double>(a.size()));
    const auto inputs = model.inputs();
    for (size_t i = 0; i < 3; ++i)
        plan.bind_input_gradient(inputs[i].name, column(gradients[i].data(), n));
    plan.run();
    plan.run_backward();
    for (size_t j = 0; j < norm.size(); ++j)
        norm[j] = std::hypot(inputs[0].std * gradients[0][j], inputs[1].std * gradients[1][j],
                             inputs[2].std * gradients[2][j]);
    return norm;
}

TEST(Predict, WritesTheReceptiveFieldOfTheNearestPoint) {
    for (const char* in : {"serial.vtu", "ghosts.pvtu"}) {
        auto options = replacing(in, "field.vtu");
        options.receptive_field = {3.1 / n_x, 6.9 / n_y};
        tool::predict(Meshes::job(), options);
        EXPECT_LE(difference("field.vtu", SURROGATE_POINT,
                             direct_influence(number_at(point(3, 7).data(), SURROGATE_POINT)),
                             "receptive_field"),
                  1e-5);
        Meshes::job().barrier();
    }
}

TEST(Predict, WritesTheReceptiveFieldOfThePointWithAnId) {
    const std::vector<double> wanted =
        direct_influence(number_at(point(3, 7).data(), SURROGATE_POINT));
    for (const char* in : {"serial.vtu", "ghosts.pvtu"}) {
        auto options = replacing(in, "field_id.vtu");
        // The id of the point in this file. Of the points that pieces share any copy will do.
        const MeshFile whole(Meshes::in(in), 0, 1);
        const auto x = whole.positions(SURROGATE_POINT);
        for (size_t i = 0; i < x.size() / 3; ++i)
            if (number_at(x.data() + 3 * i, SURROGATE_POINT) ==
                number_at(point(3, 7).data(), SURROGATE_POINT))
                options.receptive_field = {static_cast<double>(i)};
        tool::predict(Meshes::job(), options);
        EXPECT_LE(difference("field_id.vtu", SURROGATE_POINT, wanted, "receptive_field"), 1e-5);
        Meshes::job().barrier();
    }
}

TEST(PredictRefuses, AReceptiveFieldOfAPointThatIsNotThere) {
    auto options = arguments("serial.vtu", "x.vtu");
    options.receptive_field = {1e6};
    expect_words(refusal(options), {"--receptive-field is 1000000", "expected the id", "0 to "});
    options.receptive_field = {0.5};
    expect_words(refusal(options), {"--receptive-field is one number", "integer", "location"});
}

TEST(PredictRefuses, AReceptiveFieldWithASecondMesh) {
    auto options = arguments("serial.vtu", "x.vtu");
    options.receptive_field = {0.5, 0.5};
    options.at = Meshes::in("serial.vti");
    expect_words(refusal(options), {"--receptive-field", "--at is the mesh", "leave one of them"});
}

TEST(Predict, TakesPositionsFromArraysIfAMapNamesACoordinate) {
    auto options = arguments("serial.vtu", "positions.vtu");
    options.maps = {{"x", "mobility"}, {"y", "mobility"}};
    tool::predict(Meshes::job(), options);
    EXPECT_LE(
        difference("positions.vtu", SURROGATE_POINT, direct<double>(SURROGATE_POINT, false, true)),
        1e-5);
    Meshes::job().barrier();
}

TEST(PredictRefuses, AMapOfOneCoordinateWithoutTheOthers) {
    auto options = arguments("serial.vtu", "x.vtu");
    options.maps = {{"x", "mobility"}};
    expect_words(refusal(options), {"coordinate 'y' [m]", "no point array 'y'", "--map y=ARRAY"});
}

TEST(PredictRefuses, AMeshWithoutTheArrayNamingWhatIsThere) {
    auto options = arguments("serial.vtu", "x.vtu");
    options.maps = {{"mobility", "mobilty"}};
    expect_words(refusal(options),
                 {"'mobility' [m^2/(Pa s)]", "no point array 'mobilty'", "point arrays: 'mobility'",
                  "did you mean 'mobility'?", "--map mobility=ARRAY"});
    EXPECT_FALSE(std::filesystem::exists(Meshes::in("x.vtu")));
}

TEST(PredictRefuses, AnArrayWithoutTheComponent) {
    auto options = arguments("serial.vtu", "x.vtu");
    options.maps = {{"mobility", "mobility:1"}};
    expect_words(refusal(options), {"has 1 component", "component 1 does not exist"});
}

TEST(PredictRefuses, AnArrayInAnotherUnitUntilToldThatItIsTheSame) {
    if (Meshes::job().is_root()) {
        const auto grid = make_quads<vtkUnstructuredGrid>(Strip());
        grid->GetPointData()
            ->GetArray("mobility")
            ->GetInformation()
            ->Set(vtkDataArray::UNITS_LABEL(), "mD/cP");
        write_grid<vtkXMLUnstructuredGridWriter>(grid, Meshes::in("unit.vtu"));
    }
    Meshes::job().barrier();
    auto options = arguments("unit.vtu", "x.vtu");
    options.at = "points";
    expect_words(refusal(options), {"'mD/cP'", "'m^2/(Pa s)'", "--ignore-units"});
    options.ignore_units = true;
    options.out = Meshes::in("unit_ignored.vtu");
    tool::predict(Meshes::job(), options);
    EXPECT_LE(
        difference("unit_ignored.vtu", SURROGATE_POINT, direct<double>(SURROGATE_POINT, false)),
        1e-5);
    Meshes::job().barrier();
}

TEST(PredictRefuses, MapsAndPlacesThatDoNotExist) {
    auto options = arguments("serial.vtu", "x.vtu");
    options.maps = {{"porosity", "mobility"}};
    expect_words(refusal(options), {"no field 'porosity'", "'mobility'", "'pressure'"});
    options.maps = {};
    options.at = "faces";
    expect_words(refusal(options), {"faces", "points, cells or a mesh"});
    EXPECT_THROW(tool::parse_map("mobility"), Failure);
    EXPECT_THROW(tool::parse_map("=mobility"), Failure);
}

TEST(PredictRefuses, FilesThatAreNotThereOrNoMesh) {
    expect_words(refusal(arguments("none.vtu", "x.vtu")),
                 {"cannot open", "none.vtu", "No such file"});
    expect_words(refusal(arguments("serial.vtu", "x.vti")), {"is written as .vtu or .pvtu"});
    expect_words(refusal(arguments("serial.vtu", "serial.vtu")), {"not overwritten"});
    expect_words(refusal(arguments("serial.obj", "x.obj")), {".pvti", "meshio"});
    expect_words(refusal(arguments("serial.vtu", "no/x.vtu")), {"no/x.vtu", "No such file"});
    expect_words(refusal(arguments("serial.vtu", "no/x.pvtu")), {"No such file"});
    auto options = arguments("serial.vtu", "x.vtu");
    options.model = Meshes::in("none.safetensors");
    expect_words(refusal(options), {"none.safetensors"});
    options = arguments("serial.vtu", "x.vtu");
    options.options = {{"backend", "simdd"}};
    expect_words(refusal(options), {"simdd"});
}

TEST(PredictRefuses, DamagedMeshesWithVtksReasonAndWithoutItsPrinting) {
    if (Meshes::job().is_root()) {
        std::ofstream(Meshes::in("text.vtu")) << "this is no XML";
        const std::string bytes = bytes_of(Meshes::in("serial.vtu"));
        std::ofstream(Meshes::in("short.vtu"), std::ios::binary)
            << bytes.substr(0, bytes.size() / 2);
        std::ofstream(Meshes::in("lost.pvtu"))
            << std::string(bytes_of(Meshes::in("two.pvtu")))
                   .replace(bytes_of(Meshes::in("two.pvtu")).find("two_6.vtu"), 9, "two_7.vtu");
    }
    Meshes::job().barrier();
    testing::internal::CaptureStderr();
    expect_words(refusal(arguments("text.vtu", "x.vtu")), {"text.vtu", "VTK says"});
    expect_words(refusal(arguments("short.vtu", "x.vtu")),
                 {"short.vtu", "array '", "the file has"});
    expect_words(refusal(arguments("lost.pvtu", "x.vtu")), {"lost.pvtu", "VTK says"});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace surrogate::test
