// SPDX-License-Identifier: Apache-2.0
// The spherical Transformer and SegFormer with backend cuda on several ranks, each with an emulated
// device: the bits of one rank under every partition, staged and over a NCCL that is pretended;
// one rank at fault.
#include <cmath>

#include "tests/support/answer.hpp"
#include "tests/support/device_accuracy.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/plan_traffic.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;
using Inputs = std::vector<std::vector<float>>;

/// Layouts of the solver: bands, blocks that become bands, bands of other sizes, ranks that begin
/// in the south.
const std::vector<SphereLayout>& layouts() {
    static const std::vector<SphereLayout> list = {
        {.name = "bands"},
        {.name = "blocks", .partition = "scattered", .shift = 5},
        {.name = "uneven", .partition = "uneven"},
        {.name = "from the south", .south_first = true},
    };
    return list;
}

/// Returns the results of one rank, (n_channel, n_lat, n_lon).
std::vector<double> alone(const std::string& path, const Inputs& inputs, const Options& options) {
    const Context context = device_context(emulated_kind, impl::self_communicator());
    const Model model(context, path);
    SphereRun run(context, model, {}, options);
    run.fill(inputs);
    check(run.run_network());
    const std::vector<double> points = run.result().points();
    const auto n = static_cast<size_t>(run.out_block.n_model_point());
    const size_t n_channel = points.size() / n;
    std::vector<double> whole(points.size());
    for (size_t i = 0; i < points.size(); ++i) whole[i % n_channel * n + i / n_channel] = points[i];
    return whole;
}

void expect_bits_of_one_rank(const Context& context, const json& network,
                             const std::string& precision = "fp32") {
    const ModelOnDisk disk(network);
    const Model model(context, disk.path());
    const Inputs inputs = wave_inputs(model);
    const std::vector<double> expected = alone(disk.path(), inputs, by_cuda(precision));
    for (const SphereLayout& layout : layouts()) {
        SphereRun run(context, model, layout, by_cuda(precision));
        for (int repeat = 0; repeat < 2; ++repeat) {
            run.fill(inputs);
            check(run.run_network());
            EXPECT_EQ(run.result().points(), run.result().points_of(expected))
                << layout.name << " " << precision << " " << network;
        }
    }
}

/// One network for each kind of exchange between rows.
const std::vector<json>& networks() {
    const json transformer = small_transformer(), segformer = small_segformer();
    static const std::vector<json> list = {
        transformer,
        changed(transformer, {{"normalization_layer", "layer_norm"}, {"bias", true}}),
        changed(transformer, {{"normalization_layer", "none"}, {"theta_cutoff", 1.2}}),
        changed(transformer, {{"attention_mode", "global"}, {"num_heads", 1}}),
        changed(transformer, {{"grid", "legendre-gauss"}, {"img_size", {17, 64}}}),
        changed(transformer, {{"img_size", {13, 27}}, {"scale_factor", 3}}),
        changed(transformer, {{"residual_prediction", false}, {"out_chans", 5}}),
        changed(transformer, {{"pos_embed", "learnable latlon"}, {"num_layers", 0}}),
        changed(transformer, {{"img_size", {4, 8}}, {"pos_embed", "sequence"}}),
        segformer,
        changed(segformer, {{"upsampling_method", "conv"}, {"img_size", {8, 40}}}),
        changed(segformer, {{"attention_mode", "global"}, {"grid_internal", "lobatto"}}),
        changed(segformer, {{"embed_dims", {6}}, {"heads", {1}}, {"depths", {0}}}),
    };
    return list;
}

TEST(SphereRanks, BitsAreThoseOfOneRank) {
    const Context context = ranks_context(false);
    for (const json& network : networks()) expect_bits_of_one_rank(context, network);
}

TEST(SphereRanks, NarrowOperandsTravelAsTheyAre) {
    const Context context = ranks_context(false);
    for (const char* precision : {"fp16", "bf16", "tf32"}) {
        for (const json& network : {small_transformer(), small_segformer()})
            expect_bits_of_one_rank(context, network, precision);
    }
}

TEST(SphereRanks, GraphsHoldTheExchanges) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank exchanges nothing";
    FakeNccl nccl;
    pretended = &nccl;
    {
        const Context context = ranks_context(false, pretended_nccl);
        for (const json& network :
             {small_transformer(), changed(small_transformer(), {{"attention_mode", "global"}}),
              small_segformer()})
            expect_bits_of_one_rank(context, network);
    }
    EXPECT_EQ(nccl.misuse(), "");
}

TEST(SphereRanks, StoredCasesAreAsCloseAsPyTorch) {
    const Context context = ranks_context(false);
    for (const char* name : {"transformer_neighborhood_24x48", "transformer_global_24x48",
                             "transformer_heads_bias_33x64", "segformer_global_48x96"}) {
        const std::string path =
            SURROGATE_TEST_DATA "/sphere/" + std::string(name) + ".safetensors";
        const GoldenFile file(path);
        const Model model(context, path);
        const std::vector<double> x = file.tensor("check/input/x").part(0);
        const std::vector<double> truth = file.tensor("check/output64/y").part(0);
        const std::vector<double> official = file.tensor("check/output/y").part(0);
        SphereRun run(context, model, {}, by_cuda());
        run.fill({std::vector<float>(x.begin(), x.end())});
        check(run.run_network());
        const std::vector<double> own = run.result().points_of(truth);
        const double scale = largest(truth);
        EXPECT_LE(largest_difference(run.result().points(), own, scale),
                  4 * largest_difference(official, truth, scale))
            << name;
    }
}

TEST(SphereRanks, TheTableSaysWhatWasSent) {
    for (const bool by_nccl : {false, true}) {
        if (by_nccl && size_of(world) == 1) continue;
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        for (const json& network :
             {small_transformer(), changed(small_transformer(), {{"attention_mode", "global"}}),
              small_segformer()}) {
            const ModelOnDisk disk(network);
            const Model model(context, disk.path());
            for (const SphereLayout& layout : layouts()) {
                SphereRun run(context, model, layout, by_cuda());
                const Traffic planned = traffic_of_table(run.plan);
                for (int repeat = 0; repeat < 2; ++repeat) {
                    run.fill(wave_inputs(model));
                    check(run.run_network());
                    EXPECT_EQ(traffic_of_run(run.plan), planned) << by_nccl << " " << layout.name;
                }
            }
        }
    }
}

TEST(SphereRanks, InputAndOutputThatAreDividedDifferentlyAreRefusedByAll) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank has all points";
    const Context context = ranks_context(false);
    const ModelOnDisk disk(small_transformer());
    const Model model(context, disk.path());
    const SphereLayout bands, blocks{.name = "", .partition = "uneven"};
    const SphereBlock in(model.input_domain(), bands, context.rank(), context.size());
    const SphereBlock out(model.output_domain(), blocks, context.rank(), context.size());
    const Domain input(context, in.sphere()), output(context, out.sphere());
    surrogate_plan* plan = nullptr;
    const Options options = by_cuda();
    const Answer found =
        answer(surrogate_plan_create(model.get(), input.get(), output.get(), options.get(), &plan));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    EXPECT_TRUE(found.says("distributed differently") && found.says("simd")) << found;
    surrogate_plan_destroy(&plan);
}

// Global attention and sums over the grid reach everybody. With neighborhoods alone, ranks far away
// may know nothing of it.
TEST(SphereRanks, BadInputOfOneRankIsSeenByThoseThatDependOnItAndLeavesNoTrace) {
    const json plain = changed(small_transformer(), {{"normalization_layer", "none"}});
    for (const bool by_nccl : {false, true}) {
        if (by_nccl && size_of(world) == 1) continue;
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        for (const auto& [network, reaches_all] :
             {std::pair(small_transformer(), true),
              std::pair(changed(plain, {{"attention_mode", "global"}}), true),
              std::pair(plain, false), std::pair(small_segformer(), false)}) {
            const ModelOnDisk disk(network);
            const Model model(context, disk.path());
            const Inputs inputs = wave_inputs(model);
            for (const SphereLayout& layout : layouts()) {
                SphereRun run(context, model, layout, by_cuda());
                run.fill(inputs);
                check(run.run_network());
                const std::vector<double> expected = run.result().points();
                const bool is_culprit = rank_of(world) == size_of(world) / 2;
                if (is_culprit && run.in_block.n_point() > 0) run.fields.front().values()[0] = NAN;
                const Answer found = answer(run.run_network());
                const std::vector<double> y = run.result().points();
                bool has_nan = false;
                for (const double value : y) has_nan = has_nan || std::isnan(value);
                if (!y.empty()) {
                    EXPECT_TRUE(has_nan || !(is_culprit || reaches_all)) << layout.name << network;
                    EXPECT_EQ(found.status == SURROGATE_NOT_FINITE, has_nan)
                        << found << " " << layout.name << " " << network;
                    EXPECT_TRUE(has_nan || y == expected) << layout.name << network;
                }
                run.fill(inputs);
                check(run.run_network());
                EXPECT_EQ(run.result().points(), expected) << layout.name << network;
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::test
