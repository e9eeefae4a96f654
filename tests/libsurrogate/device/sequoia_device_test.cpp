// SPDX-License-Identifier: Apache-2.0
// Sequoia with backend cuda on one rank: every variant against the host in double, stored cases in
// every precision. On an emulated device, and on a real one where there is one.
#include <cmath>

#include "tests/support/answer.hpp"
#include "tests/support/device_accuracy.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

class SequoiaDevice : public OnDevice {
protected:
    std::vector<double> on_device(const Model& model, const SequoiaCase& points,
                                  const std::string& precision = "fp32") {
        return run(*context, model, points, {{"backend", "cuda"}, {"precision", precision}});
    }
    std::vector<double> in_double(const Model& model, const SequoiaCase& points) {
        return run(*context, model, points, {{"precision", "fp64"}});
    }
};
INSTANTIATE_TEST_SUITE_P(On, SequoiaDevice, testing::Values(emulated_kind, real_kind),
                         name_of_device);

json network_of(const json& network) {
    return {{"format", 1}, {"family", "sequoia"}, {"network", network}};
}

/// Networks whose differences a tree's kernels must tell apart.
const std::vector<std::pair<std::string, json>>& variants() {
    static const std::vector<std::pair<std::string, json>> list = {
        {"default", json::object()},
        {"binary", {{"k", 2}}},
        {"odd groups", {{"k", 5}, {"head_dim", 24}}},
        {"one group a tile", {{"k", 16}, {"transformer_dim", 40}}},
        {"ungrouped rest", {{"k", 9}, {"num_head", 3}, {"head_dim", 8}}},
        {"parent only", {{"ancestors", "parent"}}},
        {"no ancestors", {{"ancestors", "none"}}},
        {"no siblings", {{"drop", {"siblings"}}}},
        {"no children", {{"drop", {"children"}}}},
        {"top-down", {{"seq_mode", "top-down"}}},
        {"complete", {{"seq_mode", "complete"}}},
        {"interleaved", {{"seq_mode", "interleaved"}, {"k", 4}}},
        {"repeated last", {{"ragged", "repeat"}}},
        {"tied", {{"tied_weights", true}}},
        {"linear features", {{"pos_enc", "linear"}}},
        {"given features", {{"pos_enc", "none"}}},
        {"outputs", {{"num_classes", 3}}},
        {"sequence",
         {{"tree", "sequence"},
          {"virtual_pos_encodings", "sin"},
          {"level_marker", "zero"},
          {"ragged", "repeat"}}},
    };
    return list;
}

SequoiaCase points_for(const json& network, int64_t n) {
    SequoiaCase points = SequoiaCase::wave(n);
    if (network.value("pos_enc", "fourier") == "none")
        points.features = SequoiaCase::wave(n, network.at("c_in").get<int64_t>()).positions;
    return points;
}

TEST_P(SequoiaDevice, EveryVariantIsThatOfTheHost) {
    for (const auto& [name, changes] : variants()) {
        const json network = small_sequoia(changes);
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(*context, disk.path());
        for (const int64_t n : {1, 2, 17, 83}) {
            const SequoiaCase points = points_for(network, n);
            const std::vector<double> exact = in_double(model, points);
            const double host = relative_l2(run(*context, model, points), exact);
            EXPECT_LE(relative_l2(on_device(model, points), exact), bound_of_fp32(host))
                << name << ", " << n << " points";
        }
    }
}

TEST_P(SequoiaDevice, NoPointsAreNoWork) {
    const ModelOnDisk disk(sequoia_model(small_sequoia()));
    const Model model(*context, disk.path());
    EXPECT_TRUE(on_device(model, SequoiaCase::wave(0)).empty());
}

TEST_P(SequoiaDevice, StoredCasesAreAsCloseAsPyTorch) {
    for (const char* name : {"points_2d_k16", "points_features_grad", "points_n1",
                             "points_parent_complete_repeat", "points_small_grad"}) {
        const std::string path =
            SURROGATE_TEST_DATA "/sequoia/" + std::string(name) + ".safetensors";
        const GoldenFile file(path);
        const Model model(*context, path);
        const std::vector<double> truth = file.tensor("check/output64/y").values;
        const double official = relative_l2(file.tensor("check/output/y").values, truth);
        EXPECT_LE(relative_l2(on_device(model, SequoiaCase(file)), truth), bound_of_fp32(official))
            << name;
    }
}

// ---- narrow operands ----

// Every product rounds two operands, and probabilities and values are rounded again: about four
// independent errors of the size that rounding the weights alone makes, which is computed here. They
// add up to twice that size, and seldom to four times.
TEST_P(SequoiaDevice, NarrowOperandsCostWhatRoundingCosts) {
    for (const json& changes : {json{{"k", 4}}, json{{"k", 16}, {"head_dim", 32}}}) {
        const json network = small_sequoia(changes);
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(*context, disk.path());
        const SequoiaCase points = SequoiaCase::wave(120);
        const std::vector<double> exact = in_double(model, points);
        for (const auto& [precision, n_bit] :
             {std::pair("tf32", 10), std::pair("fp16", 10), std::pair("bf16", 7)}) {
            const ModelOnDisk narrow(rounded(sphere_model(network_of(network)), n_bit).bytes());
            const double cost =
                relative_l2(in_double(Model(*context, narrow.path()), points), exact);
            const double error = relative_l2(on_device(model, points, precision), exact);
            EXPECT_LE(error, 4 * cost) << precision << " " << changes;
            EXPECT_GE(error, cost / 8) << precision << " " << changes;  // really used
        }
    }
}

// ---- bits, faults, refusals ----

TEST_P(SequoiaDevice, BitsDoNotDependOnTheOrderOfPoints) {
    const ModelOnDisk disk(sequoia_model(small_sequoia({{"k", 4}})));
    const Model model(*context, disk.path());
    const SequoiaCase points = SequoiaCase::wave(70);
    std::vector<int64_t> rows = points.all();
    std::reverse(rows.begin(), rows.end());
    const std::vector<double> ordered = on_device(model, points);
    std::vector<double> reversed = on_device(model, points.rows(rows));
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(ordered, reversed);
}

TEST_P(SequoiaDevice, ArraysOnTheDeviceAreReadWhereTheyLieAndBadOnesNamed) {
    const json network = small_sequoia({{"pos_enc", "none"}});
    const ModelOnDisk disk(sequoia_model(network));
    const Model model(*context, disk.path());
    const SequoiaCase points = points_for(network, 37);
    const std::vector<double> expected = on_device(model, points);
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, {{"backend", "cuda"}});
    DeviceArray<double> features(*device, points.features);
    const DeviceArray<double> y(*device, std::vector<double>(37, -1));
    const auto run_there = [&] {
        const surrogate_named_array in{"features", features.matrix(37, 16)};
        const surrogate_named_array out{"y", y.matrix(37, 1)};
        return answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    };
    EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
    EXPECT_LE(relative_l2(y.get(), expected), 1e-7);  // float's rounding of what is a double there
    std::vector<double> bad = points.features;
    bad[16 * 11 + 5] = NAN;
    features.put(bad);
    const Answer found = run_there();
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
    EXPECT_TRUE(found.says("point with id 11")) << found;
    for (const double value : y.get()) EXPECT_TRUE(std::isnan(value));
    features.put(points.features);
    EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
    EXPECT_LE(relative_l2(y.get(), expected), 1e-7);
}

TEST_P(SequoiaDevice, SizesThatAreNotTakenAreNamedWithTheLimit) {
    const std::vector<std::tuple<json, const char*, const char*>> refused = {
        {small_sequoia({{"k", 17}}), "k up to 16", "17"},
        {small_sequoia({{"head_dim", 136}}), "head_dim up to 128", "136"},
        {small_sequoia({{"probe_layer", "root"}}), "read-outs of other nodes than leaves", "simd"},
        {small_sequoia({{"pooling_mode", "MEAN"}}), "read-outs of other nodes than leaves", "simd"},
        {small_sequence(), "pos_enc 'tokens'", "simd"},
    };
    for (const auto& [network, limit, value] : refused) {
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(*context, disk.path());
        const Domain domain = SequoiaCase::wave(20).domain(*context);
        surrogate_plan* plan = nullptr;
        const Options options{{"backend", "cuda"}};
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says(limit) && found.says(value)) << found;
        surrogate_plan_destroy(&plan);
    }
}

}  // namespace
}  // namespace surrogate::test
