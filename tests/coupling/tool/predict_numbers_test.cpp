// SPDX-License-Identifier: Apache-2.0
// Predictions with numbers per cloud, and clouds that an array of the mesh numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "coupling/job/text.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

const json network = {{"in_dim", 2},        {"coords_dim", 2},     {"h_dim", 4},
                      {"num_heads", 2},     {"n_layers", 2},       {"n_hashes", 3},
                      {"block_size", 8},    {"num_w_per_dist", 2}, {"num_classes", 1},
                      {"padding", "masked"}};
const std::vector<int64_t> parts = {-3, 7, 1000000};

json entry(const char* name, const char* role, int axis = -1) {
    json field = {{"name", name}, {"role", role}, {"unit", ""}, {"mean", 0.5}, {"std", 2}};
    if (axis >= 0) field["axis"] = axis;
    return field;
}

class PredictNumbers : public PredictFolder {
protected:
    void SetUp() override {
        PredictFolder::SetUp();
        on_root([this] {
            for (const char* const role : {"cloud", "field"}) {
                json speed = entry("speed", role);
                speed.update({{"min", 0}, {"max", 5}});
                const json card = {
                    {"format", 1},
                    {"family", "hept"},
                    {"network", network},
                    {"inputs",
                     {entry("x", "coordinate", 0), entry("y", "coordinate", 1),
                      entry("mobility", "field"), speed}},
                    {"outputs", {{{"name", "load"}, {"unit", ""}, {"mean", 0}, {"std", 1}}}}};
                initialized_model(Context(), card.dump(), 1).save(at(role));
            }
            vtk::MeshFile mesh(MeshFolder::in("ids.vtu"), 0, 1);
            const std::vector<double> x = mesh.positions(SURROGATE_POINT);
            std::vector<double> part, speed, uneven;
            for (size_t i = 0; i < x.size() / 3; ++i) {
                const size_t k = static_cast<size_t>(std::lround(7 * x[3 * i])) % 3;
                part.push_back(static_cast<double>(parts[k]));
                speed.push_back(1.5 * static_cast<double>(k));
                uneven.push_back(static_cast<double>(i));
            }
            const auto add = [&](const char* name, const char* type,
                                 const std::vector<double>& values) {
                vtk::ArrayInfo info;
                info.name = name;
                info.type = type;
                mesh.add(SURROGATE_POINT, info, values);
            };
            add("part", "Int32", part);
            add("speed", "Float64", speed);
            add("uneven", "Float64", uneven);
            mesh.write(at("in.vtu"), vtk::Compression::none);
        });
    }
    tool::PredictArguments given(const char* role = "cloud") const {
        tool::PredictArguments result = arguments("in.vtu", "out.vtu");
        result.model = at(role);
        result.overwrite = true;
        result.clouds = "part";
        result.at = "points";
        result.options = {{"reproducible", "true"}};
        return result;
    }
    std::vector<double> load_of(const tool::PredictArguments& all) const {
        predict(all);
        return vtk::MeshFile(at("out.vtu"), 0, 1).values(SURROGATE_POINT, "load", 0);
    }
    /// Predictions of the library on one rank, with the speed as a field.
    std::vector<double> expected(bool has_clouds, const std::vector<double>& speeds = {}) const {
        const vtk::MeshFile mesh(at("in.vtu"), 0, 1);
        const auto values = [&](const char* name) { return mesh.values(SURROGATE_POINT, name, 0); };
        const std::vector<double> x = mesh.positions(SURROGATE_POINT), part = values("part");
        const std::vector<double> mobility = values("mobility");
        const std::vector<int64_t> ids = mesh.global_ids(SURROGATE_POINT);
        std::vector<double> speed = values("speed"), load(speed.size());
        std::vector<int64_t> clouds;
        for (size_t i = 0; i < part.size(); ++i) {
            const auto cloud = std::ranges::find(parts, static_cast<int64_t>(part[i]));
            clouds.push_back(cloud - parts.begin());
            if (!speeds.empty()) speed[i] = speeds[0];
        }
        const auto n = static_cast<int64_t>(load.size());
        const Context alone;
        const Model model(alone, at("field"));
        const Domain domain(alone, surrogate_points{matrix(x.data(), n, 3), ids.data(),
                                                    has_clouds ? clouds.data() : nullptr, nullptr});
        Plan plan(model, domain, {{"reproducible", "true"}});
        plan.bind_input("mobility", column(mobility.data(), n));
        plan.bind_input("speed", column(speed.data(), n));
        plan.bind_output("load", column(load.data(), n));
        plan.run();
        return load;
    }
};

TEST_F(PredictNumbers, ComeFromAnArrayThatIsConstantInEachCloud) {
    EXPECT_EQ(load_of(given()), expected(true));
}

TEST_F(PredictNumbers, AreSetForAllClouds) {
    tool::PredictArguments all = given();
    all.numbers = {{"speed", 2.5}};
    EXPECT_EQ(load_of(all), expected(true, {2.5}));
    all.clouds = "";
    EXPECT_EQ(load_of(all), expected(false, {2.5}));
}

TEST_F(PredictNumbers, CloudsAreForModelsWithoutNumbersToo) {
    EXPECT_EQ(load_of(given("field")), expected(true));
}

TEST_F(PredictNumbers, OutputsOfCloudsArePrintedByTheirValuesInTheArray) {
    tool::PredictArguments all = given("pooled");
    on_root([&] {
        const json card = {
            {"format", 1},
            {"family", "sequoia"},
            {"network",
             {{"pos_enc", "none"},
              {"dimensionality", 2},
              {"c_in", 2},
              {"num_classes", 1},
              {"transformer_dim", 16},
              {"num_head", 2},
              {"head_dim", 16},
              {"transformer_hidden_dim", 32},
              {"num_layers", 1},
              {"k", 4},
              {"pooling_mode", "MEAN"}}},
            {"inputs",
             {entry("x", "coordinate", 0), entry("y", "coordinate", 1), entry("mobility", "field"),
              entry("speed", "cloud")}},
            {"outputs", {{{"name", "drag"}, {"unit", "N"}, {"mean", 0}, {"std", 1}}}}};
        initialized_model(Context(), card.dump(), 1).save(all.model);
    });
    testing::internal::CaptureStdout();
    predict(all);
    std::fflush(stdout);
    const std::string text = testing::internal::GetCapturedStdout();
    if (!job().is_root()) return;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
    expect_words(text, {"cloud -3: drag = ", "cloud 7: drag = ", "cloud 1000000: drag = ", " N\n"});
}

TEST_F(PredictNumbers, OutsideTheRangeAreReported) {
    tool::PredictArguments all = given();
    all.numbers = {{"speed", 7}};
    all.strict = true;
    testing::internal::CaptureStderr();
    expect_words(refusal(all, tool::Exit::not_passed), {"outside the range"});
    const std::string text = testing::internal::GetCapturedStderr();
    if (job().is_root()) {
        expect_words(text, {"speed: 100 % of the points are outside [0, 5]"});
    }
}

TEST_F(PredictNumbers, ThatAreWrongAreRefused) {
    const auto with = [&](const auto& change) {
        tool::PredictArguments all = given();
        change(all);
        return refusal(all);
    };
    using Arguments = tool::PredictArguments;
    expect_words(with([](Arguments& a) {
                     a.numbers = {{"sped", 1}};
                 }),
                 {"--set sped=1", "no number per cloud 'sped'", "it has 'speed'"});
    expect_words(with([](Arguments& a) {
                     a.numbers = {{"mobility", 1}};
                 }),
                 {"no number per cloud 'mobility'"});
    expect_words(with([](Arguments& a) {
                     a.numbers = {{"speed", 1}, {"speed", 2}};
                 }),
                 {"--set speed=2", "is given twice"});
    expect_words(with([](Arguments& a) {
                     a.numbers = {{"speed", 1}};
                     a.maps = {{"speed", "uneven"}};
                 }),
                 {"'uneven' is given by --map, too"});
    expect_words(with([](Arguments& a) {
                     a.maps = {{"speed", "sped"}};
                 }),
                 {"needs the number per cloud 'speed'", "--set speed=VALUE"});
    expect_words(with([](Arguments& a) {
                     a.maps = {{"speed", "uneven"}};
                 }),
                 {"'speed' is one number per cloud", "array 'uneven' is 0 .. ", "in cloud -3"});
    expect_words(with([](Arguments& a) { a.clouds = ""; }),
                 {"expected the same number at all points"});
    expect_words(with([](Arguments& a) { a.clouds = "prt"; }),
                 {"--clouds: ", "no point array 'prt'", "did you mean 'part'"});
    expect_words(with([](Arguments& a) { a.clouds = "mobility"; }),
                 {"--clouds: array 'mobility'", "expected integers"});
    EXPECT_THROW(tool::parse_number("speed"), tool::Failure);
    EXPECT_THROW(tool::parse_number("speed=fast"), tool::Failure);
    EXPECT_THROW(tool::parse_number("speed=nan"), tool::Failure);
    EXPECT_EQ(tool::parse_number("speed=-2.5e3").second, -2500);
}

}  // namespace
}  // namespace surrogate::test
