// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_rows.hpp"

#include <algorithm>
#include <limits>

namespace surrogate::impl::flare {

using kernels::NormKind;
using kernels::RowNormArgs;
using kernels::RowProductArgs;
using kernels::RowSide;

RowWeights::RowWeights(DeviceContext& context, const Config& config, const Layers<float>& layers)
    : context_(context),
      layers_(layers),
      n_arena_(std::ssize(layers.weights.master().values())),
      n_query_(config.channel_dim * config.num_latents),
      stream_(context.device(), context.device().create_stream()) {
    const int64_t n_byte = 4 * (n_arena_ + std::ssize(layers.blocks) * n_query_);
    memory_.add(n_byte);
    memory_.take(context.device());
    host_ = pinned_memory(context.device(), n_byte);
    bring();
    refresh_ = layers.weights.master().on_refresh([this] { bring(); });
}

void RowWeights::bring() {
    auto* to = static_cast<float*>(host_.get());
    to = std::ranges::copy(layers_.weights.master().values(), to).out;
    for (const BlockWeights<float>& block : layers_.blocks)
        to = std::copy_n(block.queries.by_latent, n_query_, to);
    const int64_t n_byte = 4 * (to - static_cast<float*>(host_.get()));
    context_.replace(memory_.at<void>(0), host_.get(), n_byte, stream_.get());
}

namespace {

/// Rows of an array (n, width), and its columns as rows.
RowSide rows_of(const float* data, int64_t width) {
    return {data, width, 1};
}
RowSide columns_of(const float* data, int64_t width) {
    return {data, 1, width};
}

// As kernels::ResidualMlp says.
bool adds_input(const MlpShape& shape) {
    return shape.n_layer() > 1
               ? shape.residual_in && shape.n_in == shape.n_hidden
               : shape.residual_in && shape.residual_out && shape.n_in == shape.n_out;
}
bool adds_hidden(const MlpShape& shape) {
    return shape.n_layer() > 1 && shape.residual_out && shape.n_hidden == shape.n_out;
}

int64_t largest_layer(const MlpShape& shape) {
    const int64_t hidden = shape.n_layer() > 1 ? shape.n_hidden : 0;
    return std::max({shape.n_layer() > 1 ? shape.n_in * hidden : shape.n_in * shape.n_out,
                     hidden * hidden, hidden * shape.n_out}) +
           std::max(hidden, shape.n_out);
}

}  // namespace

int64_t RowLayers::n_part(int64_t n_point) const {
    const int64_t width = config_.channel_dim;
    int64_t most = std::max(width * config_.num_latents, width * width + width);
    for (const MlpShape* shape :
         {&config_.in_proj, &config_.out_proj, &config_.k_proj, &config_.v_proj, &config_.ffn})
        most = std::max(most, largest_layer(*shape));
    return (n_point + cut_.part_points - 1) / cut_.part_points * most;
}

void RowLayers::linear(const LinearPlace& place, int64_t n_in, int64_t n_out, const float* x,
                       const float* add, float* y) const {
    RowProductArgs args;
    args.operand = operand_;
    args.a = rows_of(x, n_in);
    args.b = rows_of(weights_.at(place.weight), n_in);
    args.n_row = n_;
    args.n_column = n_out;
    args.n_step = n_in;
    args.bias = place.bias < 0 ? nullptr : weights_.at(place.bias);
    args.add[0] = add;
    args.result = y;
    kernels_.product(properties(), args, stream_);
}

void RowLayers::linear_backward(const LinearPlace& place, int64_t n_in, int64_t n_out,
                                const float* dy, std::array<const float*, 2> add, float* dx) const {
    RowProductArgs args;
    args.operand = operand_;
    args.a = rows_of(dy, n_out);
    args.b = columns_of(weights_.at(place.weight), n_in);
    args.n_row = n_;
    args.n_column = n_in;
    args.n_step = n_out;
    args.add = add;
    args.result = dx;
    kernels_.product(properties(), args, stream_);
}

void RowLayers::linear_gradient(const LinearPlace& place, int64_t n_in, int64_t n_out,
                                const float* x, const float* dy) const {
    if (n_ == 0) return;
    RowProductArgs args;
    args.operand = operand_;
    args.a = columns_of(dy, n_out);
    args.b = columns_of(x, n_in);
    args.n_row = n_out;
    args.n_column = n_in;
    args.n_step = n_;
    args.steps_per_part = cut_.part_points;
    args.result = parts_;
    float* const biases = parts_ + args.n_part() * n_out * n_in;
    if (place.bias >= 0) args.row_sums = biases;
    kernels_.product(properties(), args, stream_);
    add_parts(parts_, args.n_part(), n_out * n_in, place.weight);
    if (place.bias >= 0) add_parts(biases, args.n_part(), n_out, place.bias);
}

void RowLayers::add_parts(const float* parts, int64_t n_part, int64_t n, int64_t place) const {
    kernels_.part_sums(properties(), {parts, n_part, n, arena_ + place}, stream_);
}

void RowLayers::add_latents(int64_t n_part, double* to) const {
    kernels_.part_sums(properties(),
                       {parts_, n_part, config_.channel_dim * config_.num_latents, to}, stream_);
}

void RowLayers::chain(const MlpShape& shape, const MlpPlace& place, const float* x,
                      const ChainMemory& memory, float* y) const {
    const auto n_layer = static_cast<size_t>(shape.n_layer());
    const float* input = x;
    int64_t n_in = shape.n_in;
    for (size_t j = 0; j + 1 < n_layer; ++j) {
        RowProductArgs args;
        args.operand = operand_;
        args.a = rows_of(input, n_in);
        args.b = rows_of(weights_.at(place.layers[j].weight), n_in);
        args.n_row = n_;
        args.n_column = shape.n_hidden;
        args.n_step = n_in;
        args.bias = weights_.at(place.layers[j].bias);
        args.activation = config_.activation;
        args.sum = memory.sums[j];
        args.result = memory.results[j];
        if (j > 0 || adds_input(shape)) args.add[0] = input;
        kernels_.product(properties(), args, stream_);
        input = memory.results[j];
        n_in = shape.n_hidden;
    }
    if (!y) return;
    const bool adds = n_layer > 1 ? adds_hidden(shape) : adds_input(shape);
    linear(place.layers.back(), n_in, shape.n_out, input, adds ? input : nullptr, y);
}

void RowLayers::chain_backward(const MlpShape& shape, const MlpPlace& place, const float* x,
                               const float* dy, const ChainMemory& memory, bool accumulate,
                               float* dx) const {
    const auto n_layer = static_cast<size_t>(shape.n_layer());
    const float* const before = accumulate ? dx : nullptr;
    if (n_layer == 1) {
        linear_gradient(place.layers[0], shape.n_in, shape.n_out, x, dy);
        if (dx)
            linear_backward(place.layers[0], shape.n_in, shape.n_out, dy,
                            {adds_input(shape) ? dy : nullptr, before}, dx);
        return;
    }
    linear_gradient(place.layers[n_layer - 1], shape.n_hidden, shape.n_out,
                    memory.results[n_layer - 2], dy);
    // gradient: of what layer j gives; slope: of its sum.
    const float* from = dy;
    int64_t n_from = shape.n_out;
    for (size_t j = n_layer - 1; j-- > 0;) {
        const bool is_last = j + 2 == n_layer;
        RowProductArgs args;
        args.operand = operand_;
        args.a = rows_of(from, n_from);
        args.b = columns_of(weights_.at(place.layers[j + 1].weight), shape.n_hidden);
        args.n_row = n_;
        args.n_column = shape.n_hidden;
        args.n_step = n_from;
        if (!is_last) args.add[0] = memory.gradient;
        if (is_last && adds_hidden(shape)) args.add[0] = dy;
        args.result = memory.gradient;
        args.activation = config_.activation;
        args.slope_at = memory.sums[j];
        args.sloped = memory.slopes[j % 2];
        kernels_.product(properties(), args, stream_);
        from = memory.slopes[j % 2];
        n_from = shape.n_hidden;
        const float* const input = j == 0 ? x : memory.results[j - 1];
        linear_gradient(place.layers[j], j == 0 ? shape.n_in : shape.n_hidden, shape.n_hidden,
                        input, from);
    }
    if (dx)
        linear_backward(place.layers[0], shape.n_in, shape.n_hidden, from,
                        {adds_input(shape) ? memory.gradient : nullptr, before}, dx);
}

RowNormArgs RowLayers::norm_args(const NormPlace& place, int64_t n_row, int64_t n_channel,
                                 const float* x) const {
    RowNormArgs args;
    args.kind = config_.rmsnorm ? NormKind::rms : NormKind::layer;
    args.eps = config_.rmsnorm ? std::numeric_limits<float>::epsilon() : 1e-5F;
    args.weight = weights_.at(place.weight);
    args.bias = place.bias < 0 ? nullptr : weights_.at(place.bias);
    args.n_row = n_ * n_row;
    args.n_channel = n_channel;
    args.x = x;
    return args;
}

void RowLayers::norm(const NormPlace& place, int64_t n_row, int64_t n_channel, const float* x,
                     float* y) const {
    RowNormArgs args = norm_args(place, n_row, n_channel, x);
    args.y = y;
    kernels_.norm(properties(), args, stream_);
}

void RowLayers::norm_backward(const NormPlace& place, int64_t n_row, int64_t n_channel,
                              const float* x, const float* dy, const float* residual,
                              float* moments, float* dx) const {
    if (n_ == 0) return;
    RowNormArgs args = norm_args(place, n_row, n_channel, x);
    args.dy = dy;
    args.residual = residual;
    args.moments = moments;
    args.dx = dx;
    kernels_.norm_backward(properties(), args, stream_);
    kernels::RowNormGradientArgs sums{args.n_row, n_channel, cut_.part_points * n_row, x, dy,
                                      moments,    parts_};
    kernels_.norm_gradient(properties(), sums, stream_);
    // Weights and biases of a part alternate: a pass each, with the other one's place left out.
    kernels::PartSumsArgs to{parts_, sums.n_part(), n_channel, arena_ + place.weight,
                             2 * n_channel};
    kernels_.part_sums(properties(), to, stream_);
    if (place.bias < 0) return;
    to.parts += n_channel;
    to.to = arena_ + place.bias;
    kernels_.part_sums(properties(), to, stream_);
}

}  // namespace surrogate::impl::flare
