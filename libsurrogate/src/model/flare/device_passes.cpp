// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_passes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::DeviceColumn;
using kernels::DeviceFindings;
using kernels::Stream;
using kernels::flare::chunk_points;
using kernels::flare::LatentArgs;
using kernels::flare::Sizes;

DevicePasses::DevicePasses(DeviceContext& context, std::shared_ptr<const DeviceWeights> weights,
                           const PassesRequest& request)
    : context_(context),
      device_(context.device()),
      kernels_(context.kernels<kernels::flare::DeviceKernels>("flare")),
      weights_(std::move(weights)),
      request_(request) {
    const Sizes& s = weights_->shape().sizes;
    const int64_t n_row = s.n_head * s.n_latent;
    n_maxima_ = n_row + (request_.reproducible ? s.n_head + 1 : 0);
    n_sums_ = n_row * (s.n_dim + 1);
    if (request_.reproducible) n_sums_ *= ExactGrid::limbs(request_.n_chunk_global);
    sums_bytes_ = n_sums_ * (request_.reproducible ? 8 : 4);
    if (!weights_->blocks().empty()) {
        const DeviceBlock& block = weights_->blocks().front();  // all have the same sizes
        geometry_ = kernels::flare::encode_geometry(
            device_.properties(), weights_->operand(), weights_->shape(),
            block.k_proj.n_layer + block.v_proj.n_layer, request_.n_point, request_.reproducible);
    }
    n_partial_ = request_.reproducible ? (request_.n_point + chunk_points - 1) / chunk_points
                                       : geometry_.n_block;
    kernels_.load(device_.properties(), weights_->operand(), weights_->shape().width);
    add_memory();
    set_poison();
    context_.collectives().reserve(std::max(4 * n_maxima_, sums_bytes_));
}

void DevicePasses::add_memory() {
    const kernels::flare::DeviceShape& shape = weights_->shape();
    const Sizes& s = shape.sizes;
    const int64_t n = request_.n_point;
    const int64_t n_element = kernels::fragment_size(n, shape.width);
    staging_bytes_ = 4 * n * std::max(request_.n_input, request_.n_output);
    x_ = arena_.add(4 * n_element);
    k_ = arena_.add(
        std::max(kernels::operand_bytes(weights_->operand()) * n_element, staging_bytes_));
    partials_ = arena_.add(4 * n_partial_ * s.n_head * s.n_latent * (s.n_dim + 2));
    v_max_ = arena_.add(4 * s.n_head);
    maxima_ = arena_.add(4 * n_maxima_);
    sums_ = arena_.add(sums_bytes_);
    z_ = arena_.add(kernels::flare::latent_bytes(weights_->operand(), shape));
    findings_ = arena_.add(record_bytes());
    in_ = arena_.add(request_.n_input * static_cast<int64_t>(sizeof(DeviceColumn)));
    out_ = arena_.add(request_.n_output * static_cast<int64_t>(sizeof(DeviceColumn)));
    arena_.take(device_);
}

/// What a rank sends that has no numbers: the sums NaN; integers cannot, there the flag behind the
/// maxima says it.
void DevicePasses::set_poison() {
    const Sizes& s = weights_->shape().sizes;
    const int64_t n_row = s.n_head * s.n_latent;
    poison_ = pinned_memory(device_, 4 * n_maxima_ + sums_bytes_ + 8);
    float* maxima = static_cast<float*>(poison_.get());
    std::fill_n(maxima, n_row, kernels::flare::lowest_score<float>());
    char* sums = static_cast<char*>(poison_.get()) + 4 * n_maxima_;
    if (request_.reproducible) {
        std::fill_n(maxima + n_row, s.n_head, 0.0F);
        maxima[n_maxima_ - 1] = 1;
        std::memset(sums, 0, static_cast<size_t>(sums_bytes_));
    } else {
        std::fill_n(reinterpret_cast<float*>(sums), n_sums_,
                    std::numeric_limits<float>::quiet_NaN());
    }
}

void DevicePasses::reduce_maxima(Stream stream) {
    ++n_reduction_;
    context_.collectives().all_reduce_max(arena_.at<float>(maxima_), n_maxima_, stream);
}

void DevicePasses::reduce_sums(Stream stream) {
    ++n_reduction_;
    if (request_.reproducible) {
        context_.collectives().all_reduce_sum(arena_.at<int64_t>(sums_), n_sums_, stream);
    } else {
        context_.collectives().all_reduce_sum(arena_.at<float>(sums_), n_sums_, stream);
    }
}

LatentArgs DevicePasses::latent_args() const {
    LatentArgs args;
    args.shape = weights_->shape();
    args.operand = weights_->operand();
    args.n_partial = n_partial_;
    args.partials = arena_.at<float>(partials_);
    args.v_max = request_.reproducible ? arena_.at<float>(v_max_) : nullptr;
    args.n_chunk_global = request_.n_chunk_global;
    args.maxima = arena_.at<float>(maxima_);
    args.sums = arena_.at<void>(sums_);
    args.z = arena_.at<void>(z_);
    args.findings = findings();
    return args;
}

void DevicePasses::begin(Stream stream) {
    kernels_.begin(
        device_.properties(),
        {weights_->shape(), weights_->operand(), request_.n_point, input_columns(),
         request_.n_input, weights_->in_proj(), arena_.at<float>(x_), findings(), outside()},
        stream);
}

void DevicePasses::encode(const DeviceBlock& block, Stream stream) {
    kernels::flare::EncodeArgs args;
    args.shape = weights_->shape();
    args.operand = weights_->operand();
    args.geometry = geometry_;
    args.n_point = request_.n_point;
    args.x = arena_.at<float>(x_);
    args.norm = block.norm1;
    args.k_norm = block.k_norm;
    args.k_proj = block.k_proj;
    args.v_proj = block.v_proj;
    args.queries = block.queries;
    args.k = arena_.at<void>(k_);
    args.partials = arena_.at<float>(partials_);
    if (request_.reproducible) {
        args.v_max = arena_.at<float>(v_max_);
        device_.clear(args.v_max, 4 * args.shape.sizes.n_head, stream);
    }
    kernels_.encode(device_.properties(), args, stream);
}

void DevicePasses::decode(const DeviceBlock& block, Stream stream) {
    kernels::flare::DecodeArgs args;
    args.shape = weights_->shape();
    args.operand = weights_->operand();
    args.n_point = request_.n_point;
    args.queries = block.queries;
    args.k = arena_.at<void>(k_);
    args.z = arena_.at<void>(z_);
    args.out_proj = block.out_proj;
    args.norm = block.norm2;
    args.ffn = block.ffn;
    args.x = arena_.at<float>(x_);
    kernels_.decode(device_.properties(), args, stream);
}

void DevicePasses::end(Stream stream) {
    kernels_.end(device_.properties(),
                 {weights_->shape(), weights_->operand(), request_.n_point, arena_.at<float>(x_),
                  weights_->out_norm(), weights_->out_proj(), output_columns(), request_.n_output,
                  findings()},
                 stream);
}

/// step(work, poison): what is done, and for reductions what lies in their place after a failure
/// (offset in the poison, destination, bytes).
template <class Step>
void DevicePasses::in_steps(const Step& step, Stream stream) {
    const kernels::DeviceProperties& properties = device_.properties();
    const LatentArgs latents = latent_args();
    step.compute([&] { begin(stream); });
    for (const DeviceBlock& block : weights_->blocks()) {
        step.compute([&] {
            encode(block, stream);
            kernels_.maxima(properties, latents, stream);
        });
        step.reduce(0, latents.maxima, 4 * n_maxima_, [&] { reduce_maxima(stream); });
        step.compute([&] { kernels_.sums(properties, latents, stream); });
        step.reduce(4 * n_maxima_, latents.sums, sums_bytes_, [&] { reduce_sums(stream); });
        step.compute([&] {
            kernels_.latents(properties, latents, stream);
            decode(block, stream);
        });
    }
    step.compute([&] { end(stream); });
}

namespace {

/// While recording: the first failure ends it, nobody waits.
struct Recorded {
    template <class Work>
    void compute(const Work& work) const {
        work();
    }
    template <class Work>
    void reduce(int64_t, void*, int64_t, const Work& work) const {
        work();
    }
};

/// While running: others wait for the reductions.
struct Guarded {
    kernels::Device& device;
    const char* poison;
    Stream stream;
    FirstFailure& failure;

    template <class Work>
    void compute(const Work& work) const {
        if (!failure) failure.guard(work);
    }
    template <class Work>
    void reduce(int64_t offset, void* to, int64_t n_byte, const Work& work) const {
        if (failure) failure.guard([&] { device.copy(to, poison + offset, n_byte, stream); });
        failure.guard(work);
    }
};

}  // namespace

void DevicePasses::prepare(Communicator& comm, Stream stream) {
    FirstFailure failure;
    failure.guard([&] {
        context_.before_reductions(stream);
        device_.clear(arena_.at<void>(maxima_), 4 * n_maxima_, stream);
        device_.clear(arena_.at<void>(sums_), sums_bytes_, stream);
    });
    if (!weights_->blocks().empty()) {
        failure.guard([&] { reduce_maxima(stream); });
        failure.guard([&] { reduce_sums(stream); });
        failure.guard([&] { context_.after_reductions(stream); });
    }
    failure.guard([&] { context_.collectives().wait(stream); });
    comm.agree([&] { failure.rethrow(); });
    if (!context_.collectives().is_enqueued()) return;
    comm.agree([&] {
        device_.begin_capture(stream);
        try {
            in_steps(Recorded{}, stream);
        } catch (...) {
            device_.abandon_capture(stream);
            throw;
        }
        graph_ = DeviceGraph(device_, device_.end_capture(stream));
    });
}

void DevicePasses::enqueue(Stream stream, FirstFailure& failure) {
    n_reduction_ = 0;
    failure.guard([&] { context_.before_reductions(stream); });
    if (graph_) {
        failure.guard([&] {
            context_.collectives().check();
            device_.launch(graph_.get(), stream);
            n_reduction_ = reductions * std::ssize(weights_->blocks());
            context_.collectives().count_launch(n_reduction_ / reductions * reduction_bytes(),
                                                n_reduction_);
        });
    } else {
        in_steps(Guarded{device_, static_cast<const char*>(poison_.get()), stream, failure},
                 stream);
    }
    failure.guard([&] { context_.after_reductions(stream); });
}

}  // namespace surrogate::impl::flare
