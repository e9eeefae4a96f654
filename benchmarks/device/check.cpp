// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "benchmarks/device/program.hpp"
#include "benchmarks/device/record.hpp"
#include "kernels/flare/flare_tiling.hpp"
#include "tests/kernels/flare/device_block.hpp"

namespace surrogate::benchmarks {
namespace {

using kernels::Activation;
using kernels::Operand;
using tests::BlockCase;
using tests::BlockResult;
using tests::BlockWeights;

constexpr Operand operands[] = {Operand::fp32, Operand::tf32, Operand::fp16, Operand::bf16};

/// Global, because device_block() takes plain functions.
Platform* here = nullptr;
const tests::DeviceMemory memory{
    [](int64_t n_byte) { return here->device().allocate(n_byte); },
    [](void* p) { here->device().release(p); },
    [](void* to, const void* from, int64_t n_byte) { here->move(to, from, n_byte); },
    [] { here->device().synchronize(nullptr); }};

struct Row {
    const char* name;  ///< reason for the row
    BlockCase c;
    int64_t n_repeat = 1;  ///< multiplicity of every point, which must not change the result
    /// On one multiprocessor, with shared memory for half of the latents: every loop of a block
    /// runs more than once, weights are loaded in slices, encode has two launches.
    bool turns = false;
};

/// Returns the case of a row, on this device and with this operand.
BlockCase shaped(const Row& row, Operand operand, const kernels::DeviceProperties& device) {
    using namespace kernels::flare;
    BlockCase c = row.c;
    c.shared_bytes = std::min(c.shared_bytes, device.shared_bytes);
    c.n_multiprocessor = device.n_multiprocessor;
    if (!row.turns) return c;
    const DeviceShape shape = DeviceShape::of({c.n_head, c.n_latent, c.n_dim}, c.n_channel());
    c.n_multiprocessor = 1;
    c.shared_bytes =
        exchange_bytes(operand, shape.width, tiling_of(operand, shape.width, c.variant)) +
        2 * slice_bytes(operand, shape.width) +
        (shape.all_latent_tiles() + 1) / 2 * sum_bytes(shape);
    return c;
}

std::vector<Row> rows(bool is_tiny) {
    const BlockCase trained{
        .n_head = 8, .n_latent = 20, .n_dim = 8, .n_inner_kv = 3, .n_inner_ffn = 3};
    std::vector<Row> list;
    const auto add = [&](const char* name, BlockCase c, int64_t n_point) {
        c.n_point = n_point;
        list.push_back({name, c});
    };
    BlockCase looped = trained;
    looped.n_inner_kv = looped.n_inner_ffn = 1;
    add("loops of a block", looped, 700);
    list.back().turns = true;
    looped.reproducible = true;
    add("loops of a block, reproducible", looped, 1100);
    list.back().turns = true;
    add("smallest", {}, 5);
    add("one point", {}, 1);
    add("heads of 8", trained, 37);
    BlockCase other{.n_head = 3,
                    .n_latent = 16,
                    .n_dim = 8,
                    .n_hidden = 36,
                    .in_dim = 3,
                    .rms = true,
                    .qk_norm = true,
                    .activation = Activation::silu};
    add("other widths, norms, activation", other, 57);
    if (is_tiny) return list;
    for (const int64_t n_point : {15, 16, 17, 31, 33, 127, 128, 129, 1023, 1025})
        add("heads of 8, edges of tiles", trained, n_point);
    add("heads of 4", {.n_head = 16, .n_latent = 33, .n_dim = 4, .qk_norm = true}, 300);
    add("heads of 16",
        {.n_head = 4, .n_latent = 150, .n_dim = 16, .qk_norm = true, .query_scale = 8}, 300);
    add("heads of 32", {.n_head = 2, .n_latent = 17, .n_dim = 32, .qk_norm = true}, 131);
    add("heads of 64", {.n_head = 1, .n_latent = 17, .n_dim = 64}, 131);
    add("heads of 3", {.n_head = 3, .n_latent = 5, .n_dim = 3, .n_hidden = 12}, 20);
    add("padded channels", {.n_head = 5, .n_latent = 24, .n_dim = 8, .out_dim = 2}, 131);
    add("width 128", {.n_head = 8, .n_latent = 5, .n_dim = 16, .n_hidden = 100}, 300);
    add("latents in several passes, weights in slices",
        {.n_head = 8, .n_latent = 300, .n_dim = 8, .shared_bytes = 140 * 1024}, 500);
    add("points far from the latents", {.n_head = 2, .n_latent = 9, .n_dim = 8, .query_scale = 60},
        400);
    BlockCase reproducible = trained;
    reproducible.reproducible = true;
    add("reproducible", reproducible, 2500);
    BlockCase large = trained;
    large.n_latent = 128;
    add("128 latents", large, 4000);
    add("997 points 1003 times", large, 997);
    list.back().n_repeat = 1003;
    if (kernels::flare::n_variant > 1) {
        large.variant = 1;
        add("128 latents, other variant", large, 4000);
    }
    return list;
}

bool same_bits(const BlockResult& a, const BlockResult& b) {
    return a.outputs == b.outputs && a.partials == b.partials;
}

struct Judged {
    double error = 0, plain = 0, bound = 0;
    bool same_bits = false, found_nothing = false;
    bool passed() const { return error <= bound && same_bits && found_nothing; }
};

/// Judges the error: at most twice the error of a plain version with operands rounded alike. 1e-6
/// covers statistics and fast functions in float, the root covers sums in float over a block's
/// points.
Judged judge(const Row& row, Operand operand) {
    const BlockWeights weights(row.c);
    const auto inputs = tests::block_inputs(row.c);
    const auto truth = tests::reference_block(row.c, weights, inputs);
    Judged judged;
    judged.plain = tests::relative_l2(
        tests::reference_block(row.c, weights, inputs, tests::fraction_bits(operand)), truth);

    BlockCase repeated = row.c;
    repeated.n_point *= row.n_repeat;
    std::vector<float> all;
    for (int64_t i = 0; i < row.n_repeat; ++i) all.insert(all.end(), inputs.begin(), inputs.end());
    const auto& kernels = kernels::flare::cuda::kernels();
    const BlockResult first = tests::device_block(repeated, weights, all, operand, kernels, memory);
    // In reproducible mode the number of blocks must not change the result either.
    if (repeated.reproducible) repeated.n_multiprocessor = 7;
    const BlockResult second =
        tests::device_block(repeated, weights, all, operand, kernels, memory);

    const double points_a_block =
        static_cast<double>(repeated.n_point) / std::max(1, row.c.n_multiprocessor);
    judged.error = tests::relative_l2(first.outputs, truth);
    judged.bound = 2 * judged.plain + 1e-6 + 0x1p-24 * std::sqrt(points_a_block);
    judged.same_bits = same_bits(first, second);
    constexpr auto nowhere = kernels::DeviceFindings::no_place;
    judged.found_nothing = first.findings.not_finite == 0 && first.findings.bad_input == nowhere &&
                           first.findings.bad_output == nowhere;
    return judged;
}

/// Returns true if a NaN input is detected, and the NaN sums of all points with it.
bool finds_nan(Operand operand, int n_multiprocessor) {
    BlockCase c{.n_point = 40, .n_multiprocessor = n_multiprocessor};
    auto inputs = tests::block_inputs(c);
    inputs[static_cast<size_t>(17 * c.in_dim + 1)] = std::nanf("");
    const BlockResult result = tests::device_block(c, BlockWeights(c), inputs, operand,
                                                   kernels::flare::cuda::kernels(), memory);
    return result.findings.bad_input == kernels::place_of(17, 1) &&
           result.findings.not_finite != 0 &&
           std::all_of(result.outputs.begin(), result.outputs.end(),
                       [](double y) { return std::isnan(y); });
}

}  // namespace

int check_passes(Platform& platform, const Options& options) {
    here = &platform;
    const auto& properties = platform.device().properties();
    int n_failed = 0;
    const auto report = [&](const Row& row, Operand operand, const Judged& judged) {
        n_failed += !judged.passed();
        Record("check")
            .add("case", row.name)
            .add("operand", name(operand))
            .add("n_point", row.c.n_point * row.n_repeat)
            .add("n_multiprocessor", row.c.n_multiprocessor)
            .add("shared_bytes", row.c.shared_bytes)
            .add("error", judged.error)
            .add("plain_error", judged.plain)
            .add("bound", judged.bound)
            .add("same_bits", judged.same_bits)
            .add("passed", judged.passed())
            .write(options.json);
    };
    for (const Row& row : rows(options.is_tiny)) {
        if (!options.only.empty() && options.only != row.name) continue;
        for (const Operand operand : operands) {
            Row here_now = row;
            here_now.c = shaped(row, operand, properties);
            report(here_now, operand, judge(here_now, operand));
        }
    }
    for (const Operand operand : operands) {
        const bool passed = finds_nan(operand, properties.n_multiprocessor);
        n_failed += !passed;
        Record("check")
            .add("case", "a value that is not a number")
            .add("operand", name(operand))
            .add("passed", passed)
            .write(options.json);
    }
    return n_failed;
}

}  // namespace surrogate::benchmarks
