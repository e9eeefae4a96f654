// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/branches.hpp"

#include <algorithm>

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::SoftmaxState;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;
using kernels::bsa::KeyBlock;

namespace {

/// Number of slots whose compressed attention reads a tile of keys while it is in cache. Measured:
/// with 512 slots the time to load keys is negligible beside the exponentials.
constexpr int64_t chunk_target = 512;

}  // namespace

template <class T>
Branches<T>::Branches(const Config& config, const kernels::Queue& queue, const TreePlan<T>& plan,
                      Workspace<T>& work, Coarse<T>& coarse, const Fetch<T>& fetch)
    : config_(config), queue_(queue), plan_(plan), work_(work), coarse_(coarse), fetch_(fetch) {}

template <class T>
void Branches<T>::resize() {
    set_chunks();
    // Sizes depend on the plan's largest cloud so far; all of them are small.
    scratch_.clear();
    for (int thread = 0; thread < queue_.n_thread(); ++thread) scratch_.push_back(make_scratch());
}

/// Chooses at most tile_points groups per chunk, and chunks small enough to occupy all threads.
/// Results do not depend on the size of a chunk.
template <class T>
void Branches<T>::set_chunks() {
    const SlotShape& shape = work_.shape();
    const int64_t g = config_.group_size, smallest = std::max(shape.piece(), g);
    chunk_slots_ = tile_points * g;
    if (!config_.compresses_groups) chunk_slots_ = std::min(chunk_slots_, chunk_target);
    chunk_slots_ = std::max(chunk_slots_, smallest);
    // Tiles of groups are not divided.
    while (!config_.compresses_groups && chunk_slots_ > smallest &&
           shape.n_local() / chunk_slots_ < 4 * queue_.n_thread())
        chunk_slots_ /= 2;
    n_chunk_ = (shape.n_local() + chunk_slots_ - 1) / chunk_slots_;
}

template <class T>
typename Branches<T>::Scratch Branches<T>::make_scratch() const {
    const kernels::Heads heads = config_.heads();
    const int64_t tile = config_.n_channel * tile_points, k = work_.n_choice();
    const int64_t n_state = config_.compresses_groups ? 1 : chunk_slots_ / work_.shape().piece();
    Scratch s;
    if (config_.has_balls()) {
        s.ball_state = Buffer<T>(SoftmaxState<T>::size(heads));
        s.distance = Buffer<T>(work_.shape().n_column * tile_points);
    }
    s.attend = Buffer<T>(
        std::max(kernels::attend_scratch(heads),
                 config_.is_sparse()
                     ? std::max(kernels::bsa::choose_scratch(heads, k),
                                kernels::bsa::attend_blocks_scratch(heads, config_.block_size, k))
                     : 0));
    if (!config_.is_sparse()) return s;
    s.group_queries = Buffer<T>(tile);
    s.averages = Buffer<T>(tile);
    s.states = Buffer<T>(n_state * SoftmaxState<T>::size(heads));
    s.ball = Buffer<T>(tile);
    s.other = Buffer<T>(tile);
    s.gate = Buffer<T>(2 * config_.n_head * tile_points);
    s.score = Buffer<T>(config_.n_head * k * tile_points);
    s.block = Buffer<int64_t>(config_.n_head * k * tile_points);
    s.own = Buffer<int64_t>(tile_points);
    s.sorted = Buffer<int64_t>(k);
    s.keys = Buffer<KeyBlock<const T>>(tile_points * config_.n_head * k);
    return s;
}

template <class T>
bool Branches<T>::mix_chunk(const LayerWeights<T>& w, bool rotated, int64_t chunk, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    if (!sweep_keys(w, chunk, scratch, thread)) return false;
    keep_choice(chunk, scratch);
    const Range pieces = pieces_of(chunk);
    for (int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
        const Tile<T> ball = kept_piece(kept_.ball, piece, scratch.ball);
        const Tile<T> compressed = kept_piece(kept_.compressed, piece, scratch.other);
        finish_compressed(chunk, piece, scratch, compressed);
        attend_ball(w, rotated, piece, ball, thread);
        mix_two(piece, ball, compressed);
    }
    return true;
}

/// Sets y of a piece to the gated ball and compressed branches.
template <class T>
void Branches<T>::mix_two(int64_t piece, Tile<const T> ball, Tile<const T> compressed) {
    const SlotShape& shape = work_.shape();
    const Tile<T> gate =
        kernels::channels(shape.piece_of(work_.gate(), piece), 0, 2 * config_.n_head);
    const Tile<const T> branches[] = {ball, compressed};
    kernels::bsa::combine<T>(queue_, config_.n_head, gate, branches,
                             shape.piece_of(work_.y(), piece));
}

template <class T>
void Branches<T>::mix_kept(int64_t piece, int thread) {
    const SlotShape& shape = work_.shape();
    mix_two(piece, shape.piece_of(kept_.ball, piece), shape.piece_of(kept_.compressed, piece));
    add_selected(piece, shape.piece_of(kept_.selected, piece),
                 scratch_[static_cast<size_t>(thread)]);
}

/// Computes the compressed attention of the chunk and the choice of its groups in one pass over the
/// coarse keys: a tile of keys stays in cache for all queries of the chunk.
template <class T>
bool Branches<T>::sweep_keys(const LayerWeights<T>& w, int64_t chunk, Scratch& scratch,
                             int thread) {
    const SlotShape& shape = work_.shape();
    const kernels::Heads heads = config_.heads();
    const int64_t l = config_.block_size, g = config_.group_size, n_group = groups_of(chunk).size();
    const Tile<T> groups = groups_tile(kept_.group_queries, chunk, scratch.group_queries);
    coarse_.compress_queries(w, work_, g, groups_of(chunk).begin, groups, thread);

    const int64_t first_slot = shape.own.begin + chunk * chunk_slots_;
    for (int64_t p = 0; p < n_group; ++p)
        scratch.own[p] = (first_slot + p * g) / shape.ball * (shape.ball / l);
    const kernels::bsa::OwnBlocks own{scratch.own.data(),
                                      config_.avoids_own_ball ? shape.ball / l : 0};
    const auto choice = this->choice(scratch);
    kernels::bsa::reset(choice);
    const Range pieces = pieces_of(chunk);
    const int64_t n_piece = config_.compresses_groups ? 1 : pieces.size();
    for (int64_t i = 0; i < n_piece; ++i) kernels::reset(state(scratch, i));
    for (int64_t tile = 0; tile < coarse_.n_key_tile(); ++tile) {
        const Tile<const T> k = coarse_.keys(tile), v = coarse_.values(tile);
        for (int64_t i = 0; i < n_piece; ++i) {
            const Tile<T> q =
                config_.compresses_groups ? groups : shape.piece_of(work_.q(), pieces.begin + i);
            kernels::attend<T>(queue_, heads, q, k, v, T(1), {}, scratch.attend.data(),
                               state(scratch, i));
        }
        if (!kernels::bsa::choose<T>(queue_, heads, groups, k, tile * Coarse<T>::key_blocks, own,
                                     scratch.attend.data(), choice)) {
            return false;
        }
    }
    if (config_.compresses_groups) {
        kernels::finish(queue_, state(scratch, 0),
                        groups_tile(kept_.group_averages, chunk, scratch.averages));
        if (kept_.log_groups.data)
            kernels::log_sums(queue_, state(scratch, 0), kept_.log_groups.tile(chunk));
    }
    return true;
}

template <class T>
void Branches<T>::keep_choice(int64_t chunk, Scratch& scratch) {
    const auto choice = this->choice(scratch);
    const Range groups = groups_of(chunk);
    for (int64_t p = groups.begin; p < groups.end; ++p) {
        for (int64_t head = 0; head < config_.n_head; ++head) {
            kernels::bsa::sorted_choice(choice, head, p - groups.begin, scratch.sorted.data());
            std::copy(scratch.sorted.begin(), scratch.sorted.end(), work_.chosen(p, head));
        }
    }
}

/// Computes the compressed branch of a piece of the chunk. Blocks of queries pass their result to
/// all their slots.
template <class T>
void Branches<T>::finish_compressed(int64_t chunk, int64_t piece, Scratch& scratch, Tile<T> y) {
    const int64_t index = piece - pieces_of(chunk).begin;
    if (!config_.compresses_groups) {
        kernels::finish(queue_, state(scratch, index), y);
        if (kept_.log_compressed.data) {
            kernels::log_sums(queue_, state(scratch, index),
                              work_.shape().piece_of(kept_.log_compressed, piece));
        }
        return;
    }
    const Tile<T> averages = groups_tile(kept_.group_averages, chunk, scratch.averages);
    const int64_t first = index * work_.shape().piece() / config_.block_size;
    const int64_t n = std::min(config_.block_size, y.shape[1]);  // slots of a block in the piece
    for (int64_t c = 0; c < y.shape[0]; ++c)
        for (int64_t i = 0; i < y.shape[1]; i += n)
            std::fill_n(&y(c, i), n, averages(c, first + i / config_.block_size));
}

template <class T>
void Branches<T>::attend_ball(const LayerWeights<T>& w, bool rotated, int64_t piece, Tile<T> y,
                              int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const SlotShape& shape = work_.shape();
    const Tiles<const T> rel = plan_.relative(rotated);
    const Tile<const T> q = shape.piece_of(work_.q(), piece), a = shape.piece_of(rel, piece);
    const SoftmaxState<T> state{config_.heads(), scratch.ball_state.data()};
    kernels::reset(state);
    const int64_t n_tile = shape.ball / shape.n_column;
    const int64_t first = piece * shape.piece() / shape.ball * n_tile;
    for (int64_t t = first; t < first + n_tile; ++t) {
        const Tile<T> distance = piece_tile(scratch.distance, shape.n_column, a.shape[1]);
        kernels::bsa::distances<T>(queue_, a, rel.tile(t), distance);
        kernels::attend<T>(queue_, config_.heads(), q, work_.k().tile(t), work_.v().tile(t), T(1),
                           {w.sigma.data(), distance}, scratch.attend.data(), state);
    }
    kernels::finish(queue_, state, y);
    if (kept_.log_ball.data)
        kernels::log_sums(queue_, state, shape.piece_of(kept_.log_ball, piece));
}

template <class T>
void Branches<T>::select_piece(int64_t piece, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const SlotShape& shape = work_.shape();
    const int64_t g = config_.group_size, n_head = config_.n_head, k = work_.n_choice();
    const int64_t n_group = std::max<int64_t>(1, shape.piece() / g);
    const int64_t first = piece * shape.piece() / g;
    KeyBlock<const T>* to = scratch.keys.data();
    for (int64_t p = first; p < first + n_group; ++p) {
        for (int64_t head = 0; head < n_head; ++head)
            for (int64_t i = 0; i < k; ++i) *to++ = fetch_.block(head, work_.chosen(p, head)[i]);
    }
    const auto n_key = static_cast<size_t>(to - scratch.keys.data());
    const Tile<T> selected = kept_piece(kept_.selected, piece, scratch.other);
    const Tile<T> log_sum =
        kept_.log_selected.data ? shape.piece_of(kept_.log_selected, piece) : Tile<T>{};
    kernels::bsa::attend_blocks<T>(queue_, config_.heads(), shape.piece_of(work_.q(), piece),
                                   {{scratch.keys.data(), n_key}, config_.block_size, g, k},
                                   scratch.attend.data(), selected, log_sum);
    add_selected(piece, selected, scratch);
}

/// Adds the gated selected branch to y. y is already gated, so its gate is set to 1.
template <class T>
void Branches<T>::add_selected(int64_t piece, Tile<const T> selected, Scratch& scratch) {
    const SlotShape& shape = work_.shape();
    const int64_t n_head = config_.n_head;
    const Tile<T> y = shape.piece_of(work_.y(), piece);
    const Tile<T> gate = piece_tile(scratch.gate, 2 * n_head, y.shape[1]);
    const Tile<T> all_gates = shape.piece_of(work_.gate(), piece);
    for (int64_t head = 0; head < n_head; ++head) {
        const int64_t n = kernels::round_up(y.shape[1], kernels::lane_count);
        std::fill_n(&gate(2 * head, 0), n, T(open_gate));
        std::copy_n(&all_gates(GateRows{n_head}.row(head, 2), 0), n, &gate(2 * head + 1, 0));
    }
    const Tile<const T> branches[] = {y, selected};
    kernels::bsa::combine<T>(queue_, n_head, gate, branches, y);
}

template <class T>
int64_t Branches<T>::bytes() const {
    int64_t n_byte = 0;
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer :
             {&s.group_queries, &s.averages, &s.states, &s.ball_state, &s.distance, &s.attend,
              &s.ball, &s.other, &s.gate, &s.score}) {
            n_byte += buffer->bytes();
        }
        n_byte += s.block.bytes() + s.own.bytes() + s.sorted.bytes() + s.keys.bytes();
    }
    return n_byte;
}

template class Branches<float>;
template class Branches<double>;

}  // namespace surrogate::impl::bsa
