// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <vector>

#include "benchmarks/device/limits.hpp"
#include "benchmarks/device/passes.hpp"
#include "benchmarks/device/program.hpp"
#include "benchmarks/device/record.hpp"

namespace surrogate::benchmarks {
namespace {

using kernels::Operand;
using kernels::Stream;
using tests::BlockCase;

struct Times {
    double median = 0, least = 0;
    int n_round = 0;
};

/// Times `work`, one run at a time between two events: a warm-up, then about 60 ms of rounds.
Times measure(Platform& platform, Stream stream, bool is_tiny,
              const std::function<void(Stream)>& work) {
    const auto once = [&] {
        platform.start(stream);
        work(stream);
        return platform.stop_ms(stream);
    };
    if (is_tiny) {
        const double ms = once();
        return {ms, ms, 1};
    }
    once();
    const double warm = std::max(1e-3, once());
    std::vector<double> ms(static_cast<size_t>(std::clamp(60 / warm, 5.0, 50.0)));
    for (double& time : ms) time = once();
    std::sort(ms.begin(), ms.end());
    return {ms[ms.size() / 2], ms.front(), static_cast<int>(ms.size())};
}

struct Case {
    BlockCase c;
    Operand operand;
    bool is_full;  ///< eight blocks and graphs too
    /// Returns "fp16 8 x 8, 128": operand, heads x channels, latents; also the points if they are
    /// few.
    std::string name() const {
        return std::string(kernels::name(operand)) + " " + std::to_string(c.n_head) + " x " +
               std::to_string(c.n_dim) + ", " + std::to_string(c.n_latent) +
               (c.reproducible ? ", reproducible" : "") +
               (c.n_point > 1000 && c.n_point < 1000000 ? ", N " + std::to_string(c.n_point) : "");
    }
};

std::vector<Case> cases(const Options& options) {
    BlockCase c{.n_head = 8,
                .n_latent = 128,
                .n_dim = 8,
                .n_point = 1000000,
                .n_inner_kv = 3,
                .n_inner_ffn = 3};
    c.in_dim = 3;
    c.variant = options.variant;
    std::vector<Case> list;
    if (options.is_tiny) {
        c.n_point = 40;
        c.n_latent = 5;
        c.n_inner_kv = c.n_inner_ffn = 0;
        return {{c, Operand::fp16, true}};
    }
    for (const Operand operand : {Operand::fp16, Operand::fp32, Operand::tf32, Operand::bf16})
        list.push_back({c, operand, true});
    for (const Operand operand : {Operand::fp16, Operand::fp32}) {
        // The size of a solver's rank: few points, so that launches are significant.
        for (const int64_t n_point : {10000, 30000, 100000}) {
            BlockCase fewer = c;
            fewer.n_point = n_point;
            list.push_back({fewer, operand, true});
        }
        for (const int64_t n_latent : {256, 2048}) {
            BlockCase more = c;
            more.n_latent = n_latent;
            list.push_back({more, operand, false});
        }
        for (const int64_t n_dim : {4, 16, 32, 64}) {
            BlockCase heads = c;
            heads.n_dim = n_dim;
            heads.n_head = 64 / n_dim;
            list.push_back({heads, operand, false});
        }
        BlockCase reproducible = c;
        reproducible.reproducible = true;
        list.push_back({reproducible, operand, false});
    }
    return list;
}

/// Times one case: its passes one by one, a block, and if full eight blocks in a row and as a
/// graph.
class Timed {
public:
    Timed(Platform& platform, const Options& options, const Case& which)
        : platform_(platform),
          options_(options),
          which_(which),
          passes_(platform, which.c, which.operand),
          stream_(platform.device().create_stream()) {}
    ~Timed() { platform_.device().destroy_stream(stream_); }

    void block() {
        record("block", measured([this](Stream stream) { passes_.block(stream); }));
    }

    void run() {
        const auto pass = [&](void (Passes::*function)(Stream) const) {
            return [this, function](Stream stream) { (passes_.*function)(stream); };
        };
        record("begin", measured(pass(&Passes::begin)));
        record("encode", measured(pass(&Passes::encode)));
        record("maxima", measured(pass(&Passes::maxima)));
        record("sums", measured(pass(&Passes::sums)));
        record("latents", measured(pass(&Passes::latents)));
        record("decode", measured(pass(&Passes::decode)));
        record("end", measured(pass(&Passes::end)));
        block();
        if (!which_.is_full) return;
        const auto model = [this](Stream stream) {
            passes_.begin(stream);
            for (int block = 0; block < 8; ++block) passes_.block(stream);
            passes_.end(stream);
        };
        record("block, graph", replayed(pass(&Passes::block)));
        record("eight blocks", measured(model));
        record("eight blocks, graph", replayed(model));
    }

private:
    Times measured(const std::function<void(Stream)>& work) {
        return measure(platform_, stream_, options_.is_tiny, work);
    }
    /// Times the same work recorded as a graph.
    Times replayed(const std::function<void(Stream)>& work) {
        kernels::Device& device = platform_.device();
        device.begin_capture(stream_);
        work(stream_);
        const kernels::Graph graph = device.end_capture(stream_);
        const Times times = measured([&](Stream stream) { device.launch(graph, stream); });
        device.synchronize(stream_);
        device.destroy_graph(graph);
        return times;
    }
    void record(const char* what, const Times& times) {
        Record("time")
            .add("case", which_.name())
            .add("what", what)
            .add("operand", name(which_.operand))
            .add("n_point", which_.c.n_point)
            .add("n_head", which_.c.n_head)
            .add("n_dim", which_.c.n_dim)
            .add("n_latent", which_.c.n_latent)
            .add("reproducible", which_.c.reproducible)
            .add("variant", which_.c.variant)
            .add("n_encode_pass", passes_.geometry().n_pass)
            .add("weights_resident", passes_.geometry().resident)
            .add("n_byte", passes_.n_byte())
            .add("ms", times.median)
            .add("least_ms", times.least)
            .add("n_round", times.n_round)
            .write(options_.json);
    }

    Platform& platform_;
    const Options& options_;
    const Case which_;
    Passes passes_;
    Stream stream_;
};

}  // namespace

void time_passes(Platform& platform, const Options& options) {
    for (const Case& which : cases(options)) {
        if (options.only.empty() || options.only == which.name())
            Timed(platform, options, which).run();
    }
}

int take_turns(Platform& platform, const Options& options) {
    const auto list = cases(options);
    const auto which = std::find_if(list.begin(), list.end(), [&](const Case& c) {
        return options.only.empty() || options.only == c.name();
    });
    if (which == list.end()) {
        std::cerr << "no case '" << options.only << "'\n";
        return 2;
    }
    Timed timed(platform, options, *which);
    for (std::string line; std::getline(std::cin, line);) timed.block();
    return 0;
}

void measure_limits(Platform& platform, const Options& options) {
    kernels::Device& device = platform.device();
    const kernels::Stream stream = device.create_stream();
    const auto rate = [&](const char* what, double amount, const char* unit,
                          const std::function<void(Stream)>& work) {
        const Times times = measure(platform, stream, options.is_tiny, work);
        Record("limit")
            .add("what", what)
            .add("rate", amount / (times.median * 1e-3))
            .add("unit", unit)
            .add("ms", times.median)
            .write(options.json);
    };
    Arena arena(platform);
    const int64_t n_byte = options.is_tiny ? 1 << 12 : 1 << 30;
    auto* from = arena.make<unsigned char>(n_byte);
    auto* to = arena.make<unsigned char>(n_byte);
    device.clear(from, n_byte, stream);
    rate("copy", 2.0 * static_cast<double>(n_byte), "bytes read and written a second",
         [&](Stream s) { device.copy(to, from, n_byte, s); });

    LimitGrid grid = limit_grid(device.properties());
    if (options.is_tiny) grid = {1, 32};
    const int n_round = options.is_tiny ? 2 : 4096;
    auto* sink = arena.make<float>(1);
    const double n_thread_round = static_cast<double>(grid.n_total_thread()) * n_round;
    rate("exponentials", n_thread_round * exp2_per_round, "powers of two a second",
         [&](Stream s) { run_exp2(grid, n_round, sink, s); });
    rate("products of fp16", n_thread_round / 32 * products_per_round * 2 * 16 * 16 * 8,
         "operations a second", [&](Stream s) { run_products(grid, n_round, sink, s); });
    device.destroy_stream(stream);
}

}  // namespace surrogate::benchmarks
