// SPDX-License-Identifier: Apache-2.0
// Models whose coordinates build a tree, and whose outputs are not at points.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"
#include "tests/support/model_parts.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

json coordinates(int n) {
    json list = json::array();
    for (int axis = 0; axis < n; ++axis)
        list.push_back({{"name", std::string(1, "xyz"[axis])},
                        {"role", "coordinate"},
                        {"axis", axis},
                        {"unit", ""},
                        {"mean", 0.5},
                        {"std", 0.3}});
    return list;
}

json fields(const std::vector<std::string>& names) {
    json list = json::array();
    for (const std::string& name : names)
        list.push_back({{"name", name}, {"unit", "K"}, {"mean", 0}, {"std", 1}});
    return list;
}

class PredictPlaces : public testing::Test {
protected:
    static tool::Job& job() { return MeshFolder::job(); }
    void TearDown() override { job().barrier(); }

    /// The network of a stored case with this card, and what of it is to be changed.
    tool::PredictArguments of(const std::string& name, const json& inputs, const json& outputs,
                              const json& changes = json::object()) {
        const std::string file = MeshFolder::in("places.model");
        if (job().is_root()) {
            ModelParts<float> parts(std::string(SURROGATE_TEST_DATA "/") + name + ".safetensors");
            parts.card["inputs"] = inputs;
            parts.card["outputs"] = outputs;
            parts.card["network"].update(changes);
            Model(Context(), parts.card.dump(), parts.tensors()).save(file);
        }
        job().barrier();
        tool::PredictArguments arguments;
        arguments.model = file;
        arguments.mesh = MeshFolder::in("ids.vtu");
        arguments.out = MeshFolder::in("places_out.vtu");
        arguments.at = "points";
        arguments.quiet = arguments.overwrite = true;
        arguments.options = {{"reproducible", "true"}};
        return arguments;
    }
    static std::string printed(const tool::PredictArguments& arguments) {
        testing::internal::CaptureStdout();
        tool::predict(job(), arguments);
        std::fflush(stdout);
        return testing::internal::GetCapturedStdout();
    }
};

TEST_F(PredictPlaces, OfATreeGiveAnArrayThatNoNumberOfRanksChanges) {
    const auto arguments = of("sequoia/points_small_grad", coordinates(3), fields({"temperature"}));
    tool::predict(job(), arguments);
    const vtk::MeshFile mesh(arguments.out, 0, 1);
    const std::vector<double> found = mesh.values(SURROGATE_POINT, "temperature", 0);
    const vtk::MeshFile input(arguments.mesh, 0, 1);
    const std::vector<double> x = input.positions(SURROGATE_POINT);
    const std::vector<int64_t> ids = input.global_ids(SURROGATE_POINT);
    const auto n = static_cast<int64_t>(ids.size());
    const Context alone;
    Plan plan(Model(alone, arguments.model), Domain(alone, matrix(x.data(), n, 3), ids.data()),
              {{"reproducible", "true"}});
    std::vector<double> expected(ids.size());
    plan.bind_output("temperature", column(expected.data(), n));
    plan.run();
    EXPECT_EQ(found, expected);
}

TEST_F(PredictPlaces, OfAllPointsArePrintedAndNoMeshIsWritten) {
    std::vector<std::string> names;
    for (int c = 0; c < 7; ++c) names.push_back("class" + std::to_string(c));
    const auto arguments = of("sequoia/points_class_root_tied", coordinates(3), fields(names));
    if (job().is_root()) std::filesystem::remove(arguments.out);
    job().barrier();
    const std::string text = printed(arguments);
    EXPECT_FALSE(std::filesystem::exists(arguments.out));
    if (!job().is_root()) {
        EXPECT_EQ(text, "");
        return;
    }
    std::istringstream lines(text);
    for (const std::string& name : names) {
        std::string line;
        std::getline(lines, line);
        EXPECT_EQ(line.substr(0, name.size() + 3), name + " = ");
        EXPECT_EQ(line.substr(line.size() - 2), " K");
    }
}

TEST_F(PredictPlaces, ThatNoMeshHasAreRefused) {
    expect_words(refusal(of("sequoia/points_small_grad", coordinates(3), fields({"v"}),
                            {{"probe_layer", "virtual"}})),
                 {"predicts 'v' at nodes", "surrogate_plan_bind_output"});
    expect_words(refusal(of("flare/lra_mean_sin", fields({"word", "shown"}), fields({"score"}))),
                 {"input 'word' has integers", "surrogate_plan_bind_input"});
}

}  // namespace
}  // namespace surrogate::test
