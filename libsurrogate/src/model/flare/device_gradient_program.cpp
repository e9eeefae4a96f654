// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_gradient_program.hpp"

#include <algorithm>
#include <utility>

#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/device_forward.hpp"
#include "libsurrogate/src/model/flare/device_gradient_passes.hpp"
#include "libsurrogate/src/model/flare/latent_queries.hpp"
#include "libsurrogate/src/model/flare/pinned_columns.hpp"

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
          forward_(context_, std::move(weights), arena_),
          stream_(device_, device_.create_stream()),
          runs_(context_),
          passes_(config, layers, *kernels_.gradients, context_,
                  operand_of_gradients(forward_.weights().operand()), cut),
          found_(pinned_memory(device_, sizeof(Found))),
          raw_queries_(config.qk_norm ? LatentSums<float>::size(sizes()) : 0),
          outside_(queue_.n_thread(), config.out_dim) {}

    void connect() override;
    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return inputs_.gather(inputs, outside);
    }
    bool evaluate(bool alive) override;
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return outputs_.scatter(outputs, alive);
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
                         forward_.reduction_bytes(), std::ssize(forward_.reductions())});
    }
    std::vector<std::string> notes() const override;

private:
    struct Found {
        DeviceFindings findings;
        int32_t lost = 0;
    };

    void allocate();
    void make_connections();
    void begin(bool alive);
    void keep(float* rows);
    void enqueue_blocks(DeviceSteps& steps);
    void end();
    void add_results(GradientSums& sums);
    void add_queries(int64_t i, const double* dq, double* arena);
    /// Waits for the stream; what failed before or meanwhile is kept in `failure`.
    void finish(FirstFailure& failure) {
        failure.guard([&] { context_.after_reductions(stream()); });
        failure.guard([&] { runs_.mark_end(stream()); });
        failure.guard([&] { context_.collectives().wait(stream()); });
    }

    const kernels::flare::DeviceShape& shape() const { return forward_.weights().shape(); }
    const Sizes& sizes() const { return shape().sizes; }
    Stream stream() const { return stream_.get(); }
    const kernels::DeviceProperties& properties() const { return device_.properties(); }
    Found& found() const { return *static_cast<Found*>(found_.get()); }
    int64_t results_bytes() const { return 8 * passes_.n_result(); }

    const Config& config_;
    const Layers<float>& layers_;
    const PointDomain& domain_;
    DeviceContext& context_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    kernels::Queue queue_;
    DeviceArena arena_;
    DeviceForward forward_;
    DeviceStream stream_;
    DeviceRuns runs_;
    DeviceGradientPasses passes_;
    int64_t n_point_ = 0;
    // In arena_; the last two are by column.
    DeviceColumns columns_;
    float *device_inputs_ = nullptr, *device_outputs_ = nullptr;
    PinnedColumns inputs_, outputs_;    // by column
    PinnedColumns doutputs_, dinputs_;  // by point
    PinnedMemory input_rows_, results_, found_;
    kernels::Buffer<float> raw_queries_, dq_;  // (H, D, n_row)
    OutsideCounts outside_;                    // of doutputs, which have no range
    bool waits_ = false;                       // an evaluation has no backward pass yet
    std::exception_ptr late_;                  // failure of the last backward pass
};

void DeviceGradients::connect() {
    Communicator& comm = domain_.context().comm();
    comm.agree([&] { allocate(); });
    make_connections();
}

void DeviceGradients::allocate() {
    using enum PinnedColumns::Layout;
    const int64_t n_input = config_.in_dim, n_output = config_.out_dim;
    n_point_ = domain_.n_local();
    forward_.set_sizes({.n_point = n_point_});
    PinnedMemory failure_values = pinned_memory(device_, forward_.reduction_bytes());
    kernels_.load(properties(), forward_.weights().operand(), shape().width);
    kernels_.gradients->load(properties());
    passes_.allocate(n_point_, n_input);
    forward_.add_memory();
    const int64_t findings = arena_.add(sizeof(DeviceFindings));
    const int64_t columns =
        arena_.add(static_cast<int64_t>(sizeof(DeviceColumn)) * (n_input + n_output));
    const int64_t inputs = arena_.add(4 * n_point_ * n_input);
    const int64_t outputs = arena_.add(4 * n_point_ * n_output);
    arena_.take(device_);
    forward_.set_reductions(std::move(failure_values));
    device_inputs_ = arena_.at<float>(inputs);
    device_outputs_ = arena_.at<float>(outputs);
    columns_.inputs = arena_.at<DeviceColumn>(columns);
    columns_.outputs = columns_.inputs + n_input;
    columns_.findings = arena_.at<DeviceFindings>(findings);
    columns_.n_input = n_input;
    columns_.n_output = n_output;

    inputs_ = PinnedColumns(device_, queue_, n_point_, n_input, by_column);
    input_rows_ = pinned_memory(device_, inputs_.bytes());
    dinputs_ = PinnedColumns(device_, queue_, n_point_, n_input, by_point);
    outputs_ = PinnedColumns(device_, queue_, n_point_, n_output, by_column);
    doutputs_ = PinnedColumns(device_, queue_, n_point_, n_output, by_point);
    results_ = pinned_memory(device_, results_bytes());
    dq_ = kernels::Buffer<float>(LatentSums<float>::size(sizes()));

    std::vector<DeviceColumn> list;
    for (int64_t c = 0; c < n_input; ++c) list.push_back({device_inputs_ + c * n_point_});
    for (int64_t c = 0; c < n_output; ++c) list.push_back({device_outputs_ + c * n_point_});
    device_.write(columns_.inputs, list.data(),
                  std::ssize(list) * static_cast<int64_t>(sizeof(DeviceColumn)), stream());
    int64_t largest = std::max(forward_.maxima().bytes(), forward_.sums().bytes());
    for (const DeviceReduction& r : passes_.reductions()) largest = std::max(largest, r.bytes());
    context_.collectives().reserve(largest);
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
    for (const DeviceReduction& r : forward_.reductions()) make(r);
    for (const DeviceReduction& r : passes_.reductions()) make(r);
    finish(failure);
    domain_.context().comm().agree([&] { failure.rethrow(); });
}

// ---- forward ----

void DeviceGradients::begin(bool alive) {
    DeviceFindings fresh;
    fresh.poisoned = alive ? 0 : 1;
    device_.write(columns_.findings, &fresh, sizeof fresh, stream());
    const int64_t n_byte = inputs_.bytes();
    // A rank that is not alive has gathered nothing that may be read.
    if (alive && n_byte > 0) device_.copy(device_inputs_, inputs_.data(), n_byte, stream());
    if (!alive && n_byte > 0) device_.clear(device_inputs_, n_byte, stream());
    forward_.begin(columns_, stream());
}

void DeviceGradients::keep(float* rows) {
    kernels_.gradients->rows(properties(), {shape(), n_point_, forward_.x(), rows}, stream());
}

void DeviceGradients::end() {
    keep(passes_.last());
    forward_.end(columns_, stream());
    const int64_t n_byte = outputs_.bytes();
    if (n_byte > 0) device_.copy(outputs_.data(), device_outputs_, n_byte, stream());
    device_.copy(&found().findings, columns_.findings, sizeof(DeviceFindings), stream());
}

void DeviceGradients::enqueue_blocks(DeviceSteps& steps) {
    const LatentArgs latents = forward_.latent_args(columns_.findings);
    int64_t i = 0;
    for (const DeviceBlock& block : forward_.weights().layers().blocks) {
        const KeptBlock& kept = passes_.kept(i++);
        steps.compute([&] {
            keep(kept.x);
            forward_.encode(block, stream());
            kernels_.maxima(properties(), latents, stream());
        });
        steps.reduce(forward_.maxima());
        steps.compute([&] { kernels_.sums(properties(), latents, stream()); });
        steps.reduce(forward_.sums());
        steps.compute([&] {
            kernels_.latents(properties(), latents, stream());
            kernels_.gradients->kept_latents(
                properties(),
                {sizes(), latents.maxima, static_cast<const float*>(latents.sums), kept.z,
                 kept.log_sum},
                stream());
            forward_.decode(block, stream());
        });
    }
}

bool DeviceGradients::evaluate(bool alive) {
    FirstFailure failure;
    if (late_) failure.guard([&] { std::rethrow_exception(std::exchange(late_, nullptr)); });
    failure.guard([&] { context_.before_reductions(stream()); });
    found() = {};
    DeviceSteps steps(context_, stream(), failure);
    steps.compute([&] { begin(alive); });
    enqueue_blocks(steps);
    steps.compute([&] { end(); });
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
    if (alive) alive = doutputs_.gather(doutputs, outside_).column < 0;
    const bool wants_inputs = !dinputs.empty();
    FirstFailure failure;
    failure.guard([&] { context_.before_reductions(stream()); });
    found().lost = 0;
    DeviceSteps steps(context_, stream(), failure);
    steps.compute([&] {
        if (!alive || n_point_ == 0) return;
        const float* const from = inputs_.data();
        auto* const to = static_cast<float*>(input_rows_.get());
        for (int64_t i = 0; i < n_point_; ++i)
            for (int64_t c = 0; c < config_.in_dim; ++c)
                to[i * config_.in_dim + c] = from[c * n_point_ + i];
        device_.copy(passes_.inputs(), to, inputs_.bytes(), stream());
        device_.copy(passes_.doutputs(), doutputs_.data(), doutputs_.bytes(), stream());
    });
    passes_.enqueue(steps, alive, wants_inputs);
    steps.compute([&] {
        device_.copy(results_.get(), passes_.results(), results_bytes(), stream());
        device_.copy(&found().lost, passes_.lost(), 4, stream());
        if (wants_inputs && n_point_ > 0)
            device_.copy(dinputs_.data(), passes_.dinputs(), dinputs_.bytes(), stream());
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
    if (wants_inputs) dinputs_.scatter(dinputs, alive);
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

/// Adds the gradients of latent_q and q_norm, computed from the gradients dq (H, M, D) of the
/// scaled queries as in GradientPasses.
void DeviceGradients::add_queries(int64_t i, const double* dq, double* arena) {
    const BlockWeights<float>& block = layers_.blocks[static_cast<size_t>(i)];
    const BlockPlaces& places = passes_.places().blocks[static_cast<size_t>(i)];
    double* const to = arena + places.latent_q;
    const Sizes& s = sizes();
    const auto for_all = [&](const auto& body) { for_latents(s, config_.shared_latents, body); };
    const auto scaled = [&](int64_t row, int64_t m) {
        return config_.attn_scale * dq[latent_offset(s, false, row, m)];
    };
    if (!config_.qk_norm) {
        for_all([&](int64_t row, int64_t m, int64_t offset) { to[offset] += scaled(row, m); });
        return;
    }
    const int64_t n_row = s.n_row();
    for_all([&](int64_t row, int64_t m, int64_t offset) {
        dq_[row * n_row + m] = static_cast<float>(scaled(row, m));
        raw_queries_[row * n_row + m] = block.latent_q[offset];
    });
    query_norm_backward(queue_, block.q_norm, raw_queries_.data(), LatentSums<float>{s, dq_.data()},
                        places.q_norm.in(arena));
    for_all([&](int64_t row, int64_t m, int64_t offset) { to[offset] += dq_[row * n_row + m]; });
}

std::vector<std::string> DeviceGradients::notes() const {
    const int64_t n_reduction = std::ssize(passes_.reductions()) * config_.num_blocks;
    int64_t n_byte = 0;
    for (const DeviceReduction& r : passes_.reductions()) n_byte += r.bytes() * n_reduction;
    return {"gradients: the backward pass sends " + std::to_string(n_byte) + " bytes in " +
                std::to_string(n_reduction) +
                " collectives between blocks; blocks are computed again from what was before them, "
                "their products in " +
                std::string(kernels::name(operand_of_gradients(forward_.weights().operand()))),
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
