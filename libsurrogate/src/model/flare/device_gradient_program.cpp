// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_gradient_program.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/device_gradient_passes.hpp"

namespace surrogate::impl::flare {

using kernels::DeviceColumn;
using kernels::DeviceFindings;
using kernels::Operand;
using kernels::Stream;
using kernels::flare::DeviceKernels;
using kernels::flare::LatentArgs;
using kernels::flare::LatentSums;
using kernels::flare::Sizes;

namespace {

/// Products of gradients: their sizes have no place in the range of fp16.
Operand operand_of_gradients(Operand operand) {
    return operand == Operand::fp32 ? Operand::fp32 : Operand::tf32;
}

class DeviceGradients final : public GradientProgram {
public:
    DeviceGradients(const Config& config, const Layers<float>& layers,
                    std::shared_ptr<const DeviceWeights> weights, const PointDomain& domain,
                    const PlanRequest& request, const RowCut& cut)
        : config_(config),
          layers_(layers),
          domain_(domain),
          context_(*request.device),
          device_(context_.device()),
          kernels_(context_.kernels<DeviceKernels>("flare")),
          queue_(request.queue),
          weights_(std::move(weights)),
          stream_(device_, device_.create_stream()),
          runs_(context_),
          passes_(config, layers, *kernels_.gradients, context_,
                  operand_of_gradients(weights_->operand()), cut),
          found_(pinned_memory(device_, sizeof(Found))),
          outside_(queue_.n_thread(), config.out_dim),
          bad_(queue_.n_thread()) {
        if (!config.qk_norm) return;
        raw_queries_ = kernels::Buffer<float>(LatentSums<float>::size(sizes()));
    }

    void connect() override;
    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return gather_to(inputs, outside, static_cast<float*>(inputs_.get()), n_point_, false);
    }
    bool evaluate(bool alive) override;
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return scatter_from(static_cast<const float*>(outputs_.get()), outputs, alive, false);
    }
    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override;

    int64_t bytes() const override {
        return arena_.bytes() + passes_.bytes() + results_bytes() +
               4 * n_point_ * (2 * config_.in_dim + 2 * config_.out_dim) + raw_queries_.bytes() +
               dq_.bytes();
    }
    int64_t n_point() const override { return n_point_; }
    std::vector<LayerCost> costs() const override {
        return costs_of(config_,
                        {n_point_, n_point_, false, 4 * config_.in_dim, 4 * config_.out_dim,
                         maxima().bytes() + sums().bytes(), std::ssize(reductions_)});
    }
    std::vector<std::string> notes() const override;

private:
    struct Found {
        DeviceFindings findings;
        int32_t lost = 0;
    };

    void allocate();
    void set_reductions();
    void make_connections();
    LatentArgs latent_args() const;
    void enqueue_forward(DeviceSteps& steps);
    void begin(bool alive);
    void encode(const DeviceBlock& block);
    void decode(const DeviceBlock& block);
    void keep(float* rows);
    void end();
    void add_results(GradientSums& sums);
    void add_queries(int64_t i, const double* dq, double* arena);
    BadValue gather_to(std::span<const Column> columns, OutsideCounts& outside, float* to,
                       int64_t n_row, bool by_point);
    BadValue scatter_from(const float* from, std::span<const Column> columns, bool alive,
                          bool by_point);
    /// Waits for the stream; what failed before or meanwhile is kept in `failure`.
    void finish(FirstFailure& failure) {
        failure.guard([&] { context_.after_reductions(stream()); });
        failure.guard([&] { runs_.mark_end(stream()); });
        failure.guard([&] { context_.collectives().wait(stream()); });
    }

    const Sizes& sizes() const { return shape().sizes; }
    const kernels::flare::DeviceShape& shape() const { return weights_->shape(); }
    Stream stream() const { return stream_.get(); }
    const kernels::DeviceProperties& properties() const { return device_.properties(); }
    const DeviceReduction& maxima() const { return reductions_[0]; }
    const DeviceReduction& sums() const { return reductions_[1]; }
    Found& found() const { return *static_cast<Found*>(found_.get()); }
    int64_t results_bytes() const { return 8 * passes_.n_result(); }
    DeviceFindings* findings() const { return arena_.at<DeviceFindings>(findings_); }

    const Config& config_;
    const Layers<float>& layers_;
    const PointDomain& domain_;
    DeviceContext& context_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    kernels::Queue queue_;
    std::shared_ptr<const DeviceWeights> weights_;
    DeviceStream stream_;
    DeviceRuns runs_;
    DeviceGradientPasses passes_;
    int64_t n_point_ = 0;
    kernels::flare::EncodeGeometry geometry_;
    DeviceArena arena_;
    int64_t x_ = 0, k_ = 0, partials_ = 0, maxima_ = 0, sums_ = 0, z_ = 0;  // in arena_
    int64_t findings_ = 0, columns_ = 0, columns_in_ = 0, columns_out_ = 0;
    std::array<DeviceReduction, 2> reductions_;  // maxima, sums
    PinnedMemory poison_, found_;
    PinnedMemory inputs_, outputs_;    // channels (n_input or n_output, n_point)
    PinnedMemory doutputs_, dinputs_;  // rows (n_point, n_output or n_input)
    PinnedMemory input_rows_, results_;
    kernels::Buffer<float> raw_queries_, dq_;  // (H, D, n_row)
    OutsideCounts outside_;                    // of doutputs, which have no range
    FirstBad bad_;
    bool waits_ = false;       // an evaluation has no backward pass yet
    std::exception_ptr late_;  // failure of the last backward pass
};

void DeviceGradients::connect() {
    Communicator& comm = domain_.context().comm();
    comm.agree([&] { allocate(); });
    make_connections();
}

void DeviceGradients::allocate() {
    n_point_ = domain_.n_local();
    set_reductions();
    kernels_.load(properties(), weights_->operand(), shape().width);
    kernels_.gradients->load(properties());
    passes_.allocate(n_point_, config_.in_dim);
    const Sizes& s = sizes();
    const int64_t n_element = kernels::fragment_size(n_point_, shape().width);
    x_ = arena_.add(4 * n_element);
    k_ = arena_.add(kernels::operand_bytes(weights_->operand()) * n_element);
    partials_ = arena_.add(4 * geometry_.n_block * s.n_head * s.n_latent * (s.n_dim + 2));
    maxima_ = arena_.add(maxima().bytes());
    sums_ = arena_.add(sums().bytes());
    z_ = arena_.add(kernels::flare::latent_bytes(weights_->operand(), shape()));
    findings_ = arena_.add(sizeof(DeviceFindings));
    columns_ =
        arena_.add(static_cast<int64_t>(sizeof(DeviceColumn)) * (config_.in_dim + config_.out_dim));
    columns_in_ = arena_.add(4 * n_point_ * config_.in_dim);
    columns_out_ = arena_.add(4 * n_point_ * config_.out_dim);
    arena_.take(device_);
    reductions_[0].values = arena_.at<void>(maxima_);
    reductions_[1].values = arena_.at<void>(sums_);

    inputs_ = pinned_memory(device_, 4 * n_point_ * config_.in_dim);
    input_rows_ = pinned_memory(device_, 4 * n_point_ * config_.in_dim);
    dinputs_ = pinned_memory(device_, 4 * n_point_ * config_.in_dim);
    outputs_ = pinned_memory(device_, 4 * n_point_ * config_.out_dim);
    doutputs_ = pinned_memory(device_, 4 * n_point_ * config_.out_dim);
    results_ = pinned_memory(device_, results_bytes());
    dq_ = kernels::Buffer<float>(LatentSums<float>::size(s));

    std::vector<DeviceColumn> columns;
    for (int64_t c = 0; c < config_.in_dim; ++c)
        columns.push_back({arena_.at<float>(columns_in_) + c * n_point_});
    for (int64_t c = 0; c < config_.out_dim; ++c)
        columns.push_back({arena_.at<float>(columns_out_) + c * n_point_});
    device_.write(arena_.at<void>(columns_), columns.data(),
                  std::ssize(columns) * static_cast<int64_t>(sizeof(DeviceColumn)), stream());
    int64_t largest = std::max(maxima().bytes(), sums().bytes());
    for (const DeviceReduction& r : passes_.reductions()) largest = std::max(largest, r.bytes());
    context_.collectives().reserve(largest);
}

void DeviceGradients::set_reductions() {
    using enum DeviceReduction::Kind;
    const Sizes& s = sizes();
    const int64_t n_row = s.n_head * s.n_latent;
    reductions_[0] = {max_float, nullptr, n_row};
    reductions_[1] = {sum_float, nullptr, n_row * (s.n_dim + 1)};
    poison_ = pinned_memory(device_, maxima().bytes() + sums().bytes());
    auto* const lowest = static_cast<float*>(poison_.get());
    std::fill_n(lowest, n_row, kernels::flare::lowest_score<float>());
    std::fill_n(lowest + n_row, sums().count, std::numeric_limits<float>::quiet_NaN());
    reductions_[0].poison = lowest;
    reductions_[1].poison = lowest + n_row;
    if (weights_->layers().blocks.empty()) return;
    const DeviceBlock& block = weights_->layers().blocks.front();
    geometry_ = kernels::flare::encode_geometry(properties(), weights_->operand(), shape(),
                                                block.k_proj.n_layer + block.v_proj.n_layer,
                                                n_point_, false);
}

/// Collective: each kind of reduction once, so that none takes memory later.
void DeviceGradients::make_connections() {
    DeviceCollectives& collectives = context_.collectives();
    FirstFailure failure;
    failure.guard([&] { context_.before_reductions(stream()); });
    const auto make = [&](const DeviceReduction& r) {
        failure.guard([&] { device_.clear(r.values, r.bytes(), stream()); });
        failure.guard([&] { r.run(collectives, stream()); });
    };
    if (!weights_->layers().blocks.empty()) {
        for (const DeviceReduction& r : reductions_) make(r);
        for (const DeviceReduction& r : passes_.reductions()) make(r);
    }
    finish(failure);
    domain_.context().comm().agree([&] { failure.rethrow(); });
}

/// by_point: rows of points, otherwise channel after channel.
BadValue DeviceGradients::gather_to(std::span<const Column> columns, OutsideCounts& outside,
                                    float* to, int64_t n_row, bool by_point) {
    const int64_t n_column = std::ssize(columns);
    bad_.clear();
    queue_.parallel_for((n_row + kernels::tile_points - 1) / kernels::tile_points, [&](int64_t tile,
                                                                                       int thread) {
        const int64_t first = tile * kernels::tile_points;
        const int64_t count = std::min(kernels::tile_points, n_row - first);
        float* const at = to + (by_point ? first * n_column : first);
        bad_.note(thread, impl::gather<float>(columns, first, count, at, by_point ? n_column : 1,
                                              by_point ? 1 : n_row, outside.of(thread)));
    });
    return bad_.first();
}

BadValue DeviceGradients::scatter_from(const float* from, std::span<const Column> columns,
                                       bool alive, bool by_point) {
    if (!alive) {
        fill_nan(columns, n_point_);
        return {};
    }
    const int64_t n_column = std::ssize(columns);
    bad_.clear();
    queue_.parallel_for(
        (n_point_ + kernels::tile_points - 1) / kernels::tile_points,
        [&](int64_t tile, int thread) {
            const int64_t first = tile * kernels::tile_points;
            const int64_t count = std::min(kernels::tile_points, n_point_ - first);
            const float* const at = from + (by_point ? first * n_column : first);
            bad_.note(thread, impl::scatter<float>(at, by_point ? n_column : 1,
                                                   by_point ? 1 : n_point_, columns, first, count));
        });
    return bad_.first();
}

// ---- forward ----

LatentArgs DeviceGradients::latent_args() const {
    LatentArgs args;
    args.shape = shape();
    args.operand = weights_->operand();
    args.n_partial = geometry_.n_block;
    args.partials = arena_.at<float>(partials_);
    args.maxima = arena_.at<float>(maxima_);
    args.sums = arena_.at<void>(sums_);
    args.z = arena_.at<void>(z_);
    args.findings = findings();
    return args;
}

void DeviceGradients::begin(bool alive) {
    DeviceFindings fresh;
    fresh.poisoned = alive ? 0 : 1;
    device_.write(findings(), &fresh, sizeof fresh, stream());
    const int64_t n_byte = 4 * n_point_ * config_.in_dim;
    // A rank that is not alive has gathered nothing that may be read.
    if (alive && n_byte > 0)
        device_.copy(arena_.at<void>(columns_in_), inputs_.get(), n_byte, stream());
    if (!alive && n_byte > 0) device_.clear(arena_.at<void>(columns_in_), n_byte, stream());
    kernels_.begin(
        properties(),
        {shape(), weights_->operand(), n_point_, arena_.at<DeviceColumn>(columns_), config_.in_dim,
         weights_->layers().in_proj, arena_.at<float>(x_), findings(), nullptr},
        stream());
}

void DeviceGradients::keep(float* rows) {
    kernels_.gradients->rows(properties(), {shape(), n_point_, arena_.at<float>(x_), rows},
                             stream());
}

void DeviceGradients::encode(const DeviceBlock& block) {
    kernels::flare::EncodeArgs args = weights_->encode_args(block);
    args.geometry = geometry_;
    args.n_point = n_point_;
    args.x = arena_.at<float>(x_);
    args.k = arena_.at<void>(k_);
    args.partials = arena_.at<float>(partials_);
    kernels_.encode(properties(), args, stream());
}

void DeviceGradients::decode(const DeviceBlock& block) {
    kernels::flare::DecodeArgs args = weights_->decode_args(block);
    args.n_point = n_point_;
    args.k = arena_.at<void>(k_);
    args.z = arena_.at<void>(z_);
    args.x = arena_.at<float>(x_);
    kernels_.decode(properties(), args, stream());
}

void DeviceGradients::end() {
    kernels_.end(properties(),
                 {shape(), weights_->operand(), n_point_, arena_.at<float>(x_),
                  weights_->layers().out_norm, weights_->layers().out_proj,
                  arena_.at<DeviceColumn>(columns_) + config_.in_dim, config_.out_dim, findings()},
                 stream());
    const int64_t n_byte = 4 * n_point_ * config_.out_dim;
    if (n_byte > 0) device_.copy(outputs_.get(), arena_.at<void>(columns_out_), n_byte, stream());
    device_.copy(&found().findings, findings(), sizeof(DeviceFindings), stream());
}

void DeviceGradients::enqueue_forward(DeviceSteps& steps) {
    const LatentArgs latents = latent_args();
    int64_t i = 0;
    for (const DeviceBlock& block : weights_->layers().blocks) {
        const KeptBlock& kept = passes_.kept(i++);
        steps.compute([&] {
            keep(kept.x);
            encode(block);
            kernels_.maxima(properties(), latents, stream());
        });
        steps.reduce(maxima());
        steps.compute([&] { kernels_.sums(properties(), latents, stream()); });
        steps.reduce(sums());
        steps.compute([&] {
            kernels_.latents(properties(), latents, stream());
            kernels_.gradients->kept_latents(
                properties(),
                {sizes(), latents.maxima, static_cast<const float*>(latents.sums), kept.z,
                 kept.log_sum},
                stream());
            decode(block);
        });
    }
    steps.compute([&] {
        keep(passes_.last());
        end();
    });
}

bool DeviceGradients::evaluate(bool alive) {
    FirstFailure failure;
    if (late_) failure.guard([&] { std::rethrow_exception(std::exchange(late_, nullptr)); });
    failure.guard([&] { context_.before_reductions(stream()); });
    found() = {};
    DeviceSteps steps(context_, stream(), failure);
    steps.compute([&] { begin(alive); });
    enqueue_forward(steps);
    finish(failure);
    waits_ = false;
    failure.rethrow();
    const bool is_finite = found().findings.not_finite == 0;
    waits_ = alive && is_finite;
    return is_finite;
}

// ---- back ----

bool DeviceGradients::backward(std::span<const Column> doutputs, std::span<const Column> dinputs,
                               bool alive, GradientSums& sums) {
    alive = std::exchange(waits_, false) && alive;
    outside_.clear();
    auto* const dy = static_cast<float*>(doutputs_.get());
    if (alive) alive = gather_to(doutputs, outside_, dy, n_point_, true).column < 0;
    const bool wants_inputs = !dinputs.empty();
    const int64_t input_bytes = 4 * n_point_ * config_.in_dim;
    FirstFailure failure;
    failure.guard([&] { context_.before_reductions(stream()); });
    found().lost = 0;
    DeviceSteps steps(context_, stream(), failure);
    steps.compute([&] {
        if (!alive || n_point_ == 0) return;
        const auto* const from = static_cast<const float*>(inputs_.get());
        auto* const to = static_cast<float*>(input_rows_.get());
        for (int64_t i = 0; i < n_point_; ++i)
            for (int64_t c = 0; c < config_.in_dim; ++c)
                to[i * config_.in_dim + c] = from[c * n_point_ + i];
        device_.copy(passes_.inputs(), to, input_bytes, stream());
        device_.copy(passes_.doutputs(), dy, 4 * n_point_ * config_.out_dim, stream());
    });
    passes_.enqueue(steps, alive, wants_inputs);
    steps.compute([&] {
        device_.copy(results_.get(), passes_.results(), results_bytes(), stream());
        device_.copy(&found().lost, passes_.lost(), 4, stream());
        if (wants_inputs && n_point_ > 0)
            device_.copy(dinputs_.get(), passes_.dinputs(), input_bytes, stream());
    });
    finish(failure);
    if (failure) {
        try {
            failure.rethrow();
        } catch (...) {
            late_ = std::current_exception();
        }
    }
    const bool is_finite = !failure && found().lost == 0;
    alive = alive && is_finite;
    if (alive) {
        add_results(sums);
    } else {
        sums.poison();
    }
    if (wants_inputs) scatter_from(static_cast<const float*>(dinputs_.get()), dinputs, alive, true);
    return is_finite;
}

void DeviceGradients::add_results(GradientSums& sums) {
    double* const arena = sums.open(0).data();
    const auto* const from = static_cast<const double*>(results_.get());
    const int64_t n_arena = std::ssize(layers_.weights.master().values());
    for (int64_t i = 0; i < n_arena; ++i) arena[i] += from[i];
    const int64_t n_latent = config_.channel_dim * config_.num_latents;
    for (int64_t i = 0; i < config_.num_blocks; ++i)
        add_queries(i, from + n_arena + i * n_latent, arena);
    sums.close(0);
}

/// Adds the gradients of latent_q and q_norm, computed from the gradients of the scaled queries as
/// in GradientPasses.
void DeviceGradients::add_queries(int64_t i, const double* dq, double* arena) {
    const BlockWeights<float>& block = layers_.blocks[static_cast<size_t>(i)];
    const BlockPlaces& places = passes_.places().blocks[static_cast<size_t>(i)];
    const auto& [n_head, n_latent, n_dim] = sizes();
    double* const to = arena + places.latent_q;
    if (!config_.qk_norm) {
        for (int64_t j = 0; j < n_head * n_latent * n_dim; ++j) to[j] += config_.attn_scale * dq[j];
        return;
    }
    const int64_t n_row = sizes().n_row();
    const auto for_each = [&](const auto& body) {
        for (int64_t head = 0; head < n_head; ++head)
            for (int64_t m = 0; m < n_latent; ++m)
                for (int64_t d = 0; d < n_dim; ++d)
                    body((head * n_latent + m) * n_dim + d, (head * n_dim + d) * n_row + m);
    };
    for_each([&](int64_t by_latent, int64_t by_row) {
        dq_[by_row] = static_cast<float>(config_.attn_scale * dq[by_latent]);
        raw_queries_[by_row] = block.latent_q[by_latent];
    });
    for (int64_t head = 0; head < n_head; ++head) {
        const int64_t first = head * n_dim * n_row;
        const kernels::Tile<float> rows{dq_.data() + first, {n_dim, n_latent}, {n_row, 1}};
        const kernels::Tile<const float> raw{raw_queries_.data() + first, rows.shape, rows.stride};
        kernels::normalise_backward<float>(queue_, block.q_norm, raw, rows, {}, rows,
                                           places.q_norm.in(arena));
    }
    for_each([&](int64_t by_latent, int64_t by_row) { to[by_latent] += dq_[by_row]; });
}

std::vector<std::string> DeviceGradients::notes() const {
    const int64_t n_reduction = std::ssize(passes_.reductions()) * config_.num_blocks;
    int64_t n_byte = 0;
    for (const DeviceReduction& r : passes_.reductions()) n_byte += r.bytes() * n_reduction;
    return {"gradients: the backward pass sends " + std::to_string(n_byte) + " bytes in " +
                std::to_string(n_reduction) +
                " collectives between blocks; blocks are computed again from what was before them, "
                "their products in " +
                std::string(kernels::name(operand_of_gradients(weights_->operand()))),
            "gradients: inputs, predictions and sums of gradients pass through the host, and so "
            "arrays are the host's"};
}

void require_trainable(const Config& config, const PlanRequest& request) {
    if (request.reproducible) {
        throw Error(
            Status::not_supported,
            "option reproducible=true and gradients on backend 'cuda': exact sums on the way "
            "back are not built for devices; use backend 'simd', or leave it out: the bits "
            "of a rank do not change from run to run");
    }
    if (config.head_dim() > kernels::flare::largest_trained_head) {
        throw Error(Status::not_supported,
                    "gradients on backend 'cuda' take heads of up to " +
                        std::to_string(kernels::flare::largest_trained_head) +
                        " channels, the model has " + std::to_string(config.head_dim()) +
                        "; use backend 'simd'");
    }
}

}  // namespace

std::unique_ptr<GradientProgram> make_device_gradient_program(
    const Config& config, const Layers<float>& layers, std::shared_ptr<const DeviceWeights> weights,
    const PointDomain& domain, const PlanRequest& request, const RowCut& cut) {
    require_trainable(config, request);
    return std::make_unique<DeviceGradients>(config, layers, std::move(weights), domain, request,
                                             cut);
}

}  // namespace surrogate::impl::flare
