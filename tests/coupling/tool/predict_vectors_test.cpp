// SPDX-License-Identifier: Apache-2.0
// Fields that are components of vectors and tensors: by letters, in the order of VTK.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coupling/mesh/mesh_file.hpp"
#include "coupling/mesh/vector_names.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"
#include "tests/support/model_parts.hpp"

namespace surrogate::test {
namespace {

const std::string darcy_file = std::string(SURROGATE_SHARE) + "/models/darcy_flow.safetensors";

TEST(VectorNames, LettersAreComponentsAsVtkOrdersThem) {
    struct Row {
        int n_components;
        std::vector<std::string> letters;  // of components 0, 1, ..
    };
    const Row rows[] = {{2, {"x", "y"}},
                        {3, {"x", "y", "z"}},
                        {4, {"xx", "xy", "yx", "yy"}},
                        {6, {"xx", "yy", "zz", "xy", "yz", "xz"}},
                        {9, {"xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"}}};
    for (const Row& row : rows)
        for (int c = 0; c < row.n_components; ++c)
            EXPECT_EQ(tool::component_index(row.letters[static_cast<size_t>(c)], row.n_components),
                      c)
                << row.n_components << " " << row.letters[static_cast<size_t>(c)];
    EXPECT_EQ(tool::component_index("zx", 6), 5);
}

TEST(VectorNames, OtherLettersAreNoComponents) {
    for (const char* letters : {"", "w", "X", "0", "xyz", "x ", "rr"})
        for (const int n : {1, 2, 3, 4, 5, 6, 8, 9, 12})
            EXPECT_EQ(tool::component_index(letters, n), -1) << letters << " of " << n;
    EXPECT_EQ(tool::component_index("z", 2), -1);
    EXPECT_EQ(tool::component_index("xz", 4), -1);
    EXPECT_EQ(tool::component_index("xx", 3), -1);
    EXPECT_EQ(tool::component_index("x", 9), -1);
    EXPECT_EQ(tool::component_index("x", 1), -1);  // a scalar is no vector
    EXPECT_EQ(tool::split_component("a.b.xy").array, "a.b");
    EXPECT_EQ(tool::split_component("a.b.xy").suffix, "xy");
    EXPECT_EQ(tool::split_component("velocity").array, "");
}

class PredictVectors : public testing::Test {
protected:
    static tool::Job& job() { return MeshFolder::job(); }

    void SetUp() override {
        if (job().is_root()) {
            ModelParts<float> parts(darcy_file);
            parts.card["inputs"][2]["name"] = "flow.y";
            Model(Context(), parts.card.dump(), parts.tensors()).save(MeshFolder::in("flow.model"));
            write("vector.vtu", 3, 1, nullptr);
            write("both.vtu", 3, 0, "flow.y");
            write("scalar.vtu", 1, 0, nullptr);
        }
        job().barrier();
    }
    void TearDown() override { job().barrier(); }

    /// The square with an array "flow" whose component `component` is the mobility, the others
    /// far from it; and with the mobility under a name of its own, if there is one.
    void write(const std::string& file, int n_components, int component, const char* name) {
        const auto grid = make_quads<vtkUnstructuredGrid>(Strip());
        vtkDataArray* const scalar = grid->GetPointData()->GetArray("mobility");
        const auto vector = named<vtkDoubleArray>("flow");
        vector->SetNumberOfComponents(n_components);
        vector->SetNumberOfTuples(scalar->GetNumberOfTuples());
        for (vtkIdType i = 0; i < scalar->GetNumberOfTuples(); ++i)
            for (int c = 0; c < n_components; ++c)
                vector->SetComponent(i, c, c == component ? scalar->GetComponent(i, 0) : 3.0);
        grid->GetPointData()->AddArray(vector);
        grid->GetCellData()->RemoveArray("mobility");
        if (name) {
            scalar->SetName(name);
        } else {
            grid->GetPointData()->RemoveArray("mobility");
        }
        write_grid<vtkXMLUnstructuredGridWriter>(grid, MeshFolder::in(file));
    }

    tool::PredictArguments of(const std::string& mesh) {
        tool::PredictArguments result;
        result.model = MeshFolder::in("flow.model");
        result.mesh = MeshFolder::in(mesh);
        result.out = MeshFolder::in("vectors_out.vtu");
        result.quiet = result.overwrite = true;
        result.at = "points";
        result.options = {{"reproducible", "true"}};
        return result;
    }
    std::vector<double> predicted(const tool::PredictArguments& options) {
        tool::predict(job(), options);
        const vtk::MeshFile mesh(options.out, 0, 1);
        std::vector<double> values = mesh.values(SURROGATE_POINT, "pressure", 0);
        job().barrier();
        return values;
    }
    std::vector<double> of_the_scalar() {
        tool::PredictArguments options = of("serial.vtu");
        options.model = darcy_file;
        return predicted(options);
    }
};

TEST_F(PredictVectors, AreFoundInTheArrayBeforeTheDot) {
    EXPECT_EQ(predicted(of("vector.vtu")), of_the_scalar());
}

TEST_F(PredictVectors, GiveWayToAnArrayOfTheWholeName) {
    EXPECT_EQ(predicted(of("both.vtu")), of_the_scalar());
}

TEST_F(PredictVectors, MayBeNamedByAMap) {
    tool::PredictArguments options = of("vector.vtu");
    options.model = darcy_file;
    options.maps = {{"mobility", "flow.y"}};
    EXPECT_EQ(predicted(options), of_the_scalar());
}

TEST_F(PredictVectors, OfAScalarAreRefusedWithWhatIsThere) {
    expect_words(refusal(of("scalar.vtu")), {"'flow.y'", "no point array 'flow.y'", "'flow'"});
    tool::PredictArguments options = of("vector.vtu");
    options.maps = {{"flow.y", "flow.xy"}};
    expect_words(refusal(options), {"no point array 'flow.xy'", "'flow' (3 components)"});
}

}  // namespace
}  // namespace surrogate::test
