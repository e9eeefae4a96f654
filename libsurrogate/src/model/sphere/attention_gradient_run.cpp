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

/// A tile of a row in natural order to its phase rows.
template <class T>
void store_tile(Tile<const T> from, const Work& work, Rings<T> to) {
    const int64_t n_phase = to.layout->n_phase();
    for (int64_t c = 0; c < from.shape[0]; ++c) {
        for (int64_t i = 0; i < work.count; ++i) {
            const int64_t column = work.first + i;
            to.at(work.row * n_phase + column % n_phase, c)[column / n_phase] = from(c, i);
        }
    }
}

/// The same columns of a field of phase rows in natural order: in `to`, or where they lie if there
/// is one phase.
template <class T>
Tile<T> in_natural_order(Field<T>& from, int64_t n_phase, const Work& work, Tile<T> to) {
    if (n_phase == 1) return from.tile(work.row, work.first, work.count);
    for (int64_t i = 0; i < work.count; ++i) {
        const int64_t column = work.first + i;
        const Tile<T> point = from.tile(work.row * n_phase + column % n_phase, column / n_phase, 1);
        for (int64_t c = 0; c < to.shape[0]; ++c) to(c, i) = point(c, 0);
    }
    return to;
}

}  // namespace

template <class T>
void AttentionGradient<T>::back(Forward& forward, Workspace& ws, Scratch<T>& scratch,
                                const TileSource<T>& x, Field<T>& g, Field<T>& dx,
                                GradientSums& sums) const {
    attention_back(forward, ws, scratch, g, sums);
    frame_.queue.parallel_for(ws.own_keys.size(), [&](int64_t i, int thread) {
        const int64_t row = ws.own_keys.begin + i;
        for_tiles(row, config_.in.n_lon, [&](const Work& w) {
            const Tile<const T> input = x.tile(w, thread);
            const Tile<T> to = dx.tile(row, w.first, w.count);
            const auto part = [&](Field<T>& slopes, bool adds) {
                return Part{input, slopes.tile(row, w.first, w.count), to, adds, thread};
            };
            query_back(ws, scratch, part(ws.dq, false), sums);
            key_back(ws, scratch, part(ws.dk, true), sums);
            value_back(part(ws.dv, true), sums);
        });
        close_query(sums, thread);
        close_key_and_value(sums, thread);
    });
}

template <class T>
void AttentionGradient<T>::back(Forward& forward, Workspace& ws, Scratch<T>& scratch,
                                const Sides& sides, Field<T>& g, GradientSums& sums) const {
    attention_back(forward, ws, scratch, g, sums);
    const auto part = [&](const TileSource<T>& x, Field<T>& slopes, int64_t n_phase, Field<T>& dx,
                          const Work& w, int thread) {
        const Tile<T> row = scratch.tile(thread, row_slot, slopes.n_channel(), w.count);
        return Part{x.tile(w, thread), in_natural_order(slopes, n_phase, w, row),
                    dx.tile(w.row, w.first, w.count), false, thread};
    };
    frame_.queue.parallel_for(ws.own_queries.size(), [&](int64_t i, int thread) {
        for_tiles(ws.own_queries.begin + i, config_.out.n_lon, [&](const Work& w) {
            query_back(ws, scratch,
                       part(sides.query, ws.dq, ws.query_phases, sides.dquery, w, thread), sums);
        });
        close_query(sums, thread);
    });
    frame_.queue.parallel_for(ws.own_keys.size(), [&](int64_t i, int thread) {
        for_tiles(ws.own_keys.begin + i, config_.in.n_lon, [&](const Work& w) {
            key_back(ws, scratch, part(sides.key, ws.dk, ws.key_phases, sides.dkey, w, thread),
                     sums);
            value_back(part(sides.value, ws.dv, ws.key_phases, sides.dvalue, w, thread), sums);
        });
        close_key_and_value(sums, thread);
    });
}

/// From g to ws.dq, ws.dk and ws.dv.
template <class T>
void AttentionGradient<T>::attention_back(Forward& forward, Workspace& ws, Scratch<T>& scratch,
                                          Field<T>& g, GradientSums& sums) const {
    project_back(forward, ws, scratch, g, sums);
    exchange(ws);
    if (config_.is_global) {
        slope_queries_globally(forward, ws);
        finish_exchange(ws);
        slope_keys_globally(forward, ws);
    } else {
        slope_queries(forward, ws);  // while the rows of other ranks are exchanged
        finish_exchange(ws);
        slope_keys(forward, ws);
    }
}

/// Own rows of the rings: q as it is, dy through the output projection, and delta.
template <class T>
void AttentionGradient<T>::project_back(Forward& forward, Workspace& ws, Scratch<T>& scratch,
                                        Field<T>& g, GradientSums& sums) const {
    const int64_t n_head = config_.n_head, n_phase = ws.query_phases;
    frame_.queue.parallel_for(ws.own_queries.size(), [&](int64_t i, int thread) {
        const int64_t row = ws.own_queries.begin + i;
        for_tiles(row, config_.out.n_lon, [&](const Work& w) {
            const Tile<T> slope = g.tile(row, w.first, w.count);
            const Tile<T> averages = forward.average_rows().tile(row, w.first, w.count);
            const Tile<T> dy = n_phase == 1 ? tile_of(slopes(ws), row, w.first, w.count)
                                            : scratch.tile(thread, AttentionLayer<T>::heads_slot,
                                                           config_.n_value, w.count);
            kernels::linear_backward<T>(frame_.queue, layer_.proj_, slope, {}, false, dy);
            kernels::linear_gradient<T>(frame_.queue, averages, slope, proj_.linear(sums, thread));
            const Tile<T> kept = forward.kept_sums.tile(row, w.first, w.count);
            kernels::attend_delta<T>(frame_.queue, layer_.heads_, averages, dy,
                                     channels(kept, n_head, n_head));
            if (n_phase > 1) store_tile<T>(dy, w, slopes(ws));
        });
        proj_.close(sums, thread);
        for (int64_t phase = 0; phase < n_phase; ++phase)
            kernels::sphere::close_ring<T>(row * n_phase + phase, slopes(ws));
        kernels::sphere::store_row<T>(forward.queries.row(row), row, queries(ws));
        kernels::sphere::store_row<T>(forward.kept_sums.row(row), row, row_sums(ws));
    });
}

template <class T>
void AttentionGradient<T>::exchange(Workspace& ws) const {
    ws.exchange.template begin<T>(frame_.comm, frame_.queue,
                                  config_.n_key + config_.n_value + 2 * config_.n_head,
                                  [&](const Segment& s, T* to) {
                                      for_rings(ws, s.row, [&](Tile<T> ring, int64_t, Rings<T>) {
                                          const auto [n_channel, n_column] = ring.shape;
                                          copy<T>(ring, packed(to, n_channel, n_column));
                                          to += n_channel * n_column;
                                      });
                                  });
}

template <class T>
void AttentionGradient<T>::finish_exchange(Workspace& ws) const {
    ws.exchange.template finish<T>(
        frame_.comm, frame_.queue, config_.n_key + config_.n_value + 2 * config_.n_head,
        [&](const Segment& s, const T* from, int) {
            for_rings(ws, s.row, [&](Tile<T> ring, int64_t phase_row, Rings<T> rings) {
                const auto [n_channel, n_column] = ring.shape;
                copy<T>(packed(from, n_channel, n_column), ring);
                from += n_channel * n_column;
                kernels::sphere::close_ring<T>(phase_row, rings);
            });
        });
}

template <class T>
void AttentionGradient<T>::slope_queries(Forward& forward, Workspace& ws) const {
    const Rings<T> k{&forward.key_layout, forward.key_memory.data()},
        v{&forward.value_layout, forward.value_memory.data()};
    const T* weight = layer_.row_weight_.data() + forward.key_rows.begin * ws.key_phases;
    const int64_t n_phase = ws.query_phases;
    ws.queries.run(frame_.queue, [&](const Work& w, int thread) {
        kernels::sphere::QueryGradientRow<T> rows[kernels::sphere::max_block_rows];
        for (int64_t phase = 0; phase < n_phase; ++phase) {
            for (int64_t r = 0; r < w.n_row; ++r) {
                const int64_t row = (w.row + r) * n_phase + phase;
                rows[r] = {forward.stencil.list(w.row + r, phase),
                           tile_of(queries(ws), row, w.first, w.count),
                           tile_of(slopes(ws), row, w.first, w.count),
                           tile_of(row_sums(ws), row, w.first, w.count),
                           ws.dq.tile(row, w.first, w.count)};
            }
            kernels::sphere::attend_neighbors_backward_queries<T>(
                frame_.queue, layer_.heads_, {rows, static_cast<size_t>(w.n_row)}, w.first, k, v,
                weight, ws.scratch.data() + thread * ws.scratch_step);
        }
    });
}

template <class T>
void AttentionGradient<T>::slope_keys(Forward& forward, Workspace& ws) const {
    const Rings<T> k{&forward.key_layout, forward.key_memory.data()},
        v{&forward.value_layout, forward.value_memory.data()};
    const kernels::sphere::QueryRings<T> of{queries(ws), slopes(ws), row_sums(ws)};
    const int64_t n_phase = ws.key_phases;
    ws.keys.run(frame_.queue, [&](const Work& w, int thread) {
        kernels::sphere::KeyGradientRow<T> rows[kernels::sphere::max_block_rows];
        for (int64_t phase = 0; phase < n_phase; ++phase) {
            for (int64_t r = 0; r < w.n_row; ++r) {
                const int64_t row = (w.row + r) * n_phase + phase;
                rows[r] = {ws.stencil.list(w.row + r, phase), layer_.row_weight_[row],
                           tile_of(k, row, w.first, w.count), tile_of(v, row, w.first, w.count),
                           ws.dk.tile(row, w.first, w.count), ws.dv.tile(row, w.first, w.count)};
            }
            kernels::sphere::attend_neighbors_backward_keys<T>(
                frame_.queue, layer_.heads_, {rows, static_cast<size_t>(w.n_row)}, w.first, of,
                ws.scratch.data() + thread * ws.scratch_step);
        }
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

/// Converts part.slope from the gradient of the output of the head norm to the gradient of its
/// input.
template <class T>
void AttentionGradient<T>::unnormalise(Workspace& ws, Scratch<T>& scratch,
                                       const kernels::Linear<T>& linear, const T* norm,
                                       const GradientSlot& slot, const Part& part,
                                       GradientSums& sums) const {
    const Tile<T> raw = scratch.tile(part.thread, raw_slot, config_.n_key, part.slope.shape[1]);
    kernels::linear<T>(frame_.queue, linear, part.input, {}, raw);
    kernels::sphere::normalise_heads_backward<T>(
        frame_.queue, config_.n_head, norm, raw, part.slope, part.slope,
        slot.open(sums, part.thread), ws.scratch.data() + part.thread * ws.scratch_step);
}

template <class T>
void AttentionGradient<T>::query_back(Workspace& ws, Scratch<T>& scratch, const Part& part,
                                      GradientSums& sums) const {
    const kernels::Queue& queue = frame_.queue;
    // The scale stands in the weights of q, or behind its norm.
    if (!layer_.q_norm_)
        kernels::linear_backward<T>(queue, layer_.q_, part.slope, {}, part.adds, part.to);
    kernels::scale_shift<T>(queue, factor_.data(), no_shift_.data(), part.slope, part.slope);
    if (layer_.q_norm_) {
        unnormalise(ws, scratch, layer_.q_, layer_.q_norm_, q_norm_, part, sums);
        kernels::linear_backward<T>(queue, layer_.q_, part.slope, {}, part.adds, part.to);
    }
    kernels::linear_gradient<T>(queue, part.input, part.slope, q_.linear(sums, part.thread));
}

template <class T>
void AttentionGradient<T>::key_back(Workspace& ws, Scratch<T>& scratch, const Part& part,
                                    GradientSums& sums) const {
    if (layer_.k_norm_) unnormalise(ws, scratch, layer_.k_, layer_.k_norm_, k_norm_, part, sums);
    kernels::linear_backward<T>(frame_.queue, layer_.k_, part.slope, {}, part.adds, part.to);
    kernels::linear_gradient<T>(frame_.queue, part.input, part.slope, k_.linear(sums, part.thread));
}

template <class T>
void AttentionGradient<T>::value_back(const Part& part, GradientSums& sums) const {
    kernels::linear_backward<T>(frame_.queue, layer_.v_, part.slope, {}, part.adds, part.to);
    kernels::linear_gradient<T>(frame_.queue, part.input, part.slope, v_.linear(sums, part.thread));
}

template <class T>
void AttentionGradient<T>::close_query(GradientSums& sums, int thread) const {
    q_.close(sums, thread);
    q_norm_.close(sums, thread);
}

template <class T>
void AttentionGradient<T>::close_key_and_value(GradientSums& sums, int thread) const {
    k_.close(sums, thread);
    v_.close(sums, thread);
    k_norm_.close(sums, thread);
}

#define SURROGATE_ATTENTION_GRADIENT(T)                                                       \
    template void AttentionGradient<T>::back(Forward&, Workspace&, Scratch<T>&,               \
                                             const TileSource<T>&, Field<T>&, Field<T>&,      \
                                             GradientSums&) const;                            \
    template void AttentionGradient<T>::back(Forward&, Workspace&, Scratch<T>&, const Sides&, \
                                             Field<T>&, GradientSums&) const;
SURROGATE_ATTENTION_GRADIENT(float)
SURROGATE_ATTENTION_GRADIENT(double)
#undef SURROGATE_ATTENTION_GRADIENT

}  // namespace surrogate::impl::sphere
