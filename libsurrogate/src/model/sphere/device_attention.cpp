// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_attention.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace surrogate::impl::sphere {

using kernels::DeviceChannels;
using kernels::Linear;
using kernels::plain_channels;

namespace {

constexpr int64_t group_width = 8;  // of operands

/// n_part times the heads.
DeviceChannels channels_of(const Attention& attention, int64_t n_part) {
    return kernels::head_channels(n_part * attention.n_head, attention.key_dim());
}

/// Appends values times a factor, rounded once.
void append(std::vector<float>& to, const float* values, int64_t n, double factor) {
    for (int64_t i = 0; i < n; ++i)
        to.push_back(static_cast<float>(static_cast<double>(values[i]) * factor));
}

/// Products of weights that the host precomputes, in the order of the official code.
std::vector<float> log_weights(const Grid& grid) {
    std::vector<float> list;
    for (const double node : kernels::latitudes(grid.kind, grid.n_lat).weight) {
        const float weight = static_cast<float>(2 * std::numbers::pi) * static_cast<float>(node) /
                             static_cast<float>(grid.n_lon);
        list.push_back(weight > 0 ? std::log2(weight) : -std::numeric_limits<float>::infinity());
    }
    return list;
}

}  // namespace

DeviceAttention lay_out_attention(DeviceImage& image, const Weights<float>& weights,
                                  const Attention& a, const std::string& prefix) {
    const int64_t n = a.n_in;
    const double factor = a.scale * std::numbers::log2e;
    std::vector<float> weight, bias;
    append(weight, weights.at(prefix + "q_weights"), n * a.n_key, factor);
    append(weight, weights.at(prefix + "k_weights"), n * a.n_key, 1);
    append(weight, weights.at(prefix + "v_weights"), n * a.n_value, 1);
    if (a.bias) {
        append(bias, weights.at(prefix + "q_bias"), a.n_key,
               a.scales_bias ? factor : std::numbers::log2e);
        append(bias, weights.at(prefix + "k_bias"), a.n_key, 1);
        append(bias, weights.at(prefix + "v_bias"), a.n_value, 1);
    }
    const Linear<float> qkv{n, 2 * a.n_key + a.n_value, weight.data(),
                            a.bias ? bias.data() : nullptr};
    const std::string proj = prefix + "proj";
    return {image.linear(plain_channels(n), channels_of(a, 3), qkv,
                         prefix + "q_weights, k_weights, v_weights"),
            image.linear(channels_of(a, 1), plain_channels(a.n_value),
                         weights.linear(proj + "_weights", a.bias ? proj + "_bias" : "", a.n_value,
                                        a.n_value),
                         proj)};
}

AttentionStage::AttentionStage(const Attention& attention, kernels::Operand operand, Range rows)
    : attention_(attention),
      operand_(operand),
      own_(rows),
      grid_(device_grid(attention.out, rows)),
      qkv_(channels_of(attention, 3)),
      heads_(channels_of(attention, 1)) {
    if (attention.is_global) {
        held_ = rows.size() > 0 ? Range{0, attention.in.n_lat} : rows;
    } else {
        const kernels::sphere::Stencil seen = kernels::sphere::neighborhood(
            attention.out, attention.in, attention.theta_cutoff, rows.begin, rows.end);
        held_ = rows.size() > 0 ? hull(rows, rows_read(seen)) : rows;
        neighbors_.emplace(seen, held_.begin);
    }
    const std::vector<float> weights = log_weights(attention.in);
    log_weight_.assign(weights.begin() + held_.begin, weights.begin() + held_.end);
}

RingExchange AttentionStage::exchange(const Bands& bands, const Wanted& wanted, int rank) const {
    return {bands, wanted, rank, grid_.ring_tiles(), 2 * query_words()};
}

RingMemory AttentionStage::rings(void* qkv) const {
    return {static_cast<uint32_t*>(qkv) + query_words(), held_.begin, ring_bytes() / 4,
            ring_bytes() / 4 / grid_.ring_tiles()};
}

void* AttentionStage::own(void* qkv) const {
    return static_cast<char*>(qkv) + (own_.begin - held_.begin) * ring_bytes();
}

void AttentionStage::add_to(DeviceArena& arena) {
    averages_at_ = arena.add(kernels::operand_bytes(operand_) * device_rows(grid_) * heads_.width);
    log_weight_at_ = arena.add(std::ssize(log_weight_) * int64_t{sizeof(float)});
    if (neighbors_) neighbors_->add_to(arena);
}

int64_t AttentionStage::qkv_bytes() const {
    return held_.size() * ring_bytes();
}

kernels::sphere::AttendArgs AttentionStage::args(const DeviceArena& arena, const void* qkv) const {
    kernels::sphere::AttendArgs args;
    args.operand = operand_;
    args.grid = grid_;
    args.first_ring = static_cast<int32_t>(own_.begin - held_.begin);
    args.n_key_ring = static_cast<int32_t>(held_.size());
    args.qkv = qkv;
    args.n_group = qkv_.width / group_width;
    args.n_head = static_cast<int32_t>(attention_.n_head);
    args.head_groups = static_cast<int32_t>(heads_.n_dim_padded / group_width);
    if (neighbors_) {
        const kernels::sphere::DeviceStencil stencil = neighbors_->in(arena);
        args.strips = stencil.strips;
        args.begin = stencil.begin;
    }
    args.log_weight = arena.at<float>(log_weight_at_);
    args.to = arena.at<void>(averages_at_);
    args.to_groups = heads_.width / group_width;
    return args;
}

LayerCost AttentionStage::cost(const std::string& name) const {
    const auto n = static_cast<double>(grid_.n_point());
    const auto c = static_cast<double>(attention_.n_value);
    const double pairs =
        neighbors_ ? neighbors_->n_pair() : n * static_cast<double>(held_.size() * grid_.n_lon);
    return {.name = name,
            .flops = 8 * n * c * c + 4 * pairs * c,
            .exponentials = pairs * static_cast<double>(attention_.n_head)};
}

}  // namespace surrogate::impl::sphere
