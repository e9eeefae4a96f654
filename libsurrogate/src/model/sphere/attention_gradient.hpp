// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/model/sphere/gradient_slot.hpp"

namespace surrogate::impl::sphere {

/// The input of a layer, tile by tile, as often as wanted: computed again where it is not kept.
template <class T>
class TileSource {
public:
    virtual ~TileSource() = default;
    virtual Tile<const T> tile(const Work& work, int thread) const = 0;
};

/// Backward of an AttentionLayer whose queries, keys and values are made from one field on one grid,
/// as in all models. Gather form: queries sum over keys, keys over the queries that see them, of
/// which those of other ranks come with their gradients. Every sum runs in a fixed order: the same
/// bits on any number of ranks.
template <class T>
class AttentionGradient {
public:
    using Forward = typename AttentionLayer<T>::Workspace;

    /// Fields and tables of a run; layers of one shape share one.
    struct Workspace {
        RingLayout query_layout, slope_layout, sums_layout;
        Buffer<T> query_memory, slope_memory, sums_memory;  ///< rings of q, dy and sums
        Field<T> dq, dk, dv;                                ///< own rows
        Stencil stencil;    ///< transposed, of neighborhood attention
        Buffer<T> scratch;  ///< (thread, scratch_step)
        NeighborExchange exchange;
        Schedule queries, keys;  ///< blocks of own rows
        Range own_rows, held_rows;
        int64_t scratch_step = 0;
        int64_t bytes() const;
    };

    /// Local. The layer must outlive it; prefix as given to it. Throws not_supported.
    AttentionGradient(const Frame& frame, const AttentionLayer<T>& layer, const Attention& config,
                      const MasterWeights& master, const std::string& prefix);

    /// Local: takes the memory, in the workspace of forward too.
    static void prepare(const Frame& frame, const Attention& config, Range own_rows,
                        Forward& forward, Workspace& ws);
    /// Collective.
    static void connect(const Frame& frame, const Attention& config, const Bands& bands,
                        Workspace& ws);
    static void require(const Attention& config, Scratch<T>& scratch);

    /// Collective, after AttentionLayer::attend() with forward.keeps: from g, the gradient of what
    /// attend() gave or added (rows, n_value), the gradient dx (rows, n_in) of its input x, written.
    /// Weights: a chunk a row.
    void back(Forward& forward, Workspace& ws, Scratch<T>& scratch, const TileSource<T>& x,
              Field<T>& g, Field<T>& dx, GradientSums& sums) const;

    LayerCost cost(const std::string& name, const Workspace& ws) const;

    /// Slot of the scratch tiles that back() uses; x may use others.
    static constexpr int raw_slot = 1;

private:
    Rings<T> queries(Workspace& ws) const { return {&ws.query_layout, ws.query_memory.data()}; }
    Rings<T> slopes(Workspace& ws) const { return {&ws.slope_layout, ws.slope_memory.data()}; }
    Rings<T> row_sums(Workspace& ws) const { return {&ws.sums_layout, ws.sums_memory.data()}; }
    void project_back(Forward& forward, Workspace& ws, Field<T>& g, GradientSums& sums) const;
    void exchange(Workspace& ws) const;
    void finish_exchange(Workspace& ws) const;
    void slope_queries(Forward& forward, Workspace& ws) const;
    void slope_keys(Forward& forward, Workspace& ws) const;
    void slope_queries_globally(Forward& forward, Workspace& ws) const;
    void slope_keys_globally(Forward& forward, Workspace& ws) const;
    void inputs_back(Workspace& ws, Scratch<T>& scratch, const TileSource<T>& x, Field<T>& dx,
                     GradientSums& sums) const;
    void unnormalise(const kernels::Linear<T>& linear, const T* norm, const GradientSlot& slot,
                     Tile<const T> x, Tile<T> raw, Tile<T> slope, T* scratch, int thread,
                     GradientSums& sums) const;

    const Frame& frame_;
    const AttentionLayer<T>& layer_;
    Attention config_;
    GradientPair q_, k_, v_, proj_;
    GradientSlot q_norm_, k_norm_;
    Buffer<T> factor_, no_shift_;  // of q: scale * log2(e)
};

}  // namespace surrogate::impl::sphere
