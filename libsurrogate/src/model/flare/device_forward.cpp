// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_forward.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Stream;
using kernels::flare::chunk_points;
using kernels::flare::DeviceKernels;
using kernels::flare::LatentArgs;
using kernels::flare::Sizes;

DeviceForward::DeviceForward(DeviceContext& context, std::shared_ptr<const DeviceWeights> weights,
                             DeviceArena& arena)
    : device_(context.device()),
      kernels_(context.kernels<DeviceKernels>("flare")),
      weights_(std::move(weights)),
      arena_(arena) {}

void DeviceForward::set_sizes(const ForwardSizes& sizes) {
    using enum DeviceReduction::Kind;
    sizes_ = sizes;
    const Sizes& s = shape().sizes;
    const int64_t n_sum = n_row() * (s.n_dim + 1);
    reductions_[0] = {max_float, nullptr, n_row() + (sizes_.reproducible ? s.n_head + 1 : 0)};
    reductions_[1] = {sum_float, nullptr, n_sum};
    if (sizes_.reproducible)
        reductions_[1] = {sum_int64, nullptr, n_sum * ExactGrid::limbs(sizes_.n_chunk_global)};
    if (!weights_->layers().blocks.empty()) {
        const DeviceBlock& block = weights_->layers().blocks.front();  // all have the same sizes
        geometry_ = kernels::flare::encode_geometry(
            device_.properties(), weights_->operand(), shape(),
            block.k_proj.n_layer + block.v_proj.n_layer, n_point(), sizes_.reproducible);
    }
    n_partial_ =
        sizes_.reproducible ? (n_point() + chunk_points - 1) / chunk_points : geometry_.n_block;
}

void DeviceForward::add_memory() {
    const Sizes& s = shape().sizes;
    const int64_t n_element = kernels::fragment_size(n_point(), shape().width);
    const int64_t k_bytes = kernels::operand_bytes(weights_->operand()) * n_element;
    x_ = arena_.add(4 * n_element);
    // The staging of columns is the memory of k, which lives only between first and last pass.
    k_ = arena_.add(std::max(k_bytes, sizes_.staging_bytes));
    partials_ = arena_.add(4 * n_partial_ * n_row() * (s.n_dim + 2));
    if (sizes_.n_chunk_global > 0) v_max_ = arena_.add(4 * s.n_head);
    maxima_ = arena_.add(maxima().bytes());
    sums_ = arena_.add(sums().bytes());
    z_ = arena_.add(kernels::flare::latent_bytes(weights_->operand(), shape()));
}

/// A failed rank sends NaN as sums. Integers cannot be NaN: there the flag behind the maxima is
/// set.
void DeviceForward::set_reductions(PinnedMemory failure_values) {
    const int64_t n_head = shape().sizes.n_head;
    poison_ = std::move(failure_values);
    float* maxima = static_cast<float*>(poison_.get());
    char* sums = static_cast<char*>(poison_.get()) + reductions_[0].bytes();
    std::fill_n(maxima, n_row(), kernels::flare::lowest_score<float>());
    if (sizes_.reproducible) {
        std::fill_n(maxima + n_row(), n_head, 0.0F);
        maxima[reductions_[0].count - 1] = 1;
        std::memset(sums, 0, static_cast<size_t>(reductions_[1].bytes()));
    } else {
        std::fill_n(reinterpret_cast<float*>(sums), reductions_[1].count,
                    std::numeric_limits<float>::quiet_NaN());
    }
    reductions_[0].values = arena_.at<void>(maxima_);
    reductions_[0].poison = maxima;
    reductions_[1].values = arena_.at<void>(sums_);
    reductions_[1].poison = sums;
}

LatentArgs DeviceForward::latent_args(kernels::DeviceFindings* findings) const {
    LatentArgs args;
    args.shape = shape();
    args.operand = weights_->operand();
    args.n_partial = n_partial_;
    args.partials = arena_.at<float>(partials_);
    args.v_max = sizes_.reproducible ? arena_.at<float>(v_max_) : nullptr;
    args.n_chunk_global = sizes_.n_chunk_global;
    args.maxima = arena_.at<float>(maxima_);
    args.sums = arena_.at<void>(sums_);
    args.z = arena_.at<void>(z_);
    args.findings = findings;
    return args;
}

void DeviceForward::begin(const DeviceColumns& columns, Stream stream) const {
    kernels_.begin(
        device_.properties(),
        {shape(), weights_->operand(), n_point(), columns.inputs, columns.n_input,
         weights_->layers().in_proj, arena_.at<float>(x_), columns.findings, columns.outside},
        stream);
}

void DeviceForward::encode(const DeviceBlock& block, Stream stream) const {
    kernels::flare::EncodeArgs args = weights_->encode_args(block);
    args.geometry = geometry_;
    args.n_point = n_point();
    args.x = arena_.at<float>(x_);
    args.k = arena_.at<void>(k_);
    args.partials = arena_.at<float>(partials_);
    if (sizes_.reproducible) {
        args.v_max = arena_.at<float>(v_max_);
        device_.clear(args.v_max, 4 * args.shape.sizes.n_head, stream);
    }
    kernels_.encode(device_.properties(), args, stream);
}

void DeviceForward::decode(const DeviceBlock& block, Stream stream) const {
    kernels::flare::DecodeArgs args = weights_->decode_args(block);
    args.n_point = n_point();
    args.k = arena_.at<void>(k_);
    args.z = arena_.at<void>(z_);
    args.x = arena_.at<float>(x_);
    kernels_.decode(device_.properties(), args, stream);
}

void DeviceForward::end(const DeviceColumns& columns, Stream stream) const {
    kernels_.end(
        device_.properties(),
        {shape(), weights_->operand(), n_point(), arena_.at<float>(x_), weights_->layers().out_norm,
         weights_->layers().out_proj, columns.outputs, columns.n_output, columns.findings},
        stream);
}

}  // namespace surrogate::impl::flare
