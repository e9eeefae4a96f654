// SPDX-License-Identifier: Apache-2.0
// FLARE's device passes, compiled for the host, against the reference in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "kernels/base/error.hpp"
#include "kernels/flare/flare_tiling.hpp"
#include "tests/kernels/flare/device_block.hpp"

namespace surrogate::tests {
namespace {

using kernels::Operand;

const DeviceMemory host{
    [](int64_t n) { return std::aligned_alloc(256, (n + 255) / 256 * 256); },
    [](void* p) { std::free(p); },
    [](void* to, const void* from, int64_t n) { std::memcpy(to, from, static_cast<size_t>(n)); },
    [] {}};

BlockResult run(const BlockCase& c, Operand operand, bool poisoned = false) {
    return device_block(c, BlockWeights(c), block_inputs(c), operand,
                        kernels::flare::cuda::kernels(), host, poisoned);
}

struct Row {
    const char* name;  // why the row is there
    BlockCase c;
};

void PrintTo(const Row& row, std::ostream* out) {
    *out << row.name;
}

class FlareDevice : public testing::TestWithParam<std::tuple<Row, Operand>> {};

/// fp32 is held to three pieces of 2^-21, that is to 20 bits a piece, the others to their own
/// operands: at most twice the error of a plain version with operands so rounded. 1e-6 is the share
/// of float statistics and fast functions.
TEST_P(FlareDevice, EqualsReferenceAsFarAsOperandsAllow) {
    const auto& [row, operand] = GetParam();
    const BlockWeights weights(row.c);
    const auto inputs = block_inputs(row.c);
    const auto truth = reference_block(row.c, weights, inputs);
    const double plain =
        relative_l2(reference_block(row.c, weights, inputs, fraction_bits(operand)), truth);
    const BlockResult result = run(row.c, operand);
    EXPECT_LE(relative_l2(result.outputs, truth), 2 * plain + 1e-6)
        << "a plain version errs by " << plain;
    EXPECT_EQ(result.findings.not_finite, 0);
    EXPECT_EQ(result.findings.bad_input, kernels::DeviceFindings::no_place);
    EXPECT_EQ(result.findings.bad_output, kernels::DeviceFindings::no_place);
}

using enum kernels::Activation;
const Row rows[] = {
    {"Smallest", {}},
    {"OnePoint", {.n_point = 1}},
    {"HeadsOfEight", {.n_head = 8, .n_latent = 20, .n_dim = 8, .n_point = 37, .n_inner_kv = 3}},
    {"OtherWidthsNormsActivation",
     {.n_head = 3,
      .n_latent = 16,
      .n_dim = 8,
      .n_point = 57,
      .n_hidden = 36,
      .in_dim = 3,
      .rms = true,
      .qk_norm = true,
      .activation = silu}},
    {"PaddedChannels", {.n_head = 5, .n_latent = 24, .n_dim = 8, .n_point = 131, .out_dim = 2}},
    {"MoreLatentsThanAChunk",
     {.n_head = 2,
      .n_latent = 150,
      .n_dim = 16,
      .n_point = 300,
      .qk_norm = true,
      .query_scale = 8}},
    {"HeadsOf64",
     {.n_head = 1,
      .n_latent = 17,
      .n_dim = 64,
      .n_point = 20,
      .n_inner_kv = -1,
      .n_inner_ffn = -1}},
    {"HeadsOf32", {.n_head = 2, .n_latent = 17, .n_dim = 32, .n_point = 31, .qk_norm = true}},
    {"Width128", {.n_head = 8, .n_latent = 5, .n_dim = 16, .n_point = 150, .n_hidden = 100}},
    {"HeadsOfThree",
     {.n_head = 3, .n_latent = 5, .n_dim = 3, .n_point = 20, .n_hidden = 12, .qk_norm = true}},
    {"LatentsInTwoPassesAndWeightsInSlices",
     {.n_head = 8, .n_latent = 40, .n_dim = 8, .n_point = 33, .shared_bytes = 140 * 1024}},
    {"OtherVariantOfTheTiling",
     {.n_head = 8, .n_latent = 20, .n_dim = 8, .n_point = 300, .variant = 1}},
    {"BlocksOfHalfTheWarps", {.n_head = 8, .n_latent = 20, .n_dim = 8, .n_point = 250}},
    {"SeveralTurns", {.n_point = 700, .n_multiprocessor = 1}},  // of one block: shared memory again
    {"PointsFarFromTheLatents",
     {.n_head = 2, .n_latent = 9, .n_dim = 8, .n_point = 40, .query_scale = 60}},
};

INSTANTIATE_TEST_SUITE_P(Emulated, FlareDevice,
                         testing::Combine(testing::ValuesIn(rows),
                                          testing::Values(Operand::fp32, Operand::tf32,
                                                          Operand::fp16, Operand::bf16)),
                         [](const auto& p) {
                             return std::string(std::get<0>(p.param).name) + "_" +
                                    name(std::get<1>(p.param));
                         });

TEST(FlareDeviceLaws, ChunksGiveTheSamePartialsWhereverTheyStand) {
    BlockCase c{.n_head = 2, .n_latent = 5, .n_dim = 8, .n_point = 1024 + 300};
    c.reproducible = true;
    const BlockResult both = run(c, Operand::fp16);
    // The second chunk on its own, as another rank would hold it.
    BlockCase second = c;
    second.n_point = 300;
    auto inputs = block_inputs(c);
    inputs.erase(inputs.begin(), inputs.begin() + 1024 * c.in_dim);
    const BlockResult alone = device_block(second, BlockWeights(c), inputs, Operand::fp16,
                                           kernels::flare::cuda::kernels(), host);
    const size_t size = alone.partials.size();
    ASSERT_EQ(both.partials.size(), 2 * size);
    EXPECT_TRUE(std::equal(alone.partials.begin(), alone.partials.end(),
                           both.partials.begin() + static_cast<int64_t>(size)));
}

TEST(FlareDeviceLaws, BlocksAndMemoryDoNotChangeReproducibleBits) {
    BlockCase c{.n_head = 4, .n_latent = 33, .n_dim = 4, .n_point = 1500};
    c.reproducible = true;
    const auto few = run(c, Operand::fp32).outputs;
    for (const int n_multiprocessor : {7, 60}) {  // of 60, decode's blocks take fewer warps
        c.n_multiprocessor = n_multiprocessor;
        EXPECT_EQ(run(c, Operand::fp32).outputs, few);
    }
    // Other passes over latents, and weights that come in slices.
    c.shared_bytes = 140 * 1024;
    EXPECT_EQ(run(c, Operand::fp32).outputs, few);
}

TEST(FlareDeviceLaws, OneKernelFromPartialsToLatentsGivesTheSameBits) {
    for (const BlockCase& c :
         {BlockCase{.n_head = 3, .n_latent = 17, .n_dim = 3, .n_point = 700, .n_multiprocessor = 3},
          BlockCase{.n_head = 1, .n_latent = 5, .n_dim = 64, .n_point = 40},
          BlockCase{.n_head = 2, .n_latent = 5, .n_dim = 32, .n_point = 0},
          BlockCase{.n_head = 8, .n_latent = 40, .n_dim = 8, .n_point = 300, .reproducible = true},
          BlockCase{.n_head = 2, .n_latent = 3, .n_point = 2500, .n_multiprocessor = 40}}) {
        BlockCase combined = c;
        combined.combined = true;
        const BlockResult one = run(combined, Operand::fp16), three = run(c, Operand::fp16);
        EXPECT_EQ(one.outputs, three.outputs) << c.n_head << " heads";
        EXPECT_EQ(one.findings.not_finite, 0);
    }
}

TEST(FlareDeviceLaws, NoPointsGiveEmptyPartials) {
    BlockCase c;
    c.n_point = 0;
    const BlockResult result = run(c, Operand::fp16);
    ASSERT_EQ(result.partials.size(), size_t(c.n_head * c.n_latent * (c.n_dim + 2)));
    for (size_t i = 0; i < result.partials.size(); ++i) {
        const bool is_maximum = i % size_t(c.n_dim + 2) == 0;
        EXPECT_EQ(result.partials[i], is_maximum ? kernels::flare::lowest_score<float>() : 0.0F);
    }
    EXPECT_EQ(result.findings.not_finite, 0);
}

TEST(FlareDeviceLaws, PoisonedRunGivesNothingButNan) {
    for (const auto& [reproducible, combined] :
         {std::pair(false, false), {true, false}, {false, true}}) {
        BlockCase c{.n_point = 40};
        c.reproducible = reproducible;
        c.combined = combined;
        const BlockResult result = run(c, Operand::fp32, true);
        EXPECT_EQ(result.findings.not_finite, 1);
        for (double y : result.outputs) EXPECT_TRUE(std::isnan(y));
        EXPECT_EQ(result.findings.bad_output, kernels::DeviceFindings::no_place);
    }
}

TEST(FlareDeviceLaws, BadInputIsNamedByItsFirstPoint) {
    const BlockCase c{.n_point = 40};
    auto inputs = block_inputs(c);
    inputs[size_t(33 * c.in_dim + 0)] = std::nanf("");
    inputs[size_t(21 * c.in_dim + 1)] = INFINITY;
    const BlockResult result = device_block(c, BlockWeights(c), inputs, Operand::fp16,
                                            kernels::flare::cuda::kernels(), host);
    EXPECT_EQ(result.findings.bad_input, kernels::place_of(21, 1));
    EXPECT_EQ(result.findings.not_finite, 1);
    for (double y : result.outputs) EXPECT_TRUE(std::isnan(y));
}

/// Values of 1e5 in a chain overflow fp16 and nothing else.
TEST(FlareDeviceLaws, OverflowOfAnOperandIsSeenInTheSums) {
    const BlockCase c{.n_point = 40};
    BlockWeights weights(c);
    weights.v_proj.back().bias.assign(size_t(c.n_channel()), 1e5F);
    const auto narrow = device_block(c, weights, block_inputs(c), Operand::fp16,
                                     kernels::flare::cuda::kernels(), host);
    EXPECT_EQ(narrow.findings.not_finite, 1);
    for (double y : narrow.outputs) EXPECT_TRUE(std::isnan(y));
    const auto wide = device_block(c, weights, block_inputs(c), Operand::bf16,
                                   kernels::flare::cuda::kernels(), host);
    EXPECT_EQ(wide.findings.not_finite, 0);
}

/// One point far above all others: each of those is next to nothing, a million of them are not.
class FarPoints : public testing::TestWithParam<std::tuple<Operand, bool>> {
protected:
    static constexpr int64_t n_far = 1023;

    FarPoints() {
        c_.reproducible = std::get<1>(GetParam());
        c_.n_multiprocessor = 1;
    }
    int64_t row_size() const { return c_.n_dim + 2; }

    /// Maxima, sums and values: of the first point alone, the second alone, or the first and then
    /// n_far times the second.
    std::vector<float> partials(const BlockWeights& weights, bool first, int64_t n_second) const {
        BlockCase c = c_;
        c.n_point = first + n_second;
        std::vector<float> inputs;
        if (first) inputs = {-0.9F, 1.3F};
        for (int64_t i = 0; i < n_second; ++i) inputs.insert(inputs.end(), {0.8F, 0.4F});
        return device_block(c, weights, inputs, std::get<0>(GetParam()),
                            kernels::flare::cuda::kernels(), host)
            .partials;
    }
    /// Queries that put the first point `gap` above the second, for every latent.
    void set_gap(BlockWeights& weights, double gap) const {
        const auto near = partials(weights, true, 0), far = partials(weights, false, 1);
        for (size_t row = 0; row < near.size() / size_t(row_size()); ++row) {
            const size_t at = row * size_t(row_size());
            const double now = double(near[at]) - double(far[at]);
            for (size_t d = 0; d < size_t(c_.n_dim); ++d)
                weights.queries[row * size_t(c_.n_dim) + d] *= static_cast<float>(gap / now);
        }
    }

    BlockCase c_{.n_head = 2, .n_latent = 3, .n_dim = 8};
};

TEST_P(FarPoints, CountTogetherAsTheyShould) {
    for (const double gap : {14.0, 20.0, 24.0, 26.0}) {
        SCOPED_TRACE(gap);
        BlockWeights weights(c_);
        set_gap(weights, gap);
        const auto near = partials(weights, true, 0), far = partials(weights, false, 1);
        const auto all = partials(weights, true, n_far);
        for (size_t at = 0; at < all.size(); at += size_t(row_size())) {
            const double maximum = std::max(double(near[at]), double(far[at]));
            const double one = std::exp2(double(near[at]) - maximum);
            const double others = double(n_far) * std::exp2(double(far[at]) - maximum);
            ASSERT_NEAR(all[at], maximum, 1e-5 * std::abs(maximum));
            // Beside the first point itself, in its chunk of 128, float may lose the others; and a
            // few of its last bits.
            for (size_t j = 1; j < size_t(row_size()); ++j) {
                const double truth = one * double(near[at + j]) + others * double(far[at + j]);
                const double size = one * std::abs(double(near[at + j]));
                EXPECT_NEAR(all[at + j], truth,
                            0.13 * others * std::abs(double(far[at + j])) + 0x1p-20 * size)
                    << "row " << at / size_t(row_size()) << ", sum or value " << j - 1;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Emulated, FarPoints,
                         testing::Combine(testing::Values(Operand::fp32, Operand::tf32,
                                                          Operand::fp16, Operand::bf16),
                                          testing::Bool()),
                         [](const auto& of) {
                             return std::string(kernels::name(std::get<0>(of.param))) +
                                    (std::get<1>(of.param) ? "_reproducible" : "");
                         });

TEST(FlareDeviceShape, RefusesWhatRegistersCannotHold) {
    using kernels::flare::DeviceShape;
    EXPECT_EQ(DeviceShape::of({8, 128, 8}, 64).width, 64);
    EXPECT_EQ(DeviceShape::of({16, 256, 4}, 64).width, 64);
    EXPECT_EQ(DeviceShape::of({8, 128, 5}, 40).n_dim_padded, 8);
    EXPECT_EQ(DeviceShape::of({8, 128, 8}, 65).width, 128);
    EXPECT_THROW(DeviceShape::of({8, 128, 24}, 192), kernels::Error);  // 24 is padded to 32
}

TEST(FlareDeviceShape, FewPointsTakeBlocksOfFewWarpsOnAllMultiprocessors) {
    using namespace kernels::flare;
    const DeviceShape shape = DeviceShape::of({8, 128, 8}, 64);
    kernels::DeviceProperties device;
    device.n_multiprocessor = 132;
    device.shared_bytes = 227 * 1024;
    const auto threads_and_blocks = [&](int64_t n_point, bool reproducible) {
        const auto g = encode_geometry(device, Operand::fp16, shape, 10, n_point, reproducible);
        return std::pair(g.n_thread, g.n_block);
    };
    EXPECT_EQ(threads_and_blocks(0, false), std::pair(128, int64_t{1}));
    EXPECT_EQ(threads_and_blocks(132 * 64, false), std::pair(128, int64_t{132}));
    EXPECT_EQ(threads_and_blocks(132 * 64 + 1, false), std::pair(256, int64_t{67}));
    EXPECT_EQ(threads_and_blocks(132 * 128 + 1, false), std::pair(512, int64_t{67}));
    // One block takes a chunk of 1024 points, however few there are.
    EXPECT_EQ(threads_and_blocks(1025, true), std::pair(512, int64_t{2}));
}

TEST(FlareDeviceShape, MemoryOfABlockDecidesHowLatentsAreCut) {
    using namespace kernels::flare;
    const DeviceShape shape = DeviceShape::of({8, 128, 8}, 64);
    kernels::DeviceProperties device;
    device.n_multiprocessor = 132;
    device.shared_bytes = 227 * 1024;
    const EncodeGeometry hopper = encode_geometry(device, Operand::fp16, shape, 10, 1000000, false);
    EXPECT_TRUE(hopper.resident);
    EXPECT_EQ(hopper.n_pass, 1);
    EXPECT_EQ(hopper.n_block, 132);
    device.shared_bytes = 163 * 1024;
    const EncodeGeometry ampere = encode_geometry(device, Operand::fp16, shape, 10, 1000000, false);
    EXPECT_FALSE(ampere.resident);
    EXPECT_EQ(ampere.n_pass, 1);
    for (const EncodeGeometry& g : {hopper, ampere}) EXPECT_LE(g.shared_bytes, 227 * 1024);
    EXPECT_LE(ampere.shared_bytes, device.shared_bytes);
    const DeviceShape many = DeviceShape::of({8, 2048, 8}, 64);
    EXPECT_EQ(encode_geometry(device, Operand::fp16, many, 10, 1, false).n_block, 1);
    EXPECT_GT(encode_geometry(device, Operand::fp16, many, 10, 1, false).n_pass, 8);
    device.shared_bytes = 64 * 1024;
    EXPECT_THROW(encode_geometry(device, Operand::fp32, shape, 10, 1, false), kernels::Error);
}

}  // namespace
}  // namespace surrogate::tests
