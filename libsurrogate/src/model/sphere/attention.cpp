// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/attention.hpp"

#include <algorithm>
#include <numbers>

#include "libsurrogate/src/model/sphere/band_choice.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Returns the work per pair, relative to the projections of a column. A multiply-add of scores and
/// averages runs at about two thirds of the speed of a matrix product, and the exponential counts
/// as ten.
double pair_cost(const Attention& a) {
    return 1.5 * 2 * static_cast<double>(a.n_key + a.n_value) +
           20.0 * static_cast<double>(a.n_head);
}

double projection_flops(const Attention& a) {
    const auto n = [](int64_t i) { return static_cast<double>(i); };
    return 2 * n(a.n_in) * (2 * n(a.n_key) + n(a.n_value)) + 2 * n(a.n_value) * n(a.n_value);
}

template <class T>
Derived<T> scaled(const Weights<T>& weights, const T* values, int64_t n, double factor) {
    return weights.derive(n, [=](T* to) {
        for (int64_t i = 0; i < n; ++i)
            to[i] = static_cast<T>(static_cast<double>(values[i]) * factor);
    });
}

/// Most input points of a query.
int64_t most_neighbors(const Stencil& stencil) {
    int64_t most = 0;
    for (size_t list = 0; list < static_cast<size_t>(stencil.n_list()); ++list) {
        int64_t n = 0;
        for (int64_t i = stencil.begin[list]; i < stencil.begin[list + 1]; ++i)
            n += stencil.strips[static_cast<size_t>(i)].count;
        most = std::max(most, n);
    }
    return most;
}

/// Rows of a block of neighborhood attention at most: with 8 a layer is 4 % slower (sphere.md).
constexpr int64_t rows_a_block = 4;
static_assert(rows_a_block <= static_cast<int64_t>(kernels::sphere::max_block_rows));

/// Returns whether the queries of a row reach only keys of `own`.
bool is_interior(const Stencil& stencil, int64_t row, Range own) {
    for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase) {
        for (const auto& strip : stencil.list(row, phase)) {
            const int64_t key_row = strip.row / stencil.n_phase_in;
            if (key_row < own.begin || key_row >= own.end) return false;
        }
    }
    return true;
}

}  // namespace

Range rows_of_strips(const Stencil& stencil) {
    if (stencil.strips.empty()) return {0, 0};
    int32_t low = stencil.strips[0].row, high = low;
    for (const auto& strip : stencil.strips) {
        low = std::min(low, strip.row);
        high = std::max(high, strip.row);
    }
    return {low / stencil.n_phase_in, high / stencil.n_phase_in + 1};
}

template <class T>
AttentionLayer<T>::AttentionLayer(const Frame& frame, const Attention& config,
                                  const Weights<T>& weights, const std::string& prefix)
    : frame_(frame), config_(config), heads_{config.n_head, config.key_dim(), config.value_dim()} {
    const auto linear = [&](const char* which, int64_t n_in, int64_t n_out) {
        const std::string name = prefix + which;
        return weights.linear(name + "_weights", config.bias ? name + "_bias" : "", n_in, n_out);
    };
    q_ = linear("q", config.n_in, config.n_key);
    k_ = linear("k", config.n_in, config.n_key);
    v_ = linear("v", config.n_in, config.n_value);
    proj_ = linear("proj", config.n_value, config.n_value);

    // Scores come out in base 2.
    const double log2_e = std::numbers::log2e, factor = config.scale * log2_e;
    if (config.qk_norm) {
        q_norm_ = weights.at(prefix + "q_norm_weights");
        k_norm_ = weights.at(prefix + "k_norm_weights");
        q_scale_ = Buffer<T>(config.n_key);
        q_shift_ = Buffer<T>(config.n_key);
        std::fill(q_scale_.begin(), q_scale_.end(), static_cast<T>(factor));
    } else {
        q_weight_ = scaled(weights, q_.weight, config.n_key * config.n_in, factor);
        q_.weight = q_weight_.data();
        if (q_.bias) {
            q_bias_ = scaled(weights, q_.bias, config.n_key, config.scales_bias ? factor : log2_e);
            q_.bias = q_bias_.data();
        }
    }

    const auto nodes = kernels::latitudes(config.in.kind, config.in.n_lat);
    const int64_t n_phase =
        config.is_global ? 1 : std::max<int64_t>(1, config.in.n_lon / config.out.n_lon);
    row_weight_ = Buffer<T>(config.in.n_lat * n_phase);
    for (int64_t i = 0; i < row_weight_.size(); ++i) {
        // In this order in the type of the fields, as the official code does.
        const auto weight = static_cast<T>(nodes.weight[static_cast<size_t>(i / n_phase)]);
        row_weight_[i] =
            static_cast<T>(2 * std::numbers::pi) * weight / static_cast<T>(config.in.n_lon);
    }
}

/// Distribution of keys. A rank averages over ws.key_rows and projects ws.own_keys; it holds both,
/// because rows that others need must be here even if this rank has no queries of its own.
template <class T>
void AttentionLayer<T>::prepare(const Frame& frame, const Attention& config, Range out_rows,
                                const Bands* key_bands, Workspace& ws, Range also) {
    const int n_thread = frame.queue.n_thread();
    const int64_t n_lon = config.out.n_lon;
    ws.out_rows = out_rows;
    ws.is_divided = key_bands && key_bands->is_divided();
    ws.share = ws.is_divided ? key_bands->share_of(frame.rank())
                             : Range{out_rows.begin * n_lon, out_rows.end * n_lon};
    const Range rows = {ws.share.begin / n_lon, (ws.share.end + n_lon - 1) / n_lon};
    ws.queries = Field<T>(rows, n_lon, config.n_key);
    Phases phases{1, 1, config.in.n_lon, config.out.n_lon};
    if (config.is_global) {
        ws.key_rows = out_rows.size() > 0 ? Range{0, config.in.n_lat} : Range{0, 0};
    } else {
        ws.stencil = kernels::sphere::neighborhood(config.out, config.in, config.theta_cutoff,
                                                   rows.begin, rows.end);
        phases = {ws.stencil.n_phase_in, ws.stencil.n_phase_out, ws.stencil.n_column,
                  ws.stencil.n_column};
        ws.key_rows = rows_of_strips(ws.stencil);
    }
    ws.key_rows = hull(ws.key_rows, also);
    ws.own_keys = key_bands ? key_bands->of(frame.rank()) : ws.key_rows;
    if (ws.own_keys.size() == 0) ws.own_keys = {ws.key_rows.begin, ws.key_rows.begin};
    ws.key_rows = hull(ws.key_rows, ws.own_keys);
    prepare_rings(config, phases, ws);
    ws.key_tiles = even_schedule(ws.own_keys, config.in.n_lon, n_thread);
    ws.query_tiles = even_schedule(out_rows, config.out.n_lon, n_thread);
    const kernels::Heads heads{config.n_head, config.key_dim(), config.value_dim()};
    if (config.is_global) {
        ws.states = Buffer<T>(ws.query_tiles.size() * kernels::SoftmaxState<T>::size(heads));
        ws.scratch_step = kernels::attend_scratch(heads);
    } else {
        prepare_neighborhood(frame, config, heads, ws);
    }
    ws.scratch_step = round_up(ws.scratch_step, 16);
    ws.scratch = Buffer<T>(ws.scratch_step * n_thread);
}

template <class T>
void AttentionLayer<T>::prepare_kept(const Frame& frame, const Attention& config, Workspace& ws) {
    const Range rows = ws.queries.rows();
    ws.keeps = true;
    ws.kept_sums = Field<T>(rows, config.out.n_lon, 2 * config.n_head);
    if (ws.stencil.n_phase_out == 1) {
        ws.kept_averages = Field<T>(rows, config.out.n_lon, config.n_value);
        return;
    }
    ws.sums_step = ws.block_step / config.n_value * config.n_head;
    ws.block_sums = Buffer<T>(frame.queue.n_thread() * ws.sums_step);
}

/// Memory of keys, values and queries, as the kernels read them.
template <class T>
void AttentionLayer<T>::prepare_rings(const Attention& config, const Phases& phases,
                                      Workspace& ws) {
    const Range held = ws.key_rows, out_rows = ws.queries.rows();
    const std::span<const kernels::sphere::Strip> strips = ws.stencil.strips;
    ws.key_layout =
        RingLayout(held.begin, held.end, phases.in, phases.n_column_in, config.n_key, strips);
    ws.value_layout =
        RingLayout(held.begin, held.end, phases.in, phases.n_column_in, config.n_value, strips);
    ws.key_memory = Buffer<T>(ws.key_layout.size());
    ws.value_memory = Buffer<T>(ws.value_layout.size());
    if (phases.in > 1) {
        ws.keys = Field<T>(held, config.in.n_lon, config.n_key);
        ws.values = Field<T>(held, config.in.n_lon, config.n_value);
    }
    if (phases.out > 1) {
        ws.averages = Field<T>(out_rows, config.out.n_lon, config.n_value);
        ws.query_layout = RingLayout(out_rows.begin, out_rows.end, phases.out, phases.n_column_out,
                                     config.n_key, {});
        ws.query_memory = Buffer<T>(ws.query_layout.size());
    }
}

/// Divides query rows into blocks. Interior blocks reach own keys only, and are computed while the
/// keys of other ranks are exchanged. Only the first row of a share may belong to another rank.
template <class T>
void AttentionLayer<T>::prepare_neighborhood(const Frame& frame, const Attention& config,
                                             const kernels::Heads& heads, Workspace& ws) {
    const Range rows = ws.queries.rows();
    const int64_t n_column = ws.stencil.n_column, n_phase = ws.stencil.n_phase_out;
    const Range points = {ws.share.begin / n_phase, ws.share.end / n_phase};
    const int n_thread = frame.queue.n_thread();
    std::vector<int64_t> interior, boundary;
    const bool has_arriving = ws.share.size() > 0 && points.begin % n_column > 0;
    for (int64_t row = rows.begin + has_arriving; row < rows.end; ++row)
        (is_interior(ws.stencil, row, ws.own_keys) ? interior : boundary).push_back(row);
    const auto cost = [&](int64_t row) {
        return static_cast<double>(ws.stencil.pairs(row)) * pair_cost(config);
    };
    // Rows taken together read their keys once; threads want a few blocks each.
    const int64_t n_tile = (n_column + tile_points - 1) / tile_points;
    const int64_t most_rows =
        std::clamp<int64_t>(rows.size() * n_tile / (6 * n_thread), 1, rows_a_block);
    const auto schedule = [&](const std::vector<int64_t>& some) {
        return Schedule(some, n_column, tile_points, n_thread, cost, most_rows, points);
    };
    ws.interior = schedule(interior);
    ws.boundary = schedule(boundary);
    if (has_arriving) {
        ws.arriving = schedule({rows.begin});
        ws.arriving_averages = Field<T>({rows.begin, rows.begin + 1}, n_column, config.n_value);
    }
    ws.block_step = most_rows * config.n_value * tile_step;
    ws.block_averages = Buffer<T>(n_thread * ws.block_step);
    ws.scratch_step =
        kernels::sphere::neighborhood_scratch(heads, most_rows * most_neighbors(ws.stencil));
}

template <class T>
void AttentionLayer<T>::connect(const Frame& frame, const Attention& config, const Bands* key_bands,
                                Workspace& ws) {
    std::vector<NeighborExchange::Want> wants, averages;
    frame.comm.agree([&] {
        if (!key_bands) return;
        key_bands->add_wants({ws.key_rows.begin, ws.own_keys.begin}, wants);
        key_bands->add_wants({ws.own_keys.end, ws.key_rows.end}, wants);
        if (!ws.is_divided) return;
        key_bands->add_query_wants(frame.rank(), config.in.n_lat, wants);
        key_bands->add_average_wants(frame.rank(), averages);
    });
    const int64_t n_channel = config.n_key + config.n_value;
    const auto n_byte = static_cast<int64_t>(sizeof(T));
    ws.exchange.connect(frame.comm, std::move(wants), n_channel * n_byte);
    if (ws.is_divided)
        ws.average_exchange.connect(frame.comm, std::move(averages), config.n_value * n_byte);
}

template <class T>
int64_t AttentionLayer<T>::Workspace::bytes() const {
    return queries.bytes() + keys.bytes() + values.bytes() + averages.bytes() +
           query_memory.bytes() + key_memory.bytes() + value_memory.bytes() + states.bytes() +
           scratch.bytes() + block_averages.bytes() + kept_averages.bytes() + kept_sums.bytes() +
           block_sums.bytes() + stencil.bytes() + exchange.bytes() + average_exchange.bytes() +
           arriving_averages.bytes();
}

template <class T>
void AttentionLayer<T>::add_costs_to(std::vector<LayerCost>& list, const std::string& name,
                                     const Workspace& ws) const {
    LayerCost cost{.name = name};
    const Range rows = ws.out_rows;
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    double pairs = 0;
    if (config_.is_global) {
        pairs = count(rows.size() * config_.out.n_lon) * count(config_.in.n_lat * config_.in.n_lon);
    } else {
        const int64_t n_lon = config_.out.n_lon, n_phase = ws.stencil.n_phase_out;
        for (int64_t row = ws.stencil.first_row; row < ws.stencil.end_row; ++row) {
            const Range own = intersection(ws.share, {row * n_lon, (row + 1) * n_lon});
            pairs += count(ws.stencil.pairs(row)) * count(own.size() / n_phase);
        }
    }
    cost.flops = count(rows.size() * config_.out.n_lon) * projection_flops(config_) +
                 2 * pairs * count(config_.n_key + config_.n_value);
    cost.exponentials = pairs * count(config_.n_head);
    const auto add = [&](LayerCost& line, const NeighborExchange& exchange, int64_t n_channel) {
        line.bytes_sent = exchange.n_item_sent() * n_channel * static_cast<int64_t>(sizeof(T));
        line.collectives = exchange.collectives();
        line.messages = exchange.n_message();
        list.push_back(line);
    };
    add(cost, ws.exchange, config_.n_key + config_.n_value);
    if (!ws.is_divided) return;
    LayerCost averages{.name = name + " averages"};
    add(averages, ws.average_exchange, config_.n_value);
}

template class AttentionLayer<float>;
template class AttentionLayer<double>;

RowWork attention_work(const Attention& config) {
    return {projection_flops(config), pair_cost(config)};
}

std::vector<double> pair_costs(const Attention& config) {
    if (config.is_global || !(config.in == config.out)) return {};
    return row_costs(config.out, config.in, config.theta_cutoff, {0, pair_cost(config)});
}

}  // namespace surrogate::impl::sphere
