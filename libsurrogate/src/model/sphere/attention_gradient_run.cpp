// SPDX-License-Identifier: Apache-2.0
// A run of attention's backward: output projection, exchange of queries and their gradients, slopes
// of queries and keys, input projections.
#include "kernels/norm/moments.hpp"
#include "kernels/sphere/attention_backward.hpp"
#include "libsurrogate/src/model/sphere/attention_gradient.hpp"

namespace surrogate::impl::sphere {

using kernels::AttendGradient;

namespace {

/// Columns of a row of rings.
template <class T>
Tile<T> tile_of(Rings<T> rings, int64_t row, int64_t first, int64_t count) {
    const Tile<T> all = rings.row(row);
    return {all.data + first, {all.shape[0], count}, all.stride};
}

}  // namespace

template <class T>
void AttentionGradient<T>::back(Forward& forward, Workspace& ws, Scratch<T>& scratch,
                                const TileSource<T>& x, Field<T>& g, Field<T>& dx,
                                GradientSums& sums) const {
    project_back(forward, ws, g, sums);
    exchange(ws);
    if (config_.is_global) {
        slope_queries_globally(forward, ws);
        finish_exchange(ws);
        slope_keys_globally(forward, ws);
    } else {
        slope_queries(forward, ws);  // while the rows of others travel
        finish_exchange(ws);
        slope_keys(forward, ws);
    }
    inputs_back(ws, scratch, x, dx, sums);
}

/// Own rows of the rings: q as it is, dy through the output projection, and delta.
template <class T>
void AttentionGradient<T>::project_back(Forward& forward, Workspace& ws, Field<T>& g,
                                        GradientSums& sums) const {
    const int64_t n_head = config_.n_head;
    frame_.queue.parallel_for(ws.own_rows.size(), [&](int64_t i, int thread) {
        const int64_t row = ws.own_rows.begin + i;
        for_tiles(row, config_.out.n_lon, [&](const Work& w) {
            const Tile<T> slope = g.tile(row, w.first, w.count);
            const Tile<T> averages = forward.kept_averages.tile(row, w.first, w.count);
            const Tile<T> dy = tile_of(slopes(ws), row, w.first, w.count);
            kernels::linear_backward<T>(frame_.queue, layer_.proj_, slope, {}, false, dy);
            kernels::linear_gradient<T>(frame_.queue, averages, slope, proj_.linear(sums, thread));
            const Tile<T> kept = forward.kept_sums.tile(row, w.first, w.count);
            kernels::attend_delta<T>(frame_.queue, layer_.heads_, averages, dy,
                                     channels(kept, n_head, n_head));
        });
        proj_.close(sums, thread);
        copy<T>(forward.queries.row(row), queries(ws).row(row));
        copy<T>(forward.kept_sums.row(row), row_sums(ws).row(row));
        if (config_.is_global) return;
        for (const Rings<T>& rings : {queries(ws), slopes(ws), row_sums(ws)})
            kernels::sphere::close_ring<T>(row, rings);
    });
}

template <class T>
void AttentionGradient<T>::exchange(Workspace& ws) const {
    const int64_t n_key = config_.n_key, n_value = config_.n_value, n_sum = 2 * config_.n_head;
    ws.exchange.template begin<T>(
        frame_.comm, frame_.queue, n_key + n_value + n_sum, [&](const Segment& s, T* to) {
            copy<T>(queries(ws).row(s.row), packed(to, n_key, s.count));
            copy<T>(slopes(ws).row(s.row), packed(to + n_key * s.count, n_value, s.count));
            copy<T>(row_sums(ws).row(s.row),
                    packed(to + (n_key + n_value) * s.count, n_sum, s.count));
        });
}

template <class T>
void AttentionGradient<T>::finish_exchange(Workspace& ws) const {
    const int64_t n_key = config_.n_key, n_value = config_.n_value, n_sum = 2 * config_.n_head;
    ws.exchange.template finish<T>(
        frame_.comm, frame_.queue, n_key + n_value + n_sum,
        [&](const Segment& s, const T* from, int) {
            copy<T>(packed(from, n_key, s.count), queries(ws).row(s.row));
            copy<T>(packed(from + n_key * s.count, n_value, s.count), slopes(ws).row(s.row));
            copy<T>(packed(from + (n_key + n_value) * s.count, n_sum, s.count),
                    row_sums(ws).row(s.row));
            if (config_.is_global) return;
            for (const Rings<T>& rings : {queries(ws), slopes(ws), row_sums(ws)})
                kernels::sphere::close_ring<T>(s.row, rings);
        });
}

template <class T>
void AttentionGradient<T>::slope_queries(Forward& forward, Workspace& ws) const {
    const Rings<T> k{&forward.key_layout, forward.key_memory.data()},
        v{&forward.value_layout, forward.value_memory.data()};
    ws.queries.run(frame_.queue, [&](const Work& w, int thread) {
        kernels::sphere::QueryGradientRow<T> rows[kernels::sphere::max_block_rows];
        for (int64_t r = 0; r < w.n_row; ++r) {
            const int64_t row = w.row + r;
            rows[r] = {forward.stencil.list(row, 0), forward.queries.tile(row, w.first, w.count),
                       tile_of(slopes(ws), row, w.first, w.count),
                       forward.kept_sums.tile(row, w.first, w.count),
                       ws.dq.tile(row, w.first, w.count)};
        }
        kernels::sphere::attend_neighbors_backward_queries<T>(
            frame_.queue, layer_.heads_, {rows, static_cast<size_t>(w.n_row)}, w.first, k, v,
            layer_.row_weight_.data() + forward.key_rows.begin,
            ws.scratch.data() + thread * ws.scratch_step);
    });
}

template <class T>
void AttentionGradient<T>::slope_keys(Forward& forward, Workspace& ws) const {
    const Rings<T> k{&forward.key_layout, forward.key_memory.data()},
        v{&forward.value_layout, forward.value_memory.data()};
    const kernels::sphere::QueryRings<T> of{queries(ws), slopes(ws), row_sums(ws)};
    ws.keys.run(frame_.queue, [&](const Work& w, int thread) {
        kernels::sphere::KeyGradientRow<T> rows[kernels::sphere::max_block_rows];
        for (int64_t r = 0; r < w.n_row; ++r) {
            const int64_t row = w.row + r;
            rows[r] = {ws.stencil.list(row, 0),           layer_.row_weight_[row],
                       tile_of(k, row, w.first, w.count), tile_of(v, row, w.first, w.count),
                       ws.dk.tile(row, w.first, w.count), ws.dv.tile(row, w.first, w.count)};
        }
        kernels::sphere::attend_neighbors_backward_keys<T>(
            frame_.queue, layer_.heads_, {rows, static_cast<size_t>(w.n_row)}, w.first, of,
            ws.scratch.data() + thread * ws.scratch_step);
    });
}

namespace {

template <class T>
void clear(Tile<T> tile) {
    for (int64_t c = 0; c < tile.shape[0]; ++c)
        std::fill_n(tile.data + c * tile.stride[0], tile.shape[1], T(0));
}

}  // namespace

template <class T>
void AttentionGradient<T>::slope_queries_globally(Forward& forward, Workspace& ws) const {
    const int64_t n_head = config_.n_head;
    const Rings<T> k{&forward.key_layout, forward.key_memory.data()},
        v{&forward.value_layout, forward.value_memory.data()};
    ws.queries.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> dq = ws.dq.tile(w.row, w.first, w.count);
        const Tile<T> kept = forward.kept_sums.tile(w.row, w.first, w.count);
        AttendGradient<T> of{forward.queries.tile(w.row, w.first, w.count),
                             tile_of(slopes(ws), w.row, w.first, w.count),
                             channels(kept, 0, n_head), channels(kept, n_head, n_head)};
        clear(dq);
        for (int64_t row = 0; row < config_.in.n_lat; ++row) {
            of.key_weight = layer_.row_weight_[row];
            kernels::attend_backward_queries<T>(
                frame_.queue, layer_.heads_, of, k.row(row), v.row(row), {},
                ws.scratch.data() + thread * ws.scratch_step, dq, nullptr);
        }
    });
}

template <class T>
void AttentionGradient<T>::slope_keys_globally(Forward& forward, Workspace& ws) const {
    const int64_t n_head = config_.n_head;
    const Rings<T> k{&forward.key_layout, forward.key_memory.data()},
        v{&forward.value_layout, forward.value_memory.data()};
    ws.keys.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> dk = ws.dk.tile(w.row, w.first, w.count),
                      dv = ws.dv.tile(w.row, w.first, w.count);
        clear(dk);
        clear(dv);
        for (int64_t row = 0; row < config_.out.n_lat; ++row) {
            for_tiles(row, config_.out.n_lon, [&](const Work& q) {
                const Tile<T> kept = tile_of(row_sums(ws), row, q.first, q.count);
                const AttendGradient<T> of{
                    tile_of(queries(ws), row, q.first, q.count),
                    tile_of(slopes(ws), row, q.first, q.count), channels(kept, 0, n_head),
                    channels(kept, n_head, n_head), layer_.row_weight_[w.row]};
                kernels::attend_backward_keys<T>(
                    frame_.queue, layer_.heads_, of, tile_of(k, w.row, w.first, w.count),
                    tile_of(v, w.row, w.first, w.count), {},
                    ws.scratch.data() + thread * ws.scratch_step, dk, dv);
            });
        }
    });
}

/// slope, of what the norm of heads gave, to that of what it got.
template <class T>
void AttentionGradient<T>::unnormalise(const kernels::Linear<T>& linear, const T* norm,
                                       const GradientSlot& slot, Tile<const T> x, Tile<T> raw,
                                       Tile<T> slope, T* scratch, int thread,
                                       GradientSums& sums) const {
    kernels::linear<T>(frame_.queue, linear, x, {}, raw);
    kernels::sphere::normalise_heads_backward<T>(frame_.queue, config_.n_head, norm, raw, slope,
                                                 slope, slot.open(sums, thread), scratch);
}

template <class T>
void AttentionGradient<T>::inputs_back(Workspace& ws, Scratch<T>& scratch, const TileSource<T>& x,
                                       Field<T>& dx, GradientSums& sums) const {
    const kernels::Queue& queue = frame_.queue;
    const AttentionLayer<T>& layer = layer_;
    queue.parallel_for(ws.own_rows.size(), [&](int64_t i, int thread) {
        const int64_t row = ws.own_rows.begin + i;
        T* const memory = ws.scratch.data() + thread * ws.scratch_step;
        for_tiles(row, config_.in.n_lon, [&](const Work& w) {
            const Tile<const T> input = x.tile(w, thread);
            const Tile<T> to = dx.tile(row, w.first, w.count);
            const Tile<T> raw = scratch.tile(thread, raw_slot, config_.n_key, w.count);
            const Tile<T> dq = ws.dq.tile(row, w.first, w.count),
                          dk = ws.dk.tile(row, w.first, w.count),
                          dv = ws.dv.tile(row, w.first, w.count);
            // The scale stands in the weights of q, or behind its norm.
            if (!layer.q_norm_) kernels::linear_backward<T>(queue, layer.q_, dq, {}, false, to);
            kernels::scale_shift<T>(queue, factor_.data(), no_shift_.data(), dq, dq);
            if (layer.q_norm_) {
                unnormalise(layer.q_, layer.q_norm_, q_norm_, input, raw, dq, memory, thread, sums);
                kernels::linear_backward<T>(queue, layer.q_, dq, {}, false, to);
                unnormalise(layer.k_, layer.k_norm_, k_norm_, input, raw, dk, memory, thread, sums);
            }
            kernels::linear_backward<T>(queue, layer.k_, dk, {}, true, to);
            kernels::linear_backward<T>(queue, layer.v_, dv, {}, true, to);
            kernels::linear_gradient<T>(queue, input, dq, q_.linear(sums, thread));
            kernels::linear_gradient<T>(queue, input, dk, k_.linear(sums, thread));
            kernels::linear_gradient<T>(queue, input, dv, v_.linear(sums, thread));
        });
        for (const GradientPair* pair : {&q_, &k_, &v_}) pair->close(sums, thread);
        q_norm_.close(sums, thread);
        k_norm_.close(sums, thread);
    });
}

#define SURROGATE_ATTENTION_GRADIENT(T)                                                  \
    template void AttentionGradient<T>::back(Forward&, Workspace&, Scratch<T>&,          \
                                             const TileSource<T>&, Field<T>&, Field<T>&, \
                                             GradientSums&) const;
SURROGATE_ATTENTION_GRADIENT(float)
SURROGATE_ATTENTION_GRADIENT(double)
#undef SURROGATE_ATTENTION_GRADIENT

}  // namespace surrogate::impl::sphere
