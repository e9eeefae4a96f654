// SPDX-License-Identifier: Apache-2.0
// Models with weights of points: --weights, and predictions at the points of a second mesh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"
#include "tests/support/model_parts.hpp"

namespace surrogate::test {
namespace {

using Quads = vtkUnstructuredGrid;
using QuadWriter = vtkXMLUnstructuredGridWriter;

double area(double x, double y) {
    return 0.2 + x * x + 0.5 * y;
}

/// The square, with areas of its points.
vtkSmartPointer<Quads> weighted_square(double sign = 1) {
    auto grid = make_quads<Quads>(Strip());
    auto areas = named<vtkDoubleArray>("area");
    for (vtkIdType i = 0; i < grid->GetNumberOfPoints(); ++i)
        areas->InsertNextValue(sign * area(grid->GetPoint(i)[0], grid->GetPoint(i)[1]));
    grid->GetPointData()->AddArray(areas);
    return grid;
}

/// A part of the square with other points: the mobility there, but no areas.
vtkSmartPointer<Quads> probes(const Strip& strip) {
    auto grid = make_quads<Quads>(strip);
    auto* const values = grid->GetPointData()->GetArray("mobility");
    for (vtkIdType i = 0; i < grid->GetNumberOfPoints(); ++i) {
        double x[3];
        grid->GetPoint(i, x);
        for (int axis = 0; axis < 2; ++axis) x[axis] = 0.03 + 0.9 * x[axis];
        grid->GetPoints()->SetPoint(i, x);
        values->SetComponent(i, 0, mobility(x[0], x[1]));
    }
    grid->GetCellData()->RemoveArray("mobility");
    return grid;
}

class PredictWeights : public PredictFolder {
protected:
    void SetUp() override {
        PredictFolder::SetUp();
        on_root([this] {
            ModelParts<float> parts(model_file);
            parts.card["network"]["point_weights"] = true;
            Model(Context(), parts.card.dump(), parts.tensors()).save(at("weighted.model"));
            parts.card["inputs"][2]["role"] = "cloud";
            parts.card.erase("pooled");
            Model(Context(), parts.card.dump(), parts.tensors()).save(at("numbers.model"));
            write_grid<QuadWriter>(weighted_square(), at("mesh.vtu"));
            write_grid<QuadWriter>(weighted_square(-1), at("negative.vtu"));
            write_grid<QuadWriter>(probes({2, 9}), at("probes.vtu"));
            write_grid<QuadWriter>(probes({5, 7}), at("fewer.vtu"));
            auto bare = probes({2, 9});
            bare->GetPointData()->RemoveArray("mobility");
            write_grid<QuadWriter>(bare, at("bare.vtu"));
        });
    }
    tool::PredictArguments weighted(const std::string& mesh, const std::string& out) const {
        tool::PredictArguments result = arguments(mesh, out);
        result.model = at("weighted.model");
        result.weights = "area";
        result.options = {{"reproducible", "true"}};
        return result;
    }
    tool::PredictArguments probing(const std::string& probes, const std::string& out) const {
        tool::PredictArguments result = weighted("mesh.vtu", out);
        result.at = at(probes);
        return result;
    }
    std::vector<double> pressure(const std::string& file) const {
        return vtk::MeshFile(at(file), 0, 1).values(SURROGATE_POINT, "pressure", 0);
    }

    /// Returns predictions of the library at the mesh and, with weight 0, at the probes.
    ///   number  the mobility of all points; 0: of the meshes
    std::vector<double> direct(const std::vector<std::string>& files, double number = 0) const {
        std::vector<double> x, input, weights;
        for (const std::string& file : files) {
            const vtk::MeshFile mesh(at(file), 0, 1);
            const auto add = [](std::vector<double>& to, const std::vector<double>& values) {
                to.insert(to.end(), values.begin(), values.end());
            };
            add(x, mesh.positions(SURROGATE_POINT));
            add(input, mesh.values(SURROGATE_POINT, "mobility", 0));
            if (file == "mesh.vtu") add(weights, mesh.values(SURROGATE_POINT, "area", 0));
        }
        weights.resize(input.size());
        if (number > 0) std::ranges::fill(input, number);
        const auto n = std::ssize(input);
        const Context alone;
        const Domain domain(
            alone, surrogate_points{matrix(x.data(), n, 3), nullptr, nullptr, weights.data()});
        Plan plan(Model(alone, at("weighted.model")), domain, {{"reproducible", "true"}});
        std::vector<double> output(input.size());
        plan.bind_input("mobility", column(input.data(), n));
        plan.bind_output("pressure", column(output.data(), n));
        plan.run();
        return output;
    }
};

TEST_F(PredictWeights, AreThoseOfTheArray) {
    predict(weighted("mesh.vtu", "out.vtu"));
    EXPECT_EQ(pressure("out.vtu"), direct({"mesh.vtu"}));
    tool::PredictArguments plain = arguments("mesh.vtu", "plain.vtu");
    plain.options = {{"reproducible", "true"}};
    predict(plain);
    EXPECT_NE(pressure("plain.vtu"), pressure("out.vtu"));
}

TEST_F(PredictWeights, SecondMeshHasTheNumbersOfTheFirst) {
    tool::PredictArguments all = probing("bare.vtu", "numbers.vtu");
    all.model = at("numbers.model");
    all.numbers = {{"mobility", 7}};
    predict(all);
    const std::vector<double> found = pressure("numbers.vtu");
    const std::vector<double> expected = direct({"mesh.vtu", "probes.vtu"}, 7);
    ASSERT_LT(found.size(), expected.size());
    EXPECT_TRUE(std::equal(found.rbegin(), found.rend(), expected.rbegin()));
    all.clouds = "area";
    all.overwrite = true;
    expect_words(refusal(all), {"--clouds is 'area', and --at is the mesh", "leave --clouds out"});
}

TEST_F(PredictWeights, OfASecondMeshAreZero) {
    predict(probing("probes.vtu", "at_probes.vtu"));
    const std::vector<double> found = pressure("at_probes.vtu"),
                              all = direct({"mesh.vtu", "probes.vtu"});
    const auto n_mesh = static_cast<std::ptrdiff_t>(all.size() - found.size());
    EXPECT_EQ(n_mesh, n_points);
    EXPECT_EQ(found, std::vector<double>(all.begin() + n_mesh, all.end()));
    EXPECT_EQ(std::vector<double>(all.begin(), all.begin() + n_mesh), direct({"mesh.vtu"}));
    // The second mesh keeps its arrays, and has no others of the first.
    const vtk::MeshFile written(at("at_probes.vtu"), 0, 1);
    EXPECT_EQ(written.arrays(SURROGATE_POINT).size(), 2u);
    // A point has the same prediction with fewer others beside it.
    predict(probing("fewer.vtu", "at_fewer.vtu"));
    const vtk::MeshFile fewer(at("at_fewer.vtu"), 0, 1);
    const auto x = written.positions(SURROGATE_POINT), few_x = fewer.positions(SURROGATE_POINT);
    const auto few = pressure("at_fewer.vtu");
    for (size_t i = 0; i < few.size(); ++i) {
        size_t k = 0;
        while (k < found.size() && !std::equal(&few_x[3 * i], &few_x[3 * i] + 3, &x[3 * k])) ++k;
        ASSERT_LT(k, found.size());
        EXPECT_EQ(few[i], found[k]);
    }
}

TEST_F(PredictWeights, OfASecondMeshInPieces) {
    predict(probing("probes.vtu", "at_probes.vtu"));
    predict(probing("probes.vtu", "pieces.pvtu"));
    std::vector<double> whole = pressure("at_probes.vtu"), pieces = pressure("pieces.pvtu");
    for (auto* values : {&whole, &pieces}) {
        std::ranges::sort(*values);
        values->erase(std::unique(values->begin(), values->end()), values->end());
    }
    EXPECT_EQ(whole, pieces);
}

TEST_F(PredictWeights, ThatAreMissingOrWrongAreErrors) {
    tool::PredictArguments wrong = weighted("mesh.vtu", "out.vtu");
    wrong.weights = "";
    expect_words(refusal(wrong), {"the model weights its points, and --weights is missing"});
    wrong.weights = "aria";
    expect_words(refusal(wrong),
                 {"--weights aria", "has no point array 'aria'", "did you mean 'area'?"});
    wrong = weighted("negative.vtu", "out.vtu");
    expect_words(refusal(wrong),
                 {"weight of local point", "expected a finite number of at least 0"});
    wrong = probing("bare.vtu", "out.vtu");
    expect_words(refusal(wrong), {"field 'mobility'", "bare.vtu' has no point array 'mobility'"});
    wrong = probing("probes.vtu", "out.vti");
    expect_words(refusal(wrong), {"probes.vtu' is written as .vtu or .pvtu"});
    wrong = probing("probes.vtu", "probes.vtu");
    wrong.overwrite = true;
    expect_words(refusal(wrong), {"the mesh of --at"});
    wrong = weighted("mesh.vtu", "out.vtu");
    wrong.at = "nodes";
    expect_words(refusal(wrong), {"--at is 'nodes', expected points, cells or a mesh"});
    wrong = probing("probes.vtu", "out.vtu");
    wrong.model = model_file;
    expect_words(refusal(wrong), {"the model has no weights of points", "network.point_weights"});
    wrong = weighted("mesh.vtu", "out.vtu");
    wrong.model = model_file;
    expect_words(refusal(wrong), {"--weights is 'area', and the model has no weights of points"});
    wrong = probing("probes.vtu", "out.pvd");
    wrong.mesh = at("run.pvd");
    expect_words(refusal(wrong), {"expected points or cells for a series"});
}

}  // namespace
}  // namespace surrogate::test
