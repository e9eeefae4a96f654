// SPDX-License-Identifier: Apache-2.0
// A run of attention: projections, exchange of keys and values, averages, output projection.
#include <algorithm>

#include "kernels/norm/moments.hpp"
#include "libsurrogate/src/model/sphere/attention.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Tiles of queries that pass over a row of keys together, so that its keys are read from memory
/// once for them all.
constexpr int64_t tiles_a_pass = 4;

/// Columns of a phase row: from column `first` on, of phase `phase` of n_phase.
struct Phase {
    int64_t first, n_phase, phase;
};

/// Columns of a phase row to their places in a row in natural order, whose other channels stay.
template <class T>
void spread(Tile<const T> from, const Phase& at, Tile<T> row) {
    for (int64_t c = 0; c < from.shape[0]; ++c) {
        for (int64_t i = 0; i < from.shape[1]; ++i)
            row(c, (at.first + i) * at.n_phase + at.phase) = from(c, i);
    }
}

}  // namespace

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

/// Completes own rows of keys and values: ends of rings, or phases.
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
    const int64_t n_key = config_.n_key, n_value = config_.n_value, n_lat = config_.in.n_lat;
    ws.exchange.template begin<T>(
        frame_.comm, frame_.queue, n_key + n_value, [&](const Segment& s, T* to) {
            if (s.row >= n_lat) {  // queries to a share
                const Tile<T> q = ws.queries.tile(s.row - n_lat, s.first, s.count);
                return copy<T>(q, packed(to, n_key, s.count));
            }
            copy<T>(k.row(s.row), packed(to, n_key, s.count));
            copy<T>(v.row(s.row), packed(to + n_key * s.count, n_value, s.count));
        });
}

template <class T>
void AttentionLayer<T>::finish_exchange(Workspace& ws) const {
    const Rings<T> k{&ws.key_layout, ws.key_memory.data()},
        v{&ws.value_layout, ws.value_memory.data()};
    const int64_t n_key = config_.n_key, n_value = config_.n_value, n_lat = config_.in.n_lat;
    ws.exchange.template finish<T>(
        frame_.comm, frame_.queue, n_key + n_value, [&](const Segment& s, const T* from, int) {
            if (s.row >= n_lat) {
                const Tile<T> q = ws.queries.tile(s.row - n_lat, s.first, s.count);
                return copy<T>(packed(from, n_key, s.count), q);
            }
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

template <class T>
Tile<T> AttentionLayer<T>::sums_row(Workspace& ws, const Work& work, int64_t i, int thread) const {
    return {ws.block_sums.data() + thread * ws.sums_step + i * config_.n_head * tile_step,
            {config_.n_head, work.count},
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
        if (!ws.keeps) continue;
        rows[r].log_sum = n_phase > 1 ? sums_row(ws, work, r, thread)
                                      : channels(ws.kept_sums.tile(row, work.first, work.count), 0,
                                                 config_.n_head);
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
    using State = kernels::SoftmaxState<T>;
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
                kernels::attend<T>(frame_.queue, heads_,
                                   ws.queries.tile(work.row, work.first, work.count), k.row(row),
                                   v.row(row), row_weight_[row], {}, scratch,
                                   {heads_, ws.states.data() + i * size});
            }
        }
    });
}

template <class T>
void AttentionLayer<T>::keep(Workspace& ws, const Work& work, Tile<const T> averages) const {
    if (ws.keeps) copy<T>(averages, ws.kept_averages.tile(work.row, work.first, work.count));
}

template <class T>
void AttentionLayer<T>::project(const Work& work, Tile<const T> averages, const Sink& sink) const {
    const Tile<T> y = sink.y.tile(work.row, work.first, work.count);
    kernels::linear<T>(frame_.queue, proj_, averages, sink.accumulate ? y : Tile<T>{}, y);
}

template <class T>
void AttentionLayer<T>::attend(Workspace& ws, Scratch<T>& scratch, bool accumulate,
                               Field<T>& y) const {
    const Sink sink{y, accumulate};
    close_rings(ws);
    begin_exchange(ws);
    if (config_.is_global) {
        attend_globally(ws, scratch, sink);
        return;
    }
    attend_rows(ws, ws.interior, sink);  // while the rows of other ranks are exchanged
    finish_exchange(ws);
    if (ws.is_divided) return_averages(ws);
    attend_rows(ws, ws.boundary, sink);  // while averages are returned
    if (ws.is_divided) take_averages(ws, scratch, sink);
    if (ws.stencil.n_phase_out == 1) return;
    ws.query_tiles.run(frame_.queue, [&](const Work& work, int thread) {
        const Tile<T> averages = scratch.tile(thread, heads_slot, config_.n_value, work.count);
        copy<T>(ws.averages.tile(work.row, work.first, work.count), averages);
        project(work, averages, sink);
    });
}

template <class T>
void AttentionLayer<T>::attend_rows(Workspace& ws, const Schedule& schedule,
                                    const Sink& sink) const {
    const int64_t n_phase = ws.stencil.n_phase_out;
    schedule.run(frame_.queue, [&](const Work& work, int thread) {
        for (int64_t phase = 0; phase < n_phase; ++phase) {
            attend_block(ws, work, phase, thread);
            for (int64_t r = 0; r < work.n_row; ++r) {
                const Tile<T> y = block_row(ws, work, r, thread);
                if (n_phase == 1) {
                    keep(ws, {work.row + r, work.first, work.count}, y);
                    project({work.row + r, work.first, work.count}, y, sink);
                    continue;
                }
                const Phase at{work.first, n_phase, phase};
                spread<T>(y, at, ws.averages.row(work.row + r));
                if (ws.keeps)
                    spread<T>(sums_row(ws, work, r, thread), at, ws.kept_sums.row(work.row + r));
            }
        }
    });
}

/// Computes the averages of queries that belong to another rank, and begins to return them.
template <class T>
void AttentionLayer<T>::return_averages(Workspace& ws) const {
    Field<T>& averages = ws.arriving_averages;
    ws.arriving.run(frame_.queue, [&](const Work& work, int thread) {
        attend_block(ws, work, 0, thread);
        copy<T>(block_row(ws, work, 0, thread), averages.tile(work.row, work.first, work.count));
    });
    const auto pack = [&](const Segment& s, T* to) {
        copy<T>(averages.tile(s.row, s.first, s.count), packed(to, config_.n_value, s.count));
    };
    ws.average_exchange.template begin<T>(frame_.comm, frame_.queue, config_.n_value, pack);
}

template <class T>
void AttentionLayer<T>::take_averages(Workspace& ws, Scratch<T>& scratch, const Sink& sink) const {
    const auto unpack = [&](const Segment& s, const T* from, int thread) {
        const Tile<T> averages = scratch.tile(thread, heads_slot, config_.n_value, s.count);
        copy<T>(packed(from, config_.n_value, s.count), averages);
        project({s.row, s.first, s.count}, averages, sink);
    };
    ws.average_exchange.template finish<T>(frame_.comm, frame_.queue, config_.n_value, unpack);
}

template <class T>
void AttentionLayer<T>::attend_globally(Workspace& ws, Scratch<T>& scratch,
                                        const Sink& sink) const {
    using State = kernels::SoftmaxState<T>;
    const int64_t size = State::size(heads_);
    frame_.queue.parallel_for(ws.query_tiles.size(), [&](int64_t i, int) {
        kernels::reset(State{heads_, ws.states.data() + i * size});
    });
    if (frame_.reproducible || !ws.exchange.has_messages()) {
        finish_exchange(ws);
        accumulate(ws, ws.key_rows);  // one order of rows on any number of ranks
    } else {
        accumulate(ws, ws.own_keys);  // while the rows of other ranks are exchanged
        finish_exchange(ws);
        accumulate(ws, {ws.key_rows.begin, ws.own_keys.begin});
        accumulate(ws, {ws.own_keys.end, ws.key_rows.end});
    }
    frame_.queue.parallel_for(ws.query_tiles.size(), [&](int64_t i, int thread) {
        const Work& work = ws.query_tiles[i];
        const Tile<T> y = scratch.tile(thread, heads_slot, config_.n_value, work.count);
        const State state{heads_, ws.states.data() + i * size};
        kernels::finish(frame_.queue, state, y);
        keep(ws, work, y);
        if (ws.keeps) {
            const Tile<T> sums = ws.kept_sums.tile(work.row, work.first, work.count);
            kernels::log_sums(frame_.queue, state, channels(sums, 0, config_.n_head));
        }
        project(work, y, sink);
    });
}

#define SURROGATE_ATTENTION_RUN(T)                                                           \
    template void AttentionLayer<T>::project_queries(Workspace&, const Work&, Tile<const T>) \
        const;                                                                               \
    template void AttentionLayer<T>::project_keys(Workspace&, const Work&, Tile<const T>,    \
                                                  Tile<const T>) const;                      \
    template void AttentionLayer<T>::attend(Workspace&, Scratch<T>&, bool, Field<T>&) const;
SURROGATE_ATTENTION_RUN(float)
SURROGATE_ATTENTION_RUN(double)
#undef SURROGATE_ATTENTION_RUN

}  // namespace surrogate::impl::sphere
