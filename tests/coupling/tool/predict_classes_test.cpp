// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` of classifiers: class and probabilities instead of logits.
#include <gtest/gtest.h>

#include <cmath>
#include <surrogate/surrogate_train.hpp>

#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"
#include "tests/support/model_parts.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

json classes(const std::vector<std::string>& names) {
    json list = json::array();
    for (const std::string& name : names)
        list.push_back({{"name", name}, {"role", "class"}, {"unit", "1"}, {"mean", 0}, {"std", 1}});
    return list;
}

class PredictClasses : public PredictFolder {
protected:
    /// A network of random weights with these classes.
    void write_model(const std::vector<std::string>& names) const {
        const Context context = job().make_context();
        json inputs = json::array();
        for (const char* name : {"x", "y"})
            inputs.push_back({{"name", name},
                              {"role", "coordinate"},
                              {"axis", name[0] - 'x'},
                              {"unit", "m"},
                              {"mean", 0.5},
                              {"std", 0.1}});
        inputs.push_back({{"name", "mobility"}, {"unit", ""}, {"mean", 7}, {"std", 2}});
        const json card = {{"format", 1},
                           {"family", "flare"},
                           {"network",
                            {{"in_dim", 3},
                             {"out_dim", names.size()},
                             {"channel_dim", 16},
                             {"num_blocks", 1},
                             {"num_heads", 2},
                             {"num_latents", 8}}},
                           {"inputs", inputs},
                           {"outputs", classes(names)}};
        initialized_model(context, card.dump(), 1, 10).save(at("classes.model"));
        job().barrier();
    }
    tool::PredictArguments request(const std::string& mesh, const std::string& out) const {
        tool::PredictArguments result = arguments("", out);
        result.model = at("classes.model");
        result.mesh = MeshFolder::in(mesh);
        result.at = "points";
        result.overwrite = true;
        return result;
    }
    std::vector<double> values(const std::string& out, const std::string& name) const {
        return vtk::MeshFile(at(out), 0, 1).values(SURROGATE_POINT, name, 0);
    }
    std::string printed(tool::PredictArguments options) const {
        options.quiet = false;
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        predict(options);
        std::fflush(nullptr);
        testing::internal::GetCapturedStderr();
        return testing::internal::GetCapturedStdout();
    }
};

TEST_F(PredictClasses, AreTheMostProbableOnesWithTheirProbabilities) {
    const std::vector<std::string> names = {"sea", "land", "ice"};
    write_model(names);
    for (const std::string mesh : {"serial.vtu", "five.pvtu"}) {
        const std::string out = "out" + mesh.substr(mesh.find('.'));
        tool::PredictArguments options = request(mesh, out);
        options.logits = true;
        const std::string text = printed(options);
        std::vector<std::vector<double>> p, z;
        for (const std::string& name : names) {
            p.push_back(values(out, name));
            z.push_back(values(out, name + "_logit"));
        }
        const std::vector<double> found = values(out, "class");
        std::vector<int64_t> count(3);
        for (size_t i = 0; i < found.size(); ++i) {
            double sum = 0;
            size_t largest = 0;
            for (size_t c = 0; c < 3; ++c) {
                sum += std::exp(z[c][i]);
                if (z[c][i] > z[largest][i]) largest = c;
            }
            ASSERT_EQ(found[i], static_cast<double>(largest)) << i;
            for (size_t c = 0; c < 3; ++c) ASSERT_NEAR(p[c][i], std::exp(z[c][i]) / sum, 1e-12);
            ++count[largest];
        }
        EXPECT_GT(count[0] * count[1] + count[1] * count[2] + count[0] * count[2], 0)
            << "one class";
        for (const auto& array : vtk::MeshFile(at(out), 0, 1).arrays(SURROGATE_POINT))
            EXPECT_EQ(array.type == "Int32", array.name == "class") << array.name;
        if (!job().is_root() || mesh != "serial.vtu") continue;
        expect_words(text, {"points of each class: sea " + std::to_string(count[0]) + ", land " +
                            std::to_string(count[1]) + ", ice " + std::to_string(count[2])});
    }
    predict(request("serial.vtu", "plain.vtu"));
    for (const auto& array : vtk::MeshFile(at("plain.vtu"), 0, 1).arrays(SURROGATE_POINT))
        EXPECT_EQ(array.name.find("_logit"), std::string::npos);
}

TEST_F(PredictClasses, OfOneLogitAreTwo) {
    write_model({"wet"});
    tool::PredictArguments options = request("float.vtu", "out.vtu");
    options.logits = true;
    options.maps = {{"wet", "p"}};
    const std::string text = printed(options);
    const auto p = values("out.vtu", "p"), z = values("out.vtu", "p_logit");
    const auto found = values("out.vtu", "class");
    int64_t n_wet = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], z[i] > 0 ? 1 : 0);
        ASSERT_NEAR(p[i], 1 / (1 + std::exp(-z[i])), 1e-6);
        n_wet += z[i] > 0 ? 1 : 0;
    }
    if (job().is_root())
        expect_words(text, {"points of each class: not wet " + std::to_string(n_points - n_wet) +
                            ", wet " + std::to_string(n_wet)});
}

TEST_F(PredictClasses, OfAllPointsArePrinted) {
    std::vector<std::string> names;
    for (int c = 0; c < 7; ++c) names.push_back("kind" + std::to_string(c));
    if (job().is_root()) {
        ModelParts<float> parts(SURROGATE_TEST_DATA "/sequoia/points_class_root_tied.safetensors");
        parts.card["inputs"] = json::array();
        for (int axis = 0; axis < 3; ++axis)
            parts.card["inputs"].push_back({{"name", std::string(1, "xyz"[axis])},
                                            {"role", "coordinate"},
                                            {"axis", axis},
                                            {"unit", ""},
                                            {"mean", 0.5},
                                            {"std", 0.3}});
        parts.card["outputs"] = classes(names);
        Model(Context(), parts.card.dump(), parts.tensors()).save(at("classes.model"));
    }
    job().barrier();
    const std::string text = printed(request("ids.vtu", "out.vtu"));
    EXPECT_FALSE(std::filesystem::exists(at("out.vtu")));
    if (!job().is_root()) return;
    expect_words(text, {"class = kind", "kind0 = 0.", "kind6 = 0."});
}

TEST_F(PredictClasses, ThatCannotBeWrittenAreRefused) {
    write_model({"sea", "class"});
    expect_words(refusal(request("serial.vtu", "out.vtu")),
                 {"two arrays", "'class'", "--map 'class=ARRAY'"});
    tool::PredictArguments options = request("serial.vtu", "out.vtu");
    options.maps = {{"class", "p"}};
    predict(options);
    EXPECT_EQ(values("out.vtu", "p").size(), static_cast<size_t>(n_points));
    options.logits = true;
    options.model = model_file;
    options.maps.clear();
    expect_words(refusal(options), {"--logits is for classifiers"});
}

}  // namespace
}  // namespace surrogate::test
