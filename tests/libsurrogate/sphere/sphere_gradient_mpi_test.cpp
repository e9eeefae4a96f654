// SPDX-License-Identifier: Apache-2.0
// Gradients of networks on the sphere: slopes, bits, traffic, and bad numbers of one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/libsurrogate/sphere/sphere_gradients.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

// ---- networks with options ----

struct Variant {
    std::string name;
    json changes;
};

std::ostream& operator<<(std::ostream& stream, const Variant& v) {
    return stream << v.name;
}

const json no_norm = {{"normalization_layer", "none"},
                      {"activation_function", "identity"},
                      {"pos_embed", "none"},
                      {"residual_prediction", false}};
const Variant variants[] = {
    {"Plain", json::object()},
    {"NoNormNoEmbeddingNoResidual", no_norm},
    {"LayerNormBias",
     {{"normalization_layer", "layer_norm"}, {"pos_embed", "sequence"}, {"bias", true}}},
    {"LearnableLatlon", {{"pos_embed", "learnable latlon"}}},
    {"WithoutMlpLearnableLat", {{"pos_embed", "learnable lat"}, {"use_mlp", false}}},
    {"GlobalLobatto", {{"attention_mode", "global"}, {"grid", "lobatto"}, {"num_heads", 2}}},
    {"OddRowsScaleFactorThree",
     {{"img_size", {13, 27}}, {"scale_factor", 3}, {"grid_internal", "equiangular"}}},
    {"Segformer", json::object()},
    {"SegformerGlobalBiasOddRows",
     {{"attention_mode", "global"}, {"bias", true}, {"img_size", {27, 36}}}},
    {"ManyOutputsGeometryFirst", {{"out_chans", 40}, {"residual_prediction", false}}},
    {"Harmonics", {{"upsample_sht", true}}},
    {"HarmonicsGeometryFirst",
     {{"upsample_sht", true},
      {"out_chans", 40},
      {"residual_prediction", false},
      {"grid_internal", "legendre-gauss"}}},
    {"SegformerConvolution", {{"upsampling_method", "conv"}}},
    {"SegformerConvolutionManyOutputs", {{"upsampling_method", "conv"}, {"out_chans", 30}}},
    {"Dropout", {{"drop_rate", 0.3}, {"drop_path_rate", 0.4}, {"pos_embed", "learnable latlon"}}},
    {"DropPathOfTheLastBlock", {{"drop_path_rate", 0.9}}},
    {"DropPathWithoutMlp", {{"use_mlp", false}, {"drop_path_rate", 0.4}}},
    {"SegformerDropPath", {{"drop_path_rate", 0.6}}},
    {"SegformerGlobalDropPath", {{"attention_mode", "global"}, {"drop_path_rate", 0.6}}},
    {"SingleAttention", {{"bias", true}, {"use_qknorm", true}}},
    {"SingleAttentionGlobal", json::object()},
    {"SingleAttentionCoarser", {{"out_shape", {6, 12}}, {"bias", true}}},
    {"SingleAttentionCoarserByThreeNormed",
     {{"out_shape", {5, 8}}, {"use_qknorm", true}, {"grid_out", "legendre-gauss"}}},
    {"SingleAttentionFiner", {{"in_shape", {6, 12}}, {"bias", true}}},
    {"SingleAttentionFinerByThreeNormed",
     {{"in_shape", {5, 8}}, {"use_qknorm", true}, {"grid_in", "lobatto"}}},
    {"SingleAttentionOtherRows", {{"out_shape", {7, 24}}, {"theta_cutoff", 0.6}}},
    // Most rows of the keys are between the disks and are not used.
    {"SingleAttentionUnseenKeys", {{"out_shape", {3, 24}}, {"theta_cutoff", 0.3}}},
    {"SingleAttentionGlobalCoarser",
     {{"out_shape", {5, 12}}, {"bias", true}, {"use_qknorm", true}}},
    {"SingleAttentionGlobalFiner", {{"in_shape", {7, 12}}}},
    {"SingleConvolution", {{"bias", true}}},
    {"SingleConvolutionGroups", {{"in_channels", 4}, {"groups", 2}}},
    {"SingleConvolutionCoarser", {{"out_shape", {6, 12}}, {"bias", true}}},
    {"SingleConvolutionWeightsFirst",
     {{"in_channels", 12}, {"out_channels", 2}, {"bias", true}, {"out_shape", {6, 12}}}},
    {"SingleTransposed",
     {{"layer", "DiscreteContinuousConvTransposeS2"}, {"in_shape", {6, 12}}, {"bias", true}}},
    {"SingleTransposedWeightsFirst",
     {{"layer", "DiscreteContinuousConvTransposeS2"},
      {"in_channels", 9},
      {"out_channels", 2},
      {"in_shape", {6, 12}},
      {"bias", true}}},
    {"SingleResampling", json::object()},
    {"SingleResamplingCoarser", {{"in_shape", {24, 48}}}},
};

/// Names say which network they change: the Transformer if nothing else.
json network_of(const Variant& variant) {
    const auto is = [&](const char* name) { return variant.name.starts_with(name); };
    const json base = is("Segformer")               ? small_segformer()
                      : is("SingleAttentionGlobal") ? small_attention(true)
                      : is("SingleAttention")       ? small_attention()
                      : is("SingleResampling")      ? small_resampling()
                      : is("Single")                ? small_convolution()
                                                    : small_transformer();
    return changed(base, variant.changes);
}

class SphereGradientOf : public testing::TestWithParam<Variant> {
protected:
    void fill(SphereGradients& own) const {
        own.fill(wave_inputs(model));
        const surrogate_domain_info grid = model.output_domain();
        own.dy.fill(golden_slope(own.n_out * grid.n_lat * grid.n_lon));
    }

    const std::optional<impl::DropoutDraw> draw = impl::DropoutDraw{7, 3};
    const ModelOnDisk disk{network_of(GetParam())};
    const Context context = mpi_context(world), self;
    const Model model{context, disk.path()}, alone{self, disk.path()};
};

TEST_P(SphereGradientOf, IsTheSlope) {
    SphereGradients own(context, model, layouts[1], {.draw = draw});
    fill(own);
    ASSERT_TRUE(own.run());
    const auto value = [&] {
        own.evaluate();
        const std::vector<double> y = own.y.points(), dy = own.dy.points();
        return context.reduce(SURROGATE_SUM,
                              std::inner_product(y.begin(), y.end(), dy.begin(), 0.0));
    };
    const double h = 1e-5;
    const auto direction = [](size_t i) { return std::sin(0.7 * static_cast<double>(i)); };

    for (size_t port = 0; port < own.x.size(); ++port) {
        const std::vector<double> x = own.x[port].values(), dx = own.dx[port].values();
        const auto at_input = [&](double step) {
            for (size_t i = 0; i < x.size(); ++i)
                own.x[port].values()[i] = x[i] + step * direction(i);
            return value();
        };
        const double small = 1e-6, slope = (at_input(small) - at_input(-small)) / (2 * small);
        double sum = 0;
        for (size_t i = 0; i < dx.size(); ++i) sum += dx[i] * direction(i);
        sum = context.reduce(SURROGATE_SUM, sum);
        EXPECT_NEAR(slope, sum, 1e-6 * std::abs(sum)) << model.ports()[port].name;
        at_input(0);
    }

    impl::MasterWeights& weights = *model.get()->model->weights();
    const std::vector<double> center(weights.precise().begin(), weights.precise().end());
    for (const auto& entry : weights.entries()) {
        const auto begin = static_cast<size_t>(entry.first);
        const auto at = [&](double step) {
            for (size_t i = 0; i < static_cast<size_t>(entry.size); ++i)
                weights.precise()[begin + i] = center[begin + i] + step * direction(i);
            weights.refresh();
            return value();
        };
        const double found = (at(h) - at(-h)) / (2 * h);
        at(0);
        double size = 0, expected = 0;
        for (size_t i = 0; i < static_cast<size_t>(entry.size); ++i) {
            expected += own.sums.total()[begin + i] * direction(i);
            size += std::abs(own.sums.total()[begin + i] * direction(i));
        }
        EXPECT_NEAR(found, expected, 1e-6 * size + 1e-8) << entry.name;
    }
}

TEST_P(SphereGradientOf, InReproduciblePlansHasTheBitsOfOneRank) {
    const TrapGuard traps;
    SphereWay way = exact_single;
    way.draw = draw;
    SphereGradients whole(self, alone, layouts[0], way);
    fill(whole);
    ASSERT_TRUE(whole.run());
    std::vector<std::vector<double>> dx;
    for (size_t port = 0; port < whole.dx.size(); ++port) {
        const std::vector<double> points = whole.dx[port].points();
        dx.emplace_back(points.size());
        for (size_t i = 0; i < points.size(); ++i) {  // [n, channels] to (channels, n)
            const size_t n = static_cast<size_t>(whole.n_in[port]), point = i / n, c = i % n;
            dx.back()[c * points.size() / n + point] = points[i];
        }
    }
    SphereWay ways[] = {way, way, way};
    ways[1].queue = simd(3, kernels::VectorLevel::scalar);
    ways[2].queue = simd(2);
    for (size_t w = 0; w < std::size(ways); ++w) {
        SphereGradients own(context, model, layouts[w], ways[w]);
        fill(own);
        ASSERT_TRUE(own.run());
        EXPECT_EQ(own.total(), whole.total()) << layouts[w].name;
        for (size_t port = 0; port < dx.size(); ++port)
            EXPECT_EQ(own.dx[port].points(), own.dx[port].points_of(dx[port])) << layouts[w].name;
    }
}

/// A weight whose stage ended too early would lack what came later.
TEST_P(SphereGradientOf, TravelsWhileOthersAreComputed) {
    SphereGradients own(context, model, layouts[1], exact_single);
    fill(own);
    ASSERT_TRUE(own.run());
    const std::vector<int> stages = own.program->weight_stages();
    impl::GradientSums parts(*model.get()->model->weights(), 1, impl::GradientOrder::exact, stages,
                             1);
    ASSERT_TRUE(own.evaluate());
    parts.begin(own.comm());
    ASSERT_TRUE(own.program->backward(own.outputs(own.dy), own.inputs(own.dx), true, parts));
    own.comm().reset_counters();
    ASSERT_TRUE(parts.reduce(own.comm()));
    EXPECT_EQ(own.comm().n_collective(), parts.collectives() > 2 ? 3 : 2);
    EXPECT_TRUE(std::ranges::equal(parts.total(), own.total()));
    const int n_stage = stages.empty() ? 1 : 1 + *std::ranges::max_element(stages);
    EXPECT_EQ(parts.collectives(), 2 * n_stage);
}

/// Evaluations of a program with gradients are equal to evaluations of the plain program.
TEST_P(SphereGradientOf, LeavesPredictionsAsTheyAre) {
    const std::vector<std::vector<float>> x = wave_inputs(model);
    SphereGradients own(context, model, layouts[0], exact_single);
    own.fill(x);
    ASSERT_TRUE(own.evaluate());
    const std::vector<double> y =
        evaluate(disk.path(), x, {{"reproducible", "true"}, {"backend", "simd"}});
    EXPECT_EQ(own.y.points(), own.y.points_of(y));
}

INSTANTIATE_TEST_SUITE_P(Networks, SphereGradientOf, testing::ValuesIn(variants),
                         [](const auto& variant) { return variant.param.name; });

// ---- memory and traffic ----

/// The columns of costs, added up.
struct Traffic {
    int64_t bytes = 0, collectives = 0;
};
Traffic planned(const impl::GradientProgram& program) {
    Traffic sum;
    for (const impl::LayerCost& cost : program.costs()) {
        sum.bytes += cost.bytes_sent;
        sum.collectives += cost.collectives;
    }
    return sum;
}

TEST(SphereGradientTraffic, IsWhatThePlanSays) {
    const json networks[] = {small_transformer(),
                             changed(small_attention(), {{"out_shape", {6, 12}}}),
                             changed(small_attention(), {{"in_shape", {6, 12}}}),
                             changed(small_attention(true), {{"out_shape", {5, 12}}})};
    const Context context = mpi_context(world);
    for (const json& network : networks) {
        SCOPED_TRACE(network.dump());
        const ModelOnDisk disk(network);
        const Model model(context, disk.path());
        for (const bool reproducible : {false, true}) {
            SphereWay way = exact_single;
            way.reproducible = reproducible;
            SphereGradients own(context, model, layouts[1], way);
            own.fill(wave_inputs(model));
            own.dy.fill(golden_slope(own.n_out * 12 * 24));
            impl::Communicator& comm = own.comm();
            comm.reset_counters();
            ASSERT_TRUE(own.evaluate());
            ASSERT_TRUE(own.backward());
            const Traffic wanted = planned(*own.program);
            EXPECT_EQ(comm.bytes_sent(), wanted.bytes);
            EXPECT_EQ(comm.n_collective(), wanted.collectives);
        }
    }
}

TEST(SphereGradientMemory, IsTakenByThePlanAlone) {
    const Context context = mpi_context(world);
    const json networks[] = {small_transformer(),
                             changed(small_transformer(), {{"attention_mode", "global"}}),
                             changed(small_attention(), {{"out_shape", {6, 12}}}),
                             changed(small_attention(), {{"in_shape", {6, 12}}})};
    for (const json& network : networks) {
        const ModelOnDisk disk(network);
        const Model model(context, disk.path());
        SphereWay way = exact_single;
        way.queue = simd(2);
        SphereGradients own(context, model, layouts[1], way);
        own.fill(wave_inputs(model));
        own.dy.fill(golden_slope(own.n_out * 12 * 24));
        ASSERT_TRUE(own.run());  // the first run may make threads
        const std::vector<impl::Column> x = own.inputs(own.x), y = own.outputs(own.y),
                                        dy = own.outputs(own.dy), dx = own.inputs(own.dx);
        impl::OutsideCounts outside(2, std::ssize(x));
        const MemoryMeter meter;
        own.sums.clear();
        own.program->gather(x, outside);
        own.program->evaluate(true);
        own.program->scatter(y, true);
        own.program->backward(dy, dx, true, own.sums);
        own.reduce();
        EXPECT_EQ(meter.n_allocation(), 0) << network;
    }
}

// ---- failed ranks ----

class SphereGradientTrouble : public testing::TestWithParam<std::tuple<bool, bool>> {
protected:
    const bool is_reproducible = std::get<0>(GetParam());
    const SphereWay way{
        .precision = "fp32",
        .reproducible = is_reproducible,
        .queue = simd(),
        .order = is_reproducible ? impl::GradientOrder::exact : impl::GradientOrder::single};
    const ModelOnDisk disk{std::get<1>(GetParam())
                               ? changed(small_attention(), {{"out_shape", {6, 12}}})
                               : small_transformer()};
    const Context context = mpi_context(world);
    const Model model{context, disk.path()};
    SphereGradients own{context, model, layouts[0], way};
    const bool is_culprit = rank_of(world) == size_of(world) - 1;
};

TEST_P(SphereGradientTrouble, OfOneRankIsKnownToAllAndForgotten) {
    own.fill(wave_inputs(model));
    own.dy.fill(golden_slope(own.n_out * 12 * 24));
    ASSERT_TRUE(own.run());
    const std::vector<double> good = own.total();
    const TrapGuard traps;
    for (std::vector<double>* values : {&own.x.back().values(), &own.dy.values()}) {
        const double kept = values->back();
        if (is_culprit) values->back() = NAN;
        EXPECT_FALSE(own.run());
        for (BlockFields<double>& fields : own.dx)
            for (const double dx : fields.values()) EXPECT_TRUE(std::isnan(dx));
        values->back() = kept;
    }
    own.sums.clear();
    EXPECT_TRUE(own.evaluate());
    EXPECT_FALSE(own.backward(!is_culprit));
    EXPECT_FALSE(own.reduce());
    ASSERT_TRUE(own.run());
    EXPECT_EQ(own.total(), good);
}

INSTANTIATE_TEST_SUITE_P(, SphereGradientTrouble,
                         testing::Combine(testing::Bool(), testing::Bool()), [](const auto& way) {
                             return std::string(std::get<0>(way.param) ? "Reproducible" : "Fast") +
                                    (std::get<1>(way.param) ? "TwoGrids" : "Model");
                         });

TEST(SphereGradientRefusal, NamesWhatCannotBeTrained) {
    const Context self;
    json old = sphere_card(changed(small_attention(), {{"bias", true}}));
    old["conventions"] = "torch-harmonics 0.9.0";
    const std::pair<json, std::string> cases[] = {
        {old, "before 0.9.1"},
        {sphere_card(
             changed(small_transformer(),
                     {{"in_chans", 40}, {"scale_factor", 1}, {"residual_prediction", false}})),
         "applies weights before"},
        {sphere_card(changed(small_segformer(), {{"depths", {1, 0}}})), "a level of depth 0"}};
    for (const auto& [card, text] : cases) {
        const ModelOnDisk disk(sphere_model(card).bytes());
        const Model model(self, disk.path());
        try {
            SphereGradients refused(self, model, layouts[0], {});
            ADD_FAILURE() << text;
        } catch (const impl::Error& error) {
            EXPECT_EQ(error.status(), impl::Status::not_supported);
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace surrogate::test
