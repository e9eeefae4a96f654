// SPDX-License-Identifier: Apache-2.0
// HEPT with backend cuda on one rank (on several: hept_device_mpi_test.cpp): variants against the
// host in double, stored cases in every precision, faults and errors. On an emulated device, and
// on a real one if there is one.
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/device/operand_writer.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/device_accuracy.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/golden_weights.hpp"
#include "tests/support/hept_case.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// A file of a stored network, its weights shifted along a wave, its matrices rounded to n_bit bits
/// of fraction.
std::string stored_model(const GoldenFile& file, float shift = 0, int n_bit = 23) {
    ModelWriter writer;
    writer.card = file.card();
    const auto config = impl::hept::parse_config(writer.card.at("network"));
    const auto layout = impl::hept::layout(config);
    const auto weights = golden_weights(file, layout, shift);
    for (const impl::MasterWeights::Entry& entry : weights->entries()) {
        const auto stored = weights->values().subspan(static_cast<size_t>(entry.first),
                                                      static_cast<size_t>(entry.size));
        std::vector<float> values(stored.begin(), stored.end());
        const bool is_matrix = entry.shape.size() == 2 && !entry.name.ends_with("w_rpe.weight");
        if (is_matrix && n_bit < 23)
            for (float& value : values) value = kernels::round_to(value, n_bit);
        writer.tensors.push_back(float_tensor(entry.name, entry.shape, values));
    }
    return writer.bytes();
}

class HeptDevice : public OnDevice {
protected:
    std::vector<double> run_with(const Model& model, const Hits& hits,
                                 const Options& options) const {
        return run(*context, model, hits, options);
    }
    std::vector<double> on_device(const Model& model, const Hits& hits,
                                  const std::string& precision = "fp32") const {
        return run_with(model, hits, {{"backend", "cuda"}, {"precision", precision}});
    }
    std::vector<double> in_single(const Model& model, const Hits& hits) const {
        return run_with(model, hits, {});
    }
    std::vector<double> in_double(const Model& model, const Hits& hits) const {
        return run_with(model, hits, {{"precision", "fp64"}});
    }
};
INSTANTIATE_TEST_SUITE_P(On, HeptDevice, testing::Values(emulated_kind, real_kind), name_of_device);

GoldenFile stored(const std::string& name) {
    return GoldenFile(SURROGATE_TEST_DATA "/hept/" + name + ".safetensors");
}

// ---- against the host, and against the authors ----

const json pileup = {{"task", "pileup"}, {"num_classes", nullptr}, {"in_dim", 3}};

/// Networks whose differences the passes must tell apart.
const std::vector<std::pair<std::string, json>>& variants() {
    static const std::vector<std::pair<std::string, json>> list = {
        {"default", json::object()},
        {"copies", {{"padding", "duplicate"}}},
        {"zeros", {{"padding", "zero"}}},
        {"embedding", {{"num_classes", nullptr}}},
        {"one table, odd heads", {{"n_hashes", 1}, {"num_heads", 5}}},
        {"odd width", {{"h_dim", 7}, {"num_w_per_dist", 3}, {"coords_dim", 3}}},
        {"published width", {{"h_dim", 24}, {"coords_dim", 6}, {"in_dim", 15}, {"n_layers", 1}}},
        {"widest", {{"h_dim", 64}, {"coords_dim", 8}, {"num_heads", 1}, {"n_layers", 1}}},
        {"blocks of one point", {{"block_size", 1}}},
        {"one block", {{"block_size", 1024}}},
        {"several strips", {{"block_size", 160}, {"n_layers", 1}}},
        {"outputs", {{"num_classes", 20}}},
        {"classes of particles", pileup},
        {"classes, one feature", {{"task", "pileup"}, {"num_classes", nullptr}, {"in_dim", 2}}},
    };
    return list;
}

// Two sides of a block's end may be closer than float can tell: tokens then change blocks, and one
// cannot be compared with the other. That is so of the host too, so seeds were looked at: none of
// these does.
TEST_P(HeptDevice, EveryVariantIsThatOfTheHost) {
    for (const auto& [name, changes] : variants()) {
        const json network = small_hept(changes);
        const ModelOnDisk disk(hept_network(network).bytes());
        const Model model(*context, disk.path());
        for (const int64_t n : {1, 2, 17, 150}) {
            const Hits hits = Hits::random(network, n);
            const std::vector<double> exact = in_double(model, hits);
            const double host = relative_l2(in_single(model, hits), exact);
            EXPECT_LE(relative_l2(on_device(model, hits), exact), bound_of_fp32(host))
                << name << ", " << n << " points";
        }
    }
}

TEST_P(HeptDevice, CloudsDoNotSeeEachOther) {
    for (const char* padding : {"masked", "duplicate"}) {
        const json network = small_hept({{"padding", padding}});
        const ModelOnDisk disk(hept_network(network).bytes());
        const Model model(*context, disk.path());
        Hits hits = Hits::random(network, 90);
        for (int64_t i = 0; i < hits.n; ++i) hits.clouds.push_back(i < 3 ? 0 : i < 40 ? 2 : 3);
        const std::vector<double> exact = in_double(model, hits);
        const double host = relative_l2(in_single(model, hits), exact);
        EXPECT_LE(relative_l2(on_device(model, hits), exact), bound_of_fp32(host)) << padding;
    }
}

TEST_P(HeptDevice, NoPointsAreNoWork) {
    const ModelOnDisk disk(hept_network(small_hept()).bytes());
    const Model model(*context, disk.path());
    EXPECT_TRUE(on_device(model, Hits::random(small_hept(), 0)).empty());
}

TEST_P(HeptDevice, StoredCasesAreAsCloseAsTheHost) {
    for (const char* name :
         {"tiny", "odd_zero", "clouds_duplicate", "masked", "tracking_1500", "pileup_977"}) {
        const GoldenFile file = stored(name);
        const ModelOnDisk disk(stored_model(file));
        const Model model(*context, disk.path());
        const Hits hits(file);
        const std::vector<double> truth = file.tensor("check/output64/y").values;
        const double host = relative_l2(in_single(model, hits), truth);
        EXPECT_LE(relative_l2(on_device(model, hits), truth), bound_of_fp32(host)) << name;
    }
}

// ---- narrow operands ----

// Products round two operands: as much as rounding the weights alone costs, once more, which is
// computed here. Hashes follow, and some tokens change blocks in one way or the other; what that
// costs has the same size for both. Together twice the cost, and seldom four times. Stored weights
// have few bits already, so they are shifted.
TEST_P(HeptDevice, NarrowOperandsCostWhatRoundingCosts) {
    constexpr float shift = 1e-3F;
    for (const char* name : {"masked", "odd_zero", "clouds_duplicate"}) {
        const GoldenFile file = stored(name);
        const ModelOnDisk disk(stored_model(file, shift));
        const Model model(*context, disk.path());
        const Hits hits(file);
        const std::vector<double> exact = in_double(model, hits);
        for (const auto& [precision, n_bit] :
             {std::pair("tf32", 10), std::pair("fp16", 10), std::pair("bf16", 7)}) {
            const ModelOnDisk narrow(stored_model(file, shift, n_bit));
            const double cost = relative_l2(in_double(Model(*context, narrow.path()), hits), exact);
            const double error = relative_l2(on_device(model, hits, precision), exact);
            EXPECT_LE(error, 4 * cost) << precision << " " << name;
            EXPECT_GE(error, cost / 8) << precision << " " << name;  // really used
        }
    }
}

// ---- bits, faults, errors ----

TEST_P(HeptDevice, BitsDoNotDependOnTheOrderOfPoints) {
    const json network = small_hept({{"padding", "duplicate"}});
    const ModelOnDisk disk(hept_network(network).bytes());
    const Model model(*context, disk.path());
    const Hits hits = Hits::random(network, 75);
    Hits turned = hits;
    std::ranges::reverse(turned.ids);
    for (int64_t i = 0; i < hits.n; ++i) {
        for (int64_t c = 0; c < 2; ++c) {
            const auto to = static_cast<size_t>(2 * i + c);
            const auto from = static_cast<size_t>(2 * (hits.n - 1 - i) + c);
            turned.x[to] = hits.x[from];
            turned.features[to] = hits.features[from];
        }
    }
    std::vector<double> found = on_device(model, turned);
    std::ranges::reverse(found);
    EXPECT_EQ(found, on_device(model, hits));
}

TEST_P(HeptDevice, BadInputIsNamedAndLeavesNoTrace) {
    const json network = small_hept({{"padding", "duplicate"}});
    const ModelOnDisk disk(hept_network(network).bytes());
    const Model model(*context, disk.path());
    const Hits hits = Hits::random(network, 37);
    const Domain domain(*context, hits.points());
    Plan plan(model, domain, {{"backend", "cuda"}});
    DeviceArray<double> features(*device, hits.features);
    const DeviceArray<double> y(*device, std::vector<double>(37, -1));
    const auto run_there = [&] {
        const surrogate_named_array in{"x", features.matrix(37, 2)};
        const surrogate_named_array out{"y", y.matrix(37, 1)};
        return answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    };
    EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
    const std::vector<double> expected = y.get();
    for (const double value : {double{NAN}, double{INFINITY}}) {
        std::vector<double> bad = hits.features;
        bad[2 * 11 + 1] = value;
        features.put(bad);
        const Answer found = run_there();
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        EXPECT_TRUE(found.says("point with id 11")) << found;
        for (const double number : y.get()) EXPECT_TRUE(std::isnan(number));
        features.put(hits.features);
        EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
        EXPECT_EQ(y.get(), expected);
    }
}

TEST_P(HeptDevice, ClassesThatDoNotExistAreNamed) {
    const json network = small_hept(pileup);
    const ModelOnDisk disk(hept_network(network).bytes());
    const Model model(*context, disk.path());
    const Hits hits = Hits::random(network, 37);
    const Domain domain(*context, hits.points());
    Plan plan(model, domain, {{"backend", "cuda"}});
    const std::vector<double> expected = run(plan, hits, 1);
    for (const double value : {-1.0, 7.0, 2.5}) {
        Hits bad = hits;
        bad.features[3 * 11 + 2] = value;
        std::vector<double> y(37, -1);
        const surrogate_named_array in{"x", matrix(bad.features.data(), 37, 3)};
        const surrogate_named_array out{"y", matrix(y.data(), 37, 1)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
        EXPECT_TRUE(found.says("point with id 11") && found.says("channel 2") &&
                    found.says("a whole number from 0 to 6"))
            << found;
        for (const double number : y) EXPECT_TRUE(std::isnan(number));
        EXPECT_EQ(run(plan, hits, 1), expected);
    }
}

// Finite inputs whose augmented queries are too large to be squared.
TEST_P(HeptDevice, NumbersThatOverflowAreReportedAndForgotten) {
    const ModelOnDisk disk(hept_network(small_hept()).bytes());
    const Model model(*context, disk.path());
    Hits hits = Hits::random(small_hept(), 37);
    const std::vector<double> expected = on_device(model, hits);
    Domain domain(*context, hits.points());
    Plan plan(model, domain, {{"backend", "cuda"}});
    Hits far = hits;
    far.x[2 * 5] = 1e20;
    domain.update_points(far.points());
    EXPECT_THROW(run(plan, far, 1), Error);
    domain.update_points(hits.points());
    EXPECT_EQ(run(plan, hits, 1), expected);
}

TEST_P(HeptDevice, PointsMayMove) {
    const json network = small_hept({{"padding", "duplicate"}});
    const ModelOnDisk disk(hept_network(network).bytes());
    const Model model(*context, disk.path());
    Hits hits = Hits::random(network, 60);
    Domain domain(*context, hits.points());
    Plan plan(model, domain, {{"backend", "cuda"}});
    for (const int64_t n : {60, 13, 90}) {
        hits = Hits::random(network, n);
        for (double& x : hits.x) x *= -0.5;
        domain.update_points(hits.points());
        EXPECT_EQ(run(plan, hits, 1), on_device(model, hits)) << n;
    }
}

TEST_P(HeptDevice, NothingIsAllocatedInARun) {
    if (GetParam().plugin != emulated_kind.plugin) GTEST_SKIP() << "only the emulation counts";
    const ModelOnDisk disk(hept_network(small_hept()).bytes());
    const Model model(*context, disk.path());
    const Hits hits = Hits::random(small_hept(), 50);
    const Domain domain(*context, hits.points());
    Plan plan(model, domain, {{"backend", "cuda"}});
    run(plan, hits, 1);
    const int64_t before = emulated_device().counts().n_allocation;
    for (int i = 0; i < 3; ++i) run(plan, hits, 1);
    EXPECT_EQ(emulated_device().counts().n_allocation, before);
}

TEST_P(HeptDevice, TheTableSaysThatNothingIsSent) {
    const ModelOnDisk disk(hept_network(small_hept()).bytes());
    const Model model(*context, disk.path());
    const Hits hits = Hits::random(small_hept(), 50);
    const Domain domain(*context, hits.points());
    Plan plan(model, domain, {{"backend", "cuda"}});
    run(plan, hits, 1);
    const std::string table = plan.describe();
    for (const char* part : {"encoder", "layer 1", "output MLP", "blocks of 8", "cells:"})
        EXPECT_NE(table.find(part), std::string::npos) << table;
    EXPECT_EQ(table.find("owner ranks"), std::string::npos) << table;
    EXPECT_EQ(plan.counter("collectives"), 0);
    EXPECT_EQ(plan.counter("bytes_sent"), 0);
}

TEST_P(HeptDevice, WhatIsNotTakenIsNamedWithTheLimit) {
    const std::vector<std::tuple<json, const char*, const char*>> refused = {
        {small_hept({{"h_dim", 65}}), "h_dim up to 64", "65"},
    };
    for (const auto& [network, limit, value] : refused) {
        const ModelOnDisk disk(hept_network(network).bytes());
        const Model model(*context, disk.path());
        const Hits hits = Hits::random(network, 20);
        const Domain domain(*context, hits.points());
        const Answer found = refusal_on_device(model, domain);
        EXPECT_TRUE(found.says(limit) && found.says(value)) << found;
    }
}

}  // namespace
}  // namespace surrogate::test
