// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/model/bsa/parameter_sums.hpp"
#include "libsurrogate/src/model/bsa/visits.hpp"

namespace surrogate::impl::bsa {

/// Backward pass of one layer at a time. The layer is recomputed from its input x, in sparse
/// attention without the branches if their results are stored; probabilities are recomputed from
/// the logarithms of their sums.
///
/// Gradients of queries are sums over keys, which this rank has: coarse keys of all ranks and the
/// chosen blocks. Gradients of keys and values are sums over queries of all ranks, which visit all
/// ranks; the owner of a block adds up its contributions in the order of the queries, so that its
/// gradients are bitwise identical on any number of ranks and threads. Reproducible: gradients of
/// parameters are summed ball by ball.
template <class T>
class LayerGradient {
public:
    /// Keeps references to all arguments, which must outlive this object. The slots of `forward`
    /// must not change afterwards. Allocates. Local.
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  Communicator& comm, Forward<T>& forward, bool is_reproducible,
                  bool saves_less = true);
    LayerGradient(const LayerGradient&) = delete;
    LayerGradient& operator=(const LayerGradient&) = delete;

    /// Prepares a layer before its forward pass, and stores its results after it, results of sparse
    /// attention unless saves_less.
    void begin_forward(int64_t layer);
    void end_forward(int64_t layer);
    bool stores_attention() const { return !stored_.empty(); }

    /// Differentiates a layer. x: input of the layer, in the layer's order. dx, in the same order,
    /// contains the gradient of the layer's result and receives the gradient of x. Gradients of
    /// parameters are added to `sums`; gradients of relative positions (d) to `drelative`, in the
    /// same order, unless it has no data. Returns false, on all ranks, if scores of some rank are
    /// not finite. Collective. Does not allocate.
    bool run(int64_t layer, kernels::Tiles<const T> x, kernels::Tiles<T> dx, GradientSums& sums,
             kernels::Tiles<T> drelative = {});

    /// Returns the bytes that this rank sends with the visits of queries and keys in a layer, and
    /// the number of broadcasts.
    int64_t bytes_sent() const;
    int64_t collectives() const;
    int64_t bytes() const;

private:
    /// Buffers of one thread. Tiles of up to n_column slots and tile_points blocks.
    struct Scratch {
        kernels::Buffer<T> a, b, c;          // (C)
        kernels::Buffer<T> saved, hidden;    // (2 hidden), (3 hidden)
        kernels::Buffer<T> gate, dgate;      // (3H)
        kernels::Buffer<T> branch[3];        // (C)
        kernels::Buffer<T> distance, slope;  // (n_column, tile_points)
        kernels::Buffer<T> attend;
        kernels::Buffer<T> folded, dfolded;  // (l D) for tile_points blocks
        kernels::Buffer<T> coarse, dcoarse;  // (2 E), (2 E)
        kernels::Buffer<T> blocks;           // (2 C): keys and values of blocks, or gradients
        kernels::Buffer<kernels::bsa::KeyBlock<const T>> keys;
        kernels::Buffer<kernels::bsa::KeyBlock<T>> dkeys;
    };
    /// Fields of the blocks of queries that the compressed branch reads and writes.
    struct Groups {
        kernels::Tiles<T> q, dy, log_sum, delta, dq;
    };
    /// Layout of the tiles that visit all ranks: `n_row` rows of numbers and then `n_choice` chosen
    /// blocks, of up to `n` queries or keys that occupy `slots` slots.
    struct Visitor {
        int64_t slots = 1, n = 1, n_row = 0, n_choice = 0;

        int64_t row() const { return kernels::round_up(n, kernels::lane_count); }
        int64_t choices() const { return n_row * row() * static_cast<int64_t>(sizeof(T)); }
        int64_t bytes() const {
            return kernels::round_up(choices() + n_choice * static_cast<int64_t>(sizeof(int32_t)),
                                     64);
        }
        /// Returns rows first .. first + count - 1 of the tile at `data`.
        kernels::Tile<T> rows(std::byte* data, int64_t first, int64_t count) const {
            return {reinterpret_cast<T*>(data) + first * row(), {count, n}, {row(), 1}};
        }
        int32_t* chosen(std::byte* data) const {
            return reinterpret_cast<int32_t*>(data + choices());
        }
    };

    void allocate();
    void allocate_outputs();
    void plan_visits();
    /// Calls body(item, thread) for n items on all threads; `in_ball` consecutive ones are of one
    /// ball. Then the sums of `part` are complete.
    template <class Body>
    void for_items(int64_t n, int64_t in_ball, LayerSums::Part part, const Body& body) {
        if (!is_reproducible_) return queue_.parallel_for(n, body);
        queue_.parallel_for(n / in_ball, [&](int64_t ball, int thread) {
            for (int64_t item = ball * in_ball; item < (ball + 1) * in_ball; ++item)
                body(item, thread);
            sums_[static_cast<size_t>(thread)].move_to(target(thread),
                                                       names_[static_cast<size_t>(layer_)], part);
        });
    }
    SumTarget target(int thread) { return {layers_.weights->master(), *target_, thread}; }
    /// Packs queries into the tile that visits other ranks; returns the queries of such a tile.
    void pack_queries(const Visitor& visitor, const kernels::AttendGradient<T>& of,
                      std::byte* to) const {
        const int64_t c = config_.n_channel, h = config_.n_head;
        copy_padded(of.q, visitor.rows(to, 0, c));
        copy_padded(of.dy, visitor.rows(to, c, c));
        copy_padded(of.log_sum, visitor.rows(to, 2 * c, h));
        copy_padded(of.delta, visitor.rows(to, 2 * c + h, h));
    }
    kernels::AttendGradient<T> queries(const Visitor& visitor, std::byte* from) const {
        const int64_t c = config_.n_channel, h = config_.n_head;
        return {visitor.rows(from, 0, c), visitor.rows(from, c, c), visitor.rows(from, 2 * c, h),
                visitor.rows(from, 2 * c + h, h)};
    }
    kernels::Tiles<T> field(int64_t n_channel);
    kernels::Tiles<T> group_field(int64_t n_channel);
    kernels::Tile<T> scratch_tile(kernels::Buffer<T>& buffer, int64_t n_channel,
                                  const kernels::Tile<T>& like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, {like.stride[0], 1}};
    }
    kernels::AttendGradient<T> of_ball(int64_t piece) const;
    kernels::AttendGradient<T> of_compressed(int64_t tile) const;
    int64_t n_query_tile() const;

    void finish_backward(const LayerWeights<T>& w, kernels::Tiles<const T> x, kernels::Tiles<T> dx,
                         int64_t tile, int thread);
    void split_branches(const LayerWeights<T>& w, int64_t piece, int thread);
    void attend_ball(const LayerWeights<T>& w, bool rotated, int64_t piece, int thread);
    void attend_all();

    /// Computes the gradients of the slots in a branch from the gradient of its result, which
    /// split_branches() has computed.
    void selected_backward();
    void compressed_backward(const LayerWeights<T>& w);

    kernels::AttendGradient<T> of_selected(int64_t piece) const;
    void select_queries(int64_t piece, int thread);
    void select_keys();
    void add_of_selected(int64_t head, Range blocks, std::byte* visitors, int64_t n_visitor,
                         Scratch& s);
    void sum_groups(int64_t tile, int thread);
    void attend_coarse(int64_t tile, int thread);
    void sum_of_coarse();
    void add_of_coarse(int64_t tile, std::byte* visitors, int64_t n_visitor, Scratch& s);
    void expand(const LayerWeights<T>& w, Range blocks, int thread);
    void expand_field(const CoarseMlp<T>& mlp, kernels::Tiles<const T> x, int64_t first,
                      kernels::Tile<const T> dy, const std::array<kernels::LinearGradient, 2>& sums,
                      kernels::Tiles<T> dx, int thread);
    void start_backward(const LayerWeights<T>& w, bool rotated, kernels::Tiles<const T> x,
                        kernels::Tiles<T> dx, int64_t tile, int thread);
    void attention_backward(const LayerWeights<T>& w, bool rotated);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    Forward<T>& forward_;
    bool is_reproducible_;
    SlotShape shape_;
    Visits visits_;
    Visitor queries_;                         // of full attention, or of the compressed branch
    Visitor keys_;                            // of full attention
    Visitor selecting_;                       // queries of the selected branch
    std::vector<kernels::Buffer<T>> memory_;  // memory of the fields below
    BranchOutputs<T> out_;                    // later the gradients of the branches
    std::vector<BranchOutputs<T>> stored_;    // (depth) or none: out_ of each layer
    std::vector<kernels::Buffer<int32_t>> chosen_;  // (depth) or none: Workspace::chosen()
    kernels::Tiles<T> delta_ball_, delta_compressed_, delta_selected_;  // (H)
    kernels::Tiles<T> q_, k_, v_;  // the workspace's; copies if full attention overwrites them
    kernels::Tiles<T> dq_, dk_, dv_, dgate_;
    Groups groups_;
    kernels::Tiles<T> dcoarse_;      // (2C) for tile_points blocks: keys, values
    std::vector<Scratch> scratch_;   // (n_thread)
    std::vector<LayerSums> sums_;    // (n_thread)
    std::vector<WeightName> names_;  // (depth)
    // of the current layer
    GradientSums* target_ = nullptr;
    int64_t layer_ = 0;
    kernels::Tiles<T> drelative_;
};

}  // namespace surrogate::impl::bsa
