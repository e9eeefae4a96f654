// SPDX-License-Identifier: Apache-2.0
// The parts of AttentionLayer that call back.
#pragma once

#include "libsurrogate/src/model/sphere/attention.hpp"

namespace surrogate::impl::sphere {

template <class T>
template <class Add>
void AttentionLayer<T>::attend(Workspace& ws, Scratch<T>& scratch, const Add& add) const {
    close_rings(ws);
    begin_exchange(ws);
    if (config_.is_global) {
        attend_globally(ws, scratch, add);
        return;
    }
    attend_rows(ws, ws.interior, add);  // while the rows of others travel
    finish_exchange(ws);
    attend_rows(ws, ws.boundary, add);
    if (ws.stencil.n_phase_out == 1) return;
    ws.query_tiles.run(frame_.queue, [&](const Work& work, int thread) {
        const Tile<T> y = scratch.tile(thread, heads_slot, config_.n_value, work.count);
        copy<T>(ws.averages.tile(work.row, work.first, work.count), y);
        add(work, Tile<const T>(y), thread);
    });
}

template <class T>
template <class Add>
void AttentionLayer<T>::attend_rows(Workspace& ws, const Schedule& schedule, const Add& add) const {
    const int64_t n_phase = ws.stencil.n_phase_out;
    schedule.run(frame_.queue, [&](const Work& work, int thread) {
        for (int64_t phase = 0; phase < n_phase; ++phase) {
            attend_block(ws, work, phase, thread);
            for (int64_t r = 0; r < work.n_row; ++r) {
                const Tile<T> y = block_row(ws, work, r, thread);
                if (n_phase == 1) {
                    add({work.row + r, work.first, work.count}, Tile<const T>(y), thread);
                    continue;
                }
                const Tile<T> row = ws.averages.row(work.row + r);
                for (int64_t c = 0; c < config_.n_value; ++c) {
                    for (int64_t i = 0; i < work.count; ++i)
                        row(c, (work.first + i) * n_phase + phase) = y(c, i);
                }
            }
        }
    });
}

template <class T>
template <class Add>
void AttentionLayer<T>::attend_globally(Workspace& ws, Scratch<T>& scratch, const Add& add) const {
    using State = kernels::sphere::GlobalState<T>;
    const int64_t size = State::size(heads_);
    frame_.queue.parallel_for(ws.query_tiles.size(), [&](int64_t i, int) {
        kernels::sphere::reset(State{heads_, ws.states.data() + i * size});
    });
    if (frame_.reproducible || !ws.exchange.has_messages()) {
        finish_exchange(ws);
        accumulate(ws, ws.key_rows);  // one order of rows on any number of ranks
    } else {
        accumulate(ws, ws.own_keys);  // while the rows of others travel
        finish_exchange(ws);
        accumulate(ws, {ws.key_rows.begin, ws.own_keys.begin});
        accumulate(ws, {ws.own_keys.end, ws.key_rows.end});
    }
    frame_.queue.parallel_for(ws.query_tiles.size(), [&](int64_t i, int thread) {
        const Work& work = ws.query_tiles[i];
        const Tile<T> y = scratch.tile(thread, heads_slot, config_.n_value, work.count);
        kernels::sphere::finish(frame_.queue, State{heads_, ws.states.data() + i * size}, y);
        add(work, Tile<const T>(y), thread);
    });
}

}  // namespace surrogate::impl::sphere
