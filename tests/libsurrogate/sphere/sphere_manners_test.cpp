// SPDX-License-Identifier: Apache-2.0
// Runs on the sphere inside a time loop that counts allocations and traps floating-point
// operations; fields that are not as they should be.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

struct Way {
    std::string name;
    json network;
    std::string backend, reproducible, threads;
    Options options() const {
        return {{"backend", backend}, {"reproducible", reproducible}, {"threads", threads}};
    }
};

std::ostream& operator<<(std::ostream& stream, const Way& way) {
    return stream << way.name;
}

json harmonic_transformer() {
    return changed(small_transformer(), {{"upsample_sht", true}, {"attention_mode", "global"}});
}
json transposed_segformer() {
    return changed(small_segformer(), {{"upsampling_method", "conv"}, {"out_chans", 3}});
}

class SphereManners : public testing::TestWithParam<Way> {
protected:
    SphereManners() {
        run.fill({wave(3 * n_point(), 0.6)});
        run.bind();
    }
    int64_t n_point() const { return run.in_block.n_point(); }

    const ModelOnDisk file{GetParam().network, 3, 3};
    Context context;
    Model model{context, file.path()};
    SphereRun run{context, model, {.name = ""}, GetParam().options()};
};

TEST_P(SphereManners, RunAllocatesNothing) {
    const auto in = run.arrays(false), out = run.arrays(true);
    for (const bool warm_up : {true, false}) {
        const MemoryMeter meter;
        const surrogate_status status = run.run();
        const surrogate_status bare =
            surrogate_plan_run_network(run.plan.get(), 1, in.data(), 1, out.data());
        const int64_t n_allocation = meter.n_allocation();
        EXPECT_EQ(status, SURROGATE_SUCCESS);
        EXPECT_EQ(bare, SURROGATE_SUCCESS);
        if (!warm_up) {
            EXPECT_EQ(n_allocation, 0);
        }
    }
}

TEST_P(SphereManners, WholeLifeRaisesNoTrap) {
    const Options options = GetParam().options();
    const TrapGuard guard;
    const Context own;
    const Model loaded(own, file.path());
    SphereRun life(own, loaded, {.name = "", .south_first = true, .shift = 3}, options);
    life.fill({wave(3 * n_point(), 0.6)});
    life.bind();
    EXPECT_EQ(life.run(), SURROGATE_SUCCESS);
    life.plan.describe();
}

TEST_P(SphereManners, TwoRunsGiveTheSameBits) {
    EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
    const std::vector<double> first = run.result().points();
    for (float& value : run.result().values()) value = NAN;
    EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
    EXPECT_EQ(run.result().points(), first);
}

TEST_P(SphereManners, ValuesThatAreNoNumbersAreRefusedAndNamed) {
    EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
    const std::vector<double> good = run.result().points();
    std::vector<float>& input = run.fields.front().values();
    const size_t row = 5, column = 7, channel = 1;
    const auto n_lon = static_cast<size_t>(run.in_block.n_lon());
    float& value = input[(row * n_lon + column) * 3 + channel];
    const float kept = value;
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
        value = bad;
        surrogate_status status = SURROGATE_SUCCESS;
        {
            const TrapGuard guard;
            status = run.run();
        }
        const Answer found = answer(status);
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
        EXPECT_TRUE(found.says("input 'u1'") && found.says("row 5, column 7")) << found;
        for (const double y : run.result().points()) EXPECT_TRUE(std::isnan(y));
        value = kept;
        EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
        EXPECT_EQ(run.result().points(), good);
    }
}

TEST_P(SphereManners, TinyValuesCountAsZero) {
    std::vector<float>& input = run.fields.front().values();
    std::vector<std::vector<double>> results;
    for (const float tiny : {0.f, -0.f, std::numeric_limits<float>::denorm_min(),
                             -std::numeric_limits<float>::denorm_min()}) {
        for (float& value : input) value = tiny;
        const TrapGuard guard;
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
        results.push_back(run.result().points());
        EXPECT_LE(largest_difference(results.back(), results.front(), 1), 1e-6) << tiny;
    }
}

// Squares of such numbers do not fit single precision: the answer is finite or refused, never a
// number that looks like one.
TEST_P(SphereManners, HugeValuesAreFiniteOrRefused) {
    std::vector<float>& input = run.fields.front().values();
    const std::vector<float> kept = input;
    for (float& value : input) value *= 1e30f;
    const surrogate_status status = run.run_network();
    bool is_finite = true;
    for (const double y : run.result().points()) is_finite = is_finite && std::isfinite(y);
    EXPECT_EQ(status, is_finite ? SURROGATE_SUCCESS : SURROGATE_NOT_FINITE);
    input = kept;
    EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SphereManners,
    testing::Values(Way{"TransformerFast", small_transformer(), "simd", "false", "1"},
                    Way{"TransformerReproducible", small_transformer(), "simd", "true", "2"},
                    Way{"TransformerReference", small_transformer(), "ref", "false", "1"},
                    Way{"TransformerHarmonic", harmonic_transformer(), "simd", "false", "2"},
                    Way{"TransformerHarmonicReference", harmonic_transformer(), "ref", "true", "1"},
                    Way{"SegformerFast", transposed_segformer(), "simd", "false", "1"},
                    Way{"SegformerReproducible", transposed_segformer(), "simd", "true", "3"}),
    [](const auto& way) { return way.param.name; });

// ---- guards off, arrays of wrong shape, order of destruction ----

// 40 channels: columns pass in groups of 32. Every field of the card has a range of its own.
TEST(SphereRange, CountsAreThoseOfEachField) {
    json card = sphere_card(changed(small_attention(), {{"in_channels", 40}}), 40, 40);
    for (json& field : card["inputs"]) {
        field["min"] = -1;
        field["max"] = 2;
    }
    const ModelOnDisk file(sphere_model(card).bytes());
    const Context context;
    const Model model(context, file.path());
    for (const char* threads : {"1", "3"}) {
        SphereRun run(context, model, {.name = "", .south_first = true, .shift = 5, .ghosts = 1},
                      {{"threads", threads}});
        const int64_t n = run.in_block.n_model_point();
        std::vector<float> x(static_cast<size_t>(40 * n), 0.5f);
        for (int64_t i = 0; i < 7; ++i) x[static_cast<size_t>(35 * n + 31 * i)] = -3;
        x[static_cast<size_t>(35 * n + 11)] = 6;
        x[static_cast<size_t>(39 * n + n - 1)] = 2.5f;
        run.fill({x});
        run.bind();
        EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
        for (int32_t field = 0; field < 40; ++field) {
            const surrogate_range_info found = run.plan.range(field);
            EXPECT_EQ(found.n_outside, field == 35 ? 8 : field == 39 ? 1 : 0) << field;
            EXPECT_EQ(found.worst, field == 35 ? 6 : field == 39 ? 2.5 : 0) << field;
            EXPECT_EQ(found.n_points, n);
        }
        EXPECT_EQ(run.plan.counter("outside_range"), 9);
    }
}

TEST(SphereUnchecked, NanBecomesNanEverywhere) {
    const ModelOnDisk file(small_transformer());
    const Context context;
    const Model model(context, file.path());
    SphereRun run(context, model, {.name = ""}, {{"check_finite", "false"}});
    run.fill({wave(3 * 12 * 24, 0.6)});
    run.fields.front().values()[100] = NAN;
    EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
    for (const double y : run.result().points()) EXPECT_TRUE(std::isnan(y));
}

class SphereArrays : public testing::Test {
protected:
    Answer run_with(const std::vector<surrogate_named_array>& in,
                    const std::vector<surrogate_named_array>& out) {
        return answer(surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()),
                                                 in.data(), static_cast<int32_t>(out.size()),
                                                 out.data()));
    }
    const ModelOnDisk file{changed(small_attention(), {{"out_shape", {6, 12}}})};
    Context context;
    Model model{context, file.path()};
    SphereRun run{context, model, {.name = ""}};
};

TEST_F(SphereArrays, OfALayerBetweenTwoGridsStandOnTheirDomains) {
    const std::vector<surrogate_port_info> ports = model.ports();
    ASSERT_EQ(ports.size(), 4u);
    const std::vector<std::pair<std::string, int>> expected = {{"query", SURROGATE_AT_OUTPUT},
                                                               {"key", SURROGATE_AT_INPUT},
                                                               {"value", SURROGATE_AT_INPUT},
                                                               {"y", SURROGATE_AT_OUTPUT}};
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(ports[i].name, expected[i].first);
        EXPECT_EQ(ports[i].place, expected[i].second);
        EXPECT_EQ(ports[i].kind, SURROGATE_REAL);
        EXPECT_EQ(ports[i].is_output, i == 3);
        EXPECT_EQ(ports[i].n_channel, 4);
    }
    EXPECT_EQ(model.input_domain().kind, SURROGATE_SPHERE);
    EXPECT_EQ(model.output_domain().n_lat, 6);
    EXPECT_EQ(model.input_domain().n_lon, 24);
}

TEST_F(SphereArrays, OfWrongShapeAreRefused) {
    run.fill(wave_inputs(model));
    auto in = run.arrays(false), out = run.arrays(true);
    EXPECT_EQ(run_with(in, out).status, SURROGATE_SUCCESS);

    auto bad = in;
    bad[0].array.shape[0] = 12 * 24;  // the query lives on the coarse grid
    const Answer wrong_points = run_with(bad, out);
    EXPECT_EQ(wrong_points.status, SURROGATE_SHAPE);
    EXPECT_TRUE(wrong_points.says("query") && wrong_points.says("72") && wrong_points.says("288"))
        << wrong_points;

    bad = in;
    bad[1].array.shape[1] = 3;
    const Answer wrong_channels = run_with(bad, out);
    EXPECT_EQ(wrong_channels.status, SURROGATE_SHAPE);
    EXPECT_TRUE(wrong_channels.says("key")) << wrong_channels;

    bad = {in[0], in[1]};
    const Answer missing = run_with(bad, out);
    EXPECT_EQ(missing.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(missing.says("value")) << missing;

    bad = in;
    bad[2].array.data = nullptr;
    EXPECT_EQ(run_with(bad, out).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(run_with(in, out).status, SURROGATE_SUCCESS);
}

TEST(SphereLife, EndsInAnyOrder) {
    const ModelOnDisk file(small_transformer(), 3, 3);
    const Options one_thread{{"threads", "1"}};
    for (int first = 0; first < 24; ++first) {
        surrogate_context* context = nullptr;
        surrogate_model* model = nullptr;
        surrogate_domain* domain = nullptr;
        surrogate_plan* plan = nullptr;
        check(surrogate_context_create(one_thread.get(), &context));
        check(surrogate_model_load(context, file.path().c_str(), &model));
        surrogate_sphere sphere{};
        sphere.grid = "equiangular";
        sphere.n_lat = sphere.n_lat_local = 12;
        sphere.n_lon = sphere.n_lon_local = 24;
        check(surrogate_domain_create_sphere(context, &sphere, &domain));
        check(surrogate_plan_create(model, domain, nullptr, nullptr, &plan));
        std::vector<float> x = wave(3 * 12 * 24, 0.6), y(x.size());
        const surrogate_named_array in{"x", matrix(x.data(), 288, 3)},
            out{"y", matrix(y.data(), 288, 3)};
        // All orders of four: the plan runs as long as it lives.
        std::vector<int> left = {0, 1, 2, 3};
        for (int i = 4, code = first; i > 0; code /= i, --i) {
            const auto at = left.begin() + code % i;
            if (*at == 0) surrogate_context_destroy(&context);
            if (*at == 1) surrogate_model_destroy(&model);
            if (*at == 2) surrogate_domain_destroy(&domain);
            if (*at == 3) surrogate_plan_destroy(&plan);
            left.erase(at);
            if (plan) {
                EXPECT_EQ(surrogate_plan_run_network(plan, 1, &in, 1, &out), SURROGATE_SUCCESS);
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::test
