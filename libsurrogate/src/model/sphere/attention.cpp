// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/attention.hpp"

#include <cmath>
#include <numbers>

#include "kernels/norm/moments.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Tiles of queries that pass over a row of keys together, so that its keys are read from memory
/// once for them all.
constexpr int64_t tiles_a_pass = 4;

/// Work of a pair beside that of a column's projections: a multiply-add of scores and averages runs
/// at about two thirds of the speed of a matrix product, and the exponential counts as ten.
double pair_cost(const Attention& a) {
    return 1.5 * 2 * static_cast<double>(a.n_key + a.n_value) +
           20.0 * static_cast<double>(a.n_head);
}

double projection_flops(const Attention& a) {
    const auto n = [](int64_t i) { return static_cast<double>(i); };
    return 2 * n(a.n_in) * (2 * n(a.n_key) + n(a.n_value)) + 2 * n(a.n_value) * n(a.n_value);
}

template <class T>
Buffer<T> scaled(const T* values, int64_t n, double factor) {
    Buffer<T> copy(n);
    for (int64_t i = 0; i < n; ++i)
        copy[i] = static_cast<T>(static_cast<double>(values[i]) * factor);
    return copy;
}

Range rows_of_strips(const Stencil& stencil) {
    if (stencil.strips.empty()) return {0, 0};
    int32_t low = stencil.strips[0].row, high = low;
    for (const auto& strip : stencil.strips) {
        low = std::min(low, strip.row);
        high = std::max(high, strip.row);
    }
    return {low / stencil.n_phase_in, high / stencil.n_phase_in + 1};
}

}  // namespace

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
        q_weight_ = scaled(q_.weight, config.n_key * config.n_in, factor);
        q_.weight = q_weight_.data();
        if (q_.bias) {
            q_bias_ = scaled(q_.bias, config.n_key, config.scales_bias ? factor : log2_e);
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

template <class T>
Range AttentionLayer<T>::key_rows(const Attention& config, Range out_rows) {
    if (out_rows.size() == 0) return {0, 0};
    if (config.is_global) return {0, config.in.n_lat};
    return rows_of_strips(kernels::sphere::neighborhood(config.out, config.in, config.theta_cutoff,
                                                        out_rows.begin, out_rows.end));
}

template <class T>
void AttentionLayer<T>::prepare(const Frame& frame, const Attention& config, Range out_rows,
                                const Bands* key_bands, Workspace& ws) {
    const int n_thread = frame.queue.n_thread();
    const kernels::sphere::Heads heads{config.n_head, config.key_dim(), config.value_dim()};
    int64_t n_phase_in = 1, n_phase_out = 1, n_column_in = config.in.n_lon;
    int64_t n_column_out = config.out.n_lon, most_neighbors = 0;
    std::span<const kernels::sphere::Strip> strips;
    if (!config.is_global) {
        ws.stencil = kernels::sphere::neighborhood(config.out, config.in, config.theta_cutoff,
                                                   out_rows.begin, out_rows.end);
        n_phase_in = ws.stencil.n_phase_in;
        n_phase_out = ws.stencil.n_phase_out;
        n_column_in = n_column_out = ws.stencil.n_column;
        strips = ws.stencil.strips;
        for (int64_t list = 0; list < ws.stencil.n_list(); ++list) {
            int64_t n = 0;
            for (int64_t i = ws.stencil.begin[static_cast<size_t>(list)];
                 i < ws.stencil.begin[static_cast<size_t>(list) + 1]; ++i)
                n += strips[static_cast<size_t>(i)].count;
            most_neighbors = std::max(most_neighbors, n);
        }
        ws.key_rows = rows_of_strips(ws.stencil);
    } else {
        ws.key_rows = out_rows.size() > 0 ? Range{0, config.in.n_lat} : Range{0, 0};
    }
    ws.own_keys = key_bands ? key_bands->of(frame.rank()) : ws.key_rows;
    // Rows that others need must be here even if this rank has no queries of its own.
    const Range held = ws.key_rows.size() == 0 ? ws.own_keys
                       : ws.own_keys.size() == 0
                           ? ws.key_rows
                           : Range{std::min(ws.key_rows.begin, ws.own_keys.begin),
                                   std::max(ws.key_rows.end, ws.own_keys.end)};
    ws.key_rows = held;
    ws.key_layout = RingLayout(held.begin, held.end, n_phase_in, n_column_in, config.n_key, strips);
    ws.value_layout =
        RingLayout(held.begin, held.end, n_phase_in, n_column_in, config.n_value, strips);
    ws.key_memory = Buffer<T>(ws.key_layout.size());
    ws.value_memory = Buffer<T>(ws.value_layout.size());
    if (n_phase_in > 1) {
        ws.keys = Field<T>(held, config.in.n_lon, config.n_key);
        ws.values = Field<T>(held, config.in.n_lon, config.n_value);
    }
    ws.queries = Field<T>(out_rows, config.out.n_lon, config.n_key);
    if (n_phase_out > 1) {
        ws.averages = Field<T>(out_rows, config.out.n_lon, config.n_value);
        ws.query_layout =
            RingLayout(out_rows.begin, out_rows.end, n_phase_out, n_column_out, config.n_key, {});
        ws.query_memory = Buffer<T>(ws.query_layout.size());
    }
    ws.key_tiles = even_schedule(ws.own_keys, config.in.n_lon, n_thread);
    ws.query_tiles = even_schedule(out_rows, config.out.n_lon, n_thread);
    if (config.is_global) {
        ws.states = Buffer<T>(ws.query_tiles.size() * kernels::sphere::GlobalState<T>::size(heads));
        ws.scratch_step = kernels::sphere::global_scratch(heads);
    } else {
        std::vector<int64_t> interior, boundary;
        for (int64_t row = out_rows.begin; row < out_rows.end; ++row) {
            bool is_interior = true;
            for (int64_t phase = 0; phase < n_phase_out; ++phase) {
                for (const auto& strip : ws.stencil.list(row, phase)) {
                    const int64_t key_row = strip.row / n_phase_in;
                    is_interior =
                        is_interior && key_row >= ws.own_keys.begin && key_row < ws.own_keys.end;
                }
            }
            (is_interior ? interior : boundary).push_back(row);
        }
        const auto cost = [&](int64_t row) {
            return static_cast<double>(ws.stencil.pairs(row)) * pair_cost(config);
        };
        // Rows taken together read their keys once; threads want a few blocks each.
        const int64_t n_tile = (n_column_out + tile_points - 1) / tile_points;
        const int64_t most_rows =
            std::clamp<int64_t>(out_rows.size() * n_tile / (6 * n_thread), 1,
                                static_cast<int64_t>(kernels::sphere::max_block_rows));
        ws.interior = {interior, n_column_out, tile_points, n_thread, cost, most_rows};
        ws.boundary = {boundary, n_column_out, tile_points, n_thread, cost, most_rows};
        ws.block_step = most_rows * config.n_value * tile_step;
        ws.block_averages = Buffer<T>(n_thread * ws.block_step);
        ws.scratch_step = kernels::sphere::neighborhood_scratch(heads, most_rows * most_neighbors);
    }
    ws.scratch_step = round_up(ws.scratch_step, 16);
    ws.scratch = Buffer<T>(ws.scratch_step * n_thread);
}

template <class T>
void AttentionLayer<T>::connect(const Frame& frame, const Attention& config, const Bands* key_bands,
                                Workspace& ws) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        if (!key_bands) return;
        key_bands->add_wants({ws.key_rows.begin, ws.own_keys.begin}, wants);
        key_bands->add_wants({ws.own_keys.end, ws.key_rows.end}, wants);
    });
    const int64_t n_channel = config.n_key + config.n_value;
    ws.exchange.connect(frame.comm, std::move(wants), n_channel * static_cast<int64_t>(sizeof(T)));
}

template <class T>
int64_t AttentionLayer<T>::Workspace::bytes() const {
    return queries.bytes() + keys.bytes() + values.bytes() + averages.bytes() +
           query_memory.bytes() + key_memory.bytes() + value_memory.bytes() + states.bytes() +
           scratch.bytes() + block_averages.bytes() + stencil.bytes() + exchange.bytes();
}

template <class T>
void AttentionLayer<T>::project_queries(Workspace& ws, const Work& work, Tile<const T> x) const {
    const Tile<T> q = ws.queries.tile(work.row, work.first, work.count);
    kernels::linear<T>(frame_.queue, q_, x, {}, q);
    if (!q_norm_) return;
    kernels::sphere::normalise_heads<T>(frame_.queue, heads_.n_head, q_norm_, q, q);
    kernels::scale_shift<T>(frame_.queue, q_scale_.data(), q_shift_.data(), q, q);
}

template <class T>
void AttentionLayer<T>::project_keys(Workspace& ws, const Work& work, Tile<const T> key,
                                     Tile<const T> value) const {
    const auto place = [&](const RingLayout& layout, Buffer<T>& memory, Field<T>& field) {
        if (layout.n_phase() > 1) return field.tile(work.row, work.first, work.count);
        const Tile<T> row = Rings<T>{&layout, memory.data()}.row(work.row);
        return Tile<T>{row.data + work.first, {row.shape[0], work.count}, row.stride};
    };
    const Tile<T> k = place(ws.key_layout, ws.key_memory, ws.keys);
    kernels::linear<T>(frame_.queue, k_, key, {}, k);
    if (k_norm_) kernels::sphere::normalise_heads<T>(frame_.queue, heads_.n_head, k_norm_, k, k);
    kernels::linear<T>(frame_.queue, v_, value, {},
                       place(ws.value_layout, ws.value_memory, ws.values));
}

/// Own rows of keys and values get their ends, or are dealt into phases.
template <class T>
void AttentionLayer<T>::close_rings(Workspace& ws) const {
    const Rings<T> k{&ws.key_layout, ws.key_memory.data()},
        v{&ws.value_layout, ws.value_memory.data()};
    const bool has_phases = ws.key_layout.n_phase() > 1;
    frame_.queue.parallel_for(ws.own_keys.size(), [&](int64_t i, int) {
        const int64_t row = ws.own_keys.begin + i;
        if (has_phases) {
            kernels::sphere::store_row<T>(ws.keys.row(row), row, k);
            kernels::sphere::store_row<T>(ws.values.row(row), row, v);
        } else if (!config_.is_global) {
            kernels::sphere::close_ring<T>(row, k);
            kernels::sphere::close_ring<T>(row, v);
        }
    });
    if (ws.query_layout.n_phase() > 1) store_phases(ws);
}

template <class T>
void AttentionLayer<T>::store_phases(Workspace& ws) const {
    const Rings<T> q{&ws.query_layout, ws.query_memory.data()};
    const Range rows = ws.queries.rows();
    frame_.queue.parallel_for(rows.size(), [&](int64_t i, int) {
        kernels::sphere::store_row<T>(ws.queries.row(rows.begin + i), rows.begin + i, q);
    });
}

template <class T>
void AttentionLayer<T>::begin_exchange(Workspace& ws) const {
    const Rings<T> k{&ws.key_layout, ws.key_memory.data()},
        v{&ws.value_layout, ws.value_memory.data()};
    const int64_t n_key = config_.n_key, n_value = config_.n_value;
    ws.exchange.template begin<T>(
        frame_.comm, frame_.queue, n_key + n_value, [&](const Segment& s, T* to) {
            copy<T>(k.row(s.row), packed(to, n_key, s.count));
            copy<T>(v.row(s.row), packed(to + n_key * s.count, n_value, s.count));
        });
}

template <class T>
void AttentionLayer<T>::finish_exchange(Workspace& ws) const {
    const Rings<T> k{&ws.key_layout, ws.key_memory.data()},
        v{&ws.value_layout, ws.value_memory.data()};
    const int64_t n_key = config_.n_key, n_value = config_.n_value;
    ws.exchange.template finish<T>(
        frame_.comm, frame_.queue, n_key + n_value, [&](const Segment& s, const T* from, int) {
            copy<T>(packed(from, n_key, s.count), k.row(s.row));
            copy<T>(packed(from + n_key * s.count, n_value, s.count), v.row(s.row));
            if (config_.is_global) return;
            kernels::sphere::close_ring<T>(s.row, k);
            kernels::sphere::close_ring<T>(s.row, v);
        });
}

template <class T>
Tile<T> AttentionLayer<T>::block_row(Workspace& ws, const Work& work, int64_t i, int thread) const {
    return {ws.block_averages.data() + thread * ws.block_step + i * config_.n_value * tile_step,
            {config_.n_value, work.count},
            {tile_step, 1}};
}

/// The averages of a block of rows, or of one phase of theirs.
template <class T>
void AttentionLayer<T>::attend_block(Workspace& ws, const Work& work, int64_t phase,
                                     int thread) const {
    kernels::sphere::NeighborhoodRow<T> rows[kernels::sphere::max_block_rows];
    const int64_t n_phase = ws.stencil.n_phase_out;
    for (int64_t r = 0; r < work.n_row; ++r) {
        const int64_t row = work.row + r;
        Tile<T> q = ws.queries.tile(row, work.first, work.count);
        if (n_phase > 1) {
            const Rings<T> rings{&ws.query_layout, ws.query_memory.data()};
            q = rings.row(row * n_phase + phase);
            q.data += work.first;
            q.shape[1] = work.count;
        }
        rows[r] = {ws.stencil.list(row, phase), q, block_row(ws, work, r, thread)};
    }
    const T* weight = row_weight_.data() + ws.key_rows.begin * ws.stencil.n_phase_in;
    kernels::sphere::attend_neighbors<T>(frame_.queue, heads_,
                                         {rows, static_cast<size_t>(work.n_row)}, work.first,
                                         Rings<const T>{&ws.key_layout, ws.key_memory.data()},
                                         Rings<const T>{&ws.value_layout, ws.value_memory.data()},
                                         weight, ws.scratch.data() + thread * ws.scratch_step);
}

/// All queries over some rows of keys.
template <class T>
void AttentionLayer<T>::accumulate(Workspace& ws, Range key_rows) const {
    using State = kernels::sphere::GlobalState<T>;
    const Rings<T> k{&ws.key_layout, ws.key_memory.data()},
        v{&ws.value_layout, ws.value_memory.data()};
    const int64_t size = State::size(heads_), n_tile = ws.query_tiles.size();
    const int64_t n_pass = (n_tile + tiles_a_pass - 1) / tiles_a_pass;
    frame_.queue.parallel_for(n_pass, [&](int64_t pass, int thread) {
        T* scratch = ws.scratch.data() + thread * ws.scratch_step;
        const int64_t end = std::min((pass + 1) * tiles_a_pass, n_tile);
        for (int64_t row = key_rows.begin; row < key_rows.end; ++row) {
            for (int64_t i = pass * tiles_a_pass; i < end; ++i) {
                const Work& work = ws.query_tiles[i];
                kernels::sphere::attend_all<T>(frame_.queue, heads_,
                                               ws.queries.tile(work.row, work.first, work.count),
                                               k.row(row), v.row(row), row_weight_[row], scratch,
                                               {heads_, ws.states.data() + i * size});
            }
        }
    });
}

template <class T>
LayerCost AttentionLayer<T>::cost(const std::string& name, const Workspace& ws) const {
    LayerCost cost{.name = name};
    const Range rows = ws.queries.rows();
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    double pairs = 0;
    if (config_.is_global) {
        pairs = count(rows.size() * config_.out.n_lon) * count(config_.in.n_lat * config_.in.n_lon);
    } else {
        for (int64_t row = rows.begin; row < rows.end; ++row)
            pairs += count(ws.stencil.pairs(row)) * count(ws.stencil.n_column);
    }
    cost.flops = count(rows.size() * config_.out.n_lon) * projection_flops(config_) +
                 2 * pairs * count(config_.n_key + config_.n_value);
    cost.exponentials = pairs * count(config_.n_head);
    cost.bytes_sent = ws.exchange.n_item_sent() * (config_.n_key + config_.n_value) *
                      static_cast<int64_t>(sizeof(T));
    cost.collectives = ws.exchange.collectives();
    cost.messages = ws.exchange.n_message();
    return cost;
}

template class AttentionLayer<float>;
template class AttentionLayer<double>;

RowWork attention_work(const Attention& config) {
    return {projection_flops(config), pair_cost(config)};
}

}  // namespace surrogate::impl::sphere
