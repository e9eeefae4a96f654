// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/attention_gradient.hpp"

#include <algorithm>
#include <numbers>

#include "kernels/sphere/attention_backward.hpp"

namespace surrogate::impl::sphere {

template <class T>
AttentionGradient<T>::AttentionGradient(const Frame& frame, const AttentionLayer<T>& layer,
                                        const Attention& config, const MasterWeights& master,
                                        const std::string& prefix)
    : frame_(frame), layer_(layer), config_(config) {
    if (config.bias && !config.scales_bias) {
        throw Error(
            Status::not_supported,
            "attention with biases of torch-harmonics before 0.9.1, where the scale does not "
            "act on the bias of q, cannot be trained; without biases, or with conventions of "
            "0.9.1 on, it can");
    }
    const auto pair = [&](const char* which) {
        const std::string name = prefix + which;
        return GradientPair(master, name + "_weights", config.bias ? name + "_bias" : "");
    };
    q_ = pair("q");
    k_ = pair("k");
    v_ = pair("v");
    proj_ = pair("proj");
    if (config.qk_norm) {
        q_norm_ = GradientSlot(master, prefix + "q_norm_weights");
        k_norm_ = GradientSlot(master, prefix + "k_norm_weights");
    }
    factor_ = Buffer<T>(config.n_key);
    no_shift_ = Buffer<T>(config.n_key);
    std::ranges::fill(factor_, static_cast<T>(config.scale * std::numbers::log2e));
}

template <class T>
void AttentionGradient<T>::prepare(const Frame& frame, const Attention& config, Range own_rows,
                                   Forward& forward, Workspace& ws) {
    const int n_thread = frame.queue.n_thread();
    const int64_t n_lon = config.in.n_lon;
    const kernels::Heads heads{config.n_head, config.key_dim(), config.value_dim()};
    forward.keeps = true;
    forward.kept_averages = Field<T>(own_rows, n_lon, config.n_value);
    forward.kept_sums = Field<T>(own_rows, n_lon, 2 * config.n_head);
    ws.own_rows = ws.held_rows = own_rows;
    if (config.is_global) {
        if (own_rows.size() > 0) ws.held_rows = {0, config.out.n_lat};
        ws.scratch_step = kernels::attend_scratch(heads);
    } else if (own_rows.size() > 0) {
        ws.stencil = kernels::sphere::transposed_neighborhood(
            config.out, config.in, config.theta_cutoff, own_rows.begin, own_rows.end);
        const auto [low, high] =
            std::ranges::minmax(ws.stencil.strips, {}, &kernels::sphere::Strip::row);
        ws.held_rows = hull(own_rows, {low.row, high.row + 1});
        ws.scratch_step = kernels::sphere::neighborhood_backward_scratch(heads);
    }
    const auto layout = [&](int64_t n_channel) {
        return RingLayout(ws.held_rows.begin, ws.held_rows.end, 1, n_lon, n_channel,
                          ws.stencil.strips);
    };
    ws.query_layout = layout(config.n_key);
    ws.slope_layout = layout(config.n_value);
    ws.sums_layout = layout(2 * config.n_head);
    ws.query_memory = Buffer<T>(ws.query_layout.size());
    ws.slope_memory = Buffer<T>(ws.slope_layout.size());
    ws.sums_memory = Buffer<T>(ws.sums_layout.size());
    ws.dq = Field<T>(own_rows, n_lon, config.n_key);
    ws.dk = Field<T>(own_rows, n_lon, config.n_key);
    ws.dv = Field<T>(own_rows, n_lon, config.n_value);
    ws.scratch_step = round_up(std::max(ws.scratch_step, config.key_dim()), 16);
    ws.scratch = Buffer<T>(ws.scratch_step * n_thread);

    // Rows taken together read what they see once; threads want a few blocks each.
    const int64_t n_tile = (n_lon + tile_points - 1) / tile_points;
    const int64_t most_rows =
        std::clamp<int64_t>(own_rows.size() * n_tile / (6 * n_thread), 1,
                            static_cast<int64_t>(kernels::sphere::max_block_rows));
    const auto schedule = [&](const Stencil& stencil) {
        const auto cost = [&](int64_t row) {
            return config.is_global ? 1.0 : static_cast<double>(stencil.pairs(row));
        };
        return Schedule(rows_of(own_rows), n_lon, tile_points, n_thread, cost,
                        config.is_global ? 1 : most_rows);
    };
    ws.queries = schedule(forward.stencil);
    ws.keys = schedule(ws.stencil);
}

template <class T>
void AttentionGradient<T>::connect(const Frame& frame, const Attention& config, const Bands& bands,
                                   Workspace& ws) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        bands.add_wants({ws.held_rows.begin, ws.own_rows.begin}, wants);
        bands.add_wants({ws.own_rows.end, ws.held_rows.end}, wants);
    });
    const int64_t n_channel = config.n_key + config.n_value + 2 * config.n_head;
    ws.exchange.connect(frame.comm, std::move(wants), n_channel * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void AttentionGradient<T>::require(const Attention& config, Scratch<T>& scratch) {
    scratch.require(AttentionLayer<T>::heads_slot, config.n_value);
    scratch.require(raw_slot, config.n_key);
}

template <class T>
int64_t AttentionGradient<T>::Workspace::bytes() const {
    return query_memory.bytes() + slope_memory.bytes() + sums_memory.bytes() + dq.bytes() +
           dk.bytes() + dv.bytes() + stencil.bytes() + scratch.bytes() + exchange.bytes();
}

template <class T>
LayerCost AttentionGradient<T>::cost(const std::string& name, const Workspace& ws) const {
    LayerCost cost{.name = name};
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    const double points = count(ws.own_rows.size() * config_.out.n_lon);
    double pairs = 0;
    if (config_.is_global) {
        pairs = points * count(config_.in.n_lat * config_.in.n_lon);
    } else {
        for (int64_t row = ws.own_rows.begin; row < ws.own_rows.end; ++row)
            pairs += count(ws.stencil.pairs(row) * ws.stencil.n_column);
    }
    // Products: two of every projection. Pairs: scores and slopes on both sides, dq, dk and dv.
    cost.flops = 4 * points *
                     count(config_.n_in * (2 * config_.n_key + config_.n_value) +
                           config_.n_value * config_.n_value) +
                 2 * pairs * count(4 * config_.n_key + 3 * config_.n_value);
    cost.exponentials = 2 * pairs * count(config_.n_head);
    cost.bytes_sent = ws.exchange.n_item_sent() *
                      (config_.n_key + config_.n_value + 2 * config_.n_head) *
                      static_cast<int64_t>(sizeof(T));
    cost.collectives = ws.exchange.collectives();
    cost.messages = ws.exchange.n_message();
    return cost;
}

template class AttentionGradient<float>;
template class AttentionGradient<double>;

}  // namespace surrogate::impl::sphere
