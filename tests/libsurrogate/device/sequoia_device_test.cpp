// SPDX-License-Identifier: Apache-2.0
// Sequoia with backend cuda on one rank: every variant against the host in double, stored cases in
// every precision. On an emulated device, and on a real one where there is one.
#include "tests/support/tree_device.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

class SequoiaDevice : public TreeDevice {};
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
        {"root", {{"probe_layer", "root"}, {"num_classes", 3}}},
        {"mean of leaves", {{"pooling_mode", "MEAN"}, {"num_classes", 3}}},
        // Returns the error of one row: a single number may be near zero, which has no relative
        // accuracy.
        {"mean of virtual nodes",
         {{"probe_layer", "virtual"}, {"pooling_mode", "MEAN"}, {"num_classes", 3}}},
        {"mean of all nodes", {{"probe_layer", "all"}, {"pooling_mode", "MEAN"}, {"k", 16}}},
        {"virtual nodes", {{"probe_layer", "virtual"}, {"k", 5}, {"num_classes", 3}}},
        {"all nodes", {{"probe_layer", "all"}, {"num_classes", 2}}},
        {"sequence",
         {{"tree", "sequence"},
          {"virtual_pos_encodings", "sin"},
          {"level_marker", "zero"},
          {"ragged", "repeat"}}},
    };
    return list;
}

TEST_P(SequoiaDevice, EveryVariantIsThatOfTheHost) {
    for (const auto& [name, changes] : variants()) {
        const json network = small_sequoia(changes);
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(*context, disk.path());
        for (const int64_t n : {1, 2, 17, 83}) {
            // One leaf has no virtual node: see NothingToReadHasNoMean.
            if (n == 1 && network.value("probe_layer", "") == "virtual") continue;
            const SequoiaCase points = wave_for(network, n);
            const std::vector<double> exact = in_double(model, points);
            const double host = relative_l2(run(*context, model, points), exact);
            EXPECT_LE(relative_l2(on_device(model, points), exact), bound_of_fp32(host))
                << name << ", " << n << " points";
        }
    }
}

TEST_P(SequoiaDevice, NoPointsAreNoWork) {
    expect_no_work_without_points(sequoia_model(small_sequoia()));
}

TEST_P(SequoiaDevice, StoredCasesAreAsCloseAsPyTorch) {
    expect_close_as_pytorch("sequoia", {"points_2d_k16", "points_features_grad", "points_n1",
                                        "points_parent_complete_repeat", "points_small_grad",
                                        "points_class_root_tied"});
}

TEST_P(SequoiaDevice, NarrowOperandsCostWhatRoundingCosts) {
    for (const json& changes :
         {json{{"k", 4}}, json{{"k", 16}, {"head_dim", 32}},
          json{{"pooling_mode", "MEAN"}, {"num_classes", 9}},
          json{{"probe_layer", "root"}, {"num_classes", 9}}, json{{"probe_layer", "virtual"}}}) {
        SCOPED_TRACE(changes.dump());
        expect_cost_of_rounding(sphere_model(network_of(small_sequoia(changes))), 120);
    }
}

TEST_P(SequoiaDevice, BitsDoNotDependOnTheOrderOfPoints) {
    expect_bits_of_any_order(sequoia_model(small_sequoia({{"k", 4}})));
}

TEST_P(SequoiaDevice, ArraysOnTheDeviceAreReadWhereTheyLieAndBadOnesNamed) {
    const json network = small_sequoia({{"pos_enc", "none"}});
    expect_device_arrays(sequoia_model(network), wave_for(network, 37));
}

/// Rows of clouds and nodes on the device: written where they lie, NaN after bad inputs.
TEST_P(SequoiaDevice, RowsThatAreNotPointsMayLieOnTheDevice) {
    for (const json& changes : {json{{"pooling_mode", "MEAN"}}, json{{"probe_layer", "root"}},
                                json{{"probe_layer", "all"}}}) {
        SCOPED_TRACE(changes.dump());
        json network = small_sequoia({{"pos_enc", "none"}, {"c_in", 3}, {"num_classes", 2}});
        network.update(changes);
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(*context, disk.path());
        const SequoiaCase points = wave_for(network, 37);
        const std::vector<double> expected = on_device(model, points);
        const Domain domain = points.domain(*context);
        Plan plan(model, domain, {{"backend", "cuda"}});
        DeviceArray<double> features(*device, points.features);
        const DeviceArray<double> y(*device, std::vector<double>(expected.size(), -1));
        const auto run_there = [&] {
            const surrogate_named_array in{"features", features.matrix(points.n, 3)};
            const surrogate_named_array out{"y", y.matrix(std::ssize(expected) / 2, 2)};
            return answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        };
        EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
        EXPECT_LE(relative_l2(y.get(), expected), 1e-7);  // rounded to float on the host's way
        std::vector<double> bad = points.features;
        bad[3 * 11 + 2] = INFINITY;
        features.put(bad);
        const Answer found = run_there();
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        EXPECT_TRUE(found.says("point with id 11")) << found;
        for (const double value : y.get()) EXPECT_TRUE(std::isnan(value));
        features.put(points.features);
        EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
        EXPECT_LE(relative_l2(y.get(), expected), 1e-7);
    }
}

/// The host's answer for a cloud without nodes to read.
TEST_P(SequoiaDevice, NothingToReadHasNoMean) {
    for (const json& changes : {json{{"pooling_mode", "MEAN"}}, json{{"probe_layer", "root"}},
                                json{{"pooling_mode", "MEAN"}, {"probe_layer", "virtual"}}}) {
        const ModelOnDisk disk(sequoia_model(small_sequoia(changes)));
        const Model model(*context, disk.path());
        const Domain domain = SequoiaCase::wave(changes.size() > 1 ? 1 : 0).domain(*context);
        for (const char* backend : {"simd", "cuda"}) {
            Plan plan(model, domain, {{"backend", backend}});
            double value = 0;
            const surrogate_named_array out{"y", matrix(&value, 1, 1)};
            const Answer found =
                answer(surrogate_plan_run_network(plan.get(), 0, nullptr, 1, &out));
            EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << backend << ": " << found;
            EXPECT_TRUE(std::isnan(value)) << backend;
        }
    }
}

TEST_P(SequoiaDevice, SizesThatAreNotTakenAreNamedWithTheLimit) {
    expect_refused({
        {sequoia_model(small_sequoia({{"k", 17}})), "k up to 16", "17"},
        {sequoia_model(small_sequoia({{"head_dim", 136}})), "head_dim up to 128", "136"},
        {sequoia_model(small_sequence()), "pos_enc 'tokens'", "simd"},
    });
}

}  // namespace
}  // namespace surrogate::test
