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

namespace {

/// Blocks of the columns of own rows, or of their phase rows. Rows taken together read what they
/// see once; threads want a few blocks each. stencil: null for global attention.
Schedule blocks(Range rows, int64_t n_column, int n_thread, const Stencil* stencil) {
    const int64_t n_tile = (n_column + tile_points - 1) / tile_points;
    const int64_t most_rows =
        std::clamp<int64_t>(rows.size() * n_tile / (6 * n_thread), 1,
                            static_cast<int64_t>(kernels::sphere::max_block_rows));
    const auto cost = [&](int64_t row) {
        return stencil ? static_cast<double>(stencil->pairs(row)) : 1.0;
    };
    return {rows_of(rows), n_column, tile_points, n_thread, cost, stencil ? most_rows : 1};
}

double pairs_of(Range rows, const Stencil& stencil) {
    double pairs = 0;
    for (int64_t row = rows.begin; row < rows.end; ++row)
        pairs += static_cast<double>(stencil.pairs(row) * stencil.n_column);
    return pairs;
}

Range phase_rows(Range rows, int64_t n_phase) {
    return {rows.begin * n_phase, rows.end * n_phase};
}

}  // namespace

template <class T>
void AttentionGradient<T>::prepare(const Frame& frame, const Attention& config, Range own_keys,
                                   Forward& forward, Workspace& ws) {
    const int n_thread = frame.queue.n_thread();
    const kernels::Heads heads{config.n_head, config.key_dim(), config.value_dim()};
    AttentionLayer<T>::prepare_kept(frame, config, forward);
    ws.own_queries = ws.held_queries = forward.queries.rows();
    ws.own_keys = own_keys;
    ws.query_phases = forward.query_layout.n_phase();
    ws.key_phases = forward.key_layout.n_phase();
    const int64_t query_columns = config.out.n_lon / ws.query_phases;
    const int64_t key_columns = config.in.n_lon / ws.key_phases;
    if (config.is_global) {
        if (own_keys.size() > 0) ws.held_queries = {0, config.out.n_lat};
        ws.scratch_step = kernels::attend_scratch(heads);
        const int64_t n_in = config.in.n_lat * config.in.n_lon;
        const int64_t n_out = config.out.n_lat * config.out.n_lon;
        ws.query_pairs = static_cast<double>(ws.own_queries.size() * config.out.n_lon * n_in);
        ws.key_pairs = static_cast<double>(own_keys.size() * config.in.n_lon * n_out);
    } else {
        if (own_keys.size() > 0) {
            ws.stencil = kernels::sphere::transposed_neighborhood(
                config.out, config.in, config.theta_cutoff, own_keys.begin, own_keys.end);
            ws.held_queries = hull(ws.own_queries, rows_of_strips(ws.stencil));
        }
        ws.scratch_step = kernels::sphere::neighborhood_backward_scratch(heads);
        ws.query_pairs = pairs_of(ws.own_queries, forward.stencil);
        ws.key_pairs = pairs_of(own_keys, ws.stencil);
    }
    const auto layout = [&](int64_t n_channel) {
        return RingLayout(ws.held_queries.begin, ws.held_queries.end, ws.query_phases,
                          query_columns, n_channel, ws.stencil.strips);
    };
    ws.query_layout = layout(config.n_key);
    ws.slope_layout = layout(config.n_value);
    ws.sums_layout = layout(2 * config.n_head);
    ws.query_memory = Buffer<T>(ws.query_layout.size());
    ws.slope_memory = Buffer<T>(ws.slope_layout.size());
    ws.sums_memory = Buffer<T>(ws.sums_layout.size());
    const Range key_rows = phase_rows(own_keys, ws.key_phases);
    ws.dq = Field<T>(phase_rows(ws.own_queries, ws.query_phases), query_columns, config.n_key);
    ws.dk = Field<T>(key_rows, key_columns, config.n_key);
    ws.dv = Field<T>(key_rows, key_columns, config.n_value);
    ws.scratch_step = round_up(std::max(ws.scratch_step, config.key_dim()), 16);
    ws.scratch = Buffer<T>(ws.scratch_step * n_thread);
    ws.queries = blocks(ws.own_queries, query_columns, n_thread,
                        config.is_global ? nullptr : &forward.stencil);
    ws.keys = blocks(own_keys, key_columns, n_thread, config.is_global ? nullptr : &ws.stencil);
}

template <class T>
void AttentionGradient<T>::connect(const Frame& frame, const Attention& config, const Bands& bands,
                                   Workspace& ws) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        const Range own = ws.own_queries, held = ws.held_queries;
        if (own.size() == 0) return bands.add_wants(held, wants);
        bands.add_wants({held.begin, own.begin}, wants);
        bands.add_wants({own.end, held.end}, wants);
    });
    const int64_t n_channel = config.n_key + config.n_value + 2 * config.n_head;
    ws.exchange.connect(frame.comm, std::move(wants), n_channel * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void AttentionGradient<T>::require(const Attention& config, Scratch<T>& scratch) {
    scratch.require(AttentionLayer<T>::heads_slot, config.n_value);
    scratch.require(raw_slot, config.n_key);
    if (config.in == config.out) return;
    scratch.require(row_slot, std::max(config.n_key, config.n_value));
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
    const double queries = count(ws.own_queries.size() * config_.out.n_lon);
    const double keys = count(ws.own_keys.size() * config_.in.n_lon);
    const int64_t n_in = config_.n_in, n_key = config_.n_key, n_value = config_.n_value;
    // Products: two of every projection. Pairs: scores and slopes on both sides, dq, dk and dv.
    cost.flops = 4 * queries * count(n_in * n_key + n_value * n_value) +
                 4 * keys * count(n_in * (n_key + n_value)) +
                 2 * ws.query_pairs * count(2 * n_key + n_value) +
                 2 * ws.key_pairs * count(2 * n_key + 2 * n_value);
    cost.exponentials = (ws.query_pairs + ws.key_pairs) * count(config_.n_head);
    cost.bytes_sent = ws.exchange.n_item_sent() * (n_key + n_value + 2 * config_.n_head) *
                      static_cast<int64_t>(sizeof(T));
    cost.collectives = ws.exchange.collectives();
    cost.messages = ws.exchange.n_message();
    return cost;
}

template class AttentionGradient<float>;
template class AttentionGradient<double>;

}  // namespace surrogate::impl::sphere
