// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "libsurrogate/src/model/family/program.hpp"
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

/// Runs the backward pass of an AttentionLayer. Queries, keys and values are computed from one
/// field on one grid, as in all models, or from three fields on two grids. Gather form: queries sum
/// over keys, and keys over the queries that attend to them. Queries of other ranks are received
/// with their gradients. Every sum runs in a fixed order, so the result is bitwise reproducible on
/// any number of ranks.
template <class T>
class AttentionGradient {
public:
    using Forward = typename AttentionLayer<T>::Workspace;

    /// Fields and tables of a run; layers of one shape share one.
    struct Workspace {
        RingLayout query_layout, slope_layout, sums_layout;
        Buffer<T> query_memory, slope_memory, sums_memory;  ///< rings of q, dy and sums
        Field<T> dq, dk, dv;  ///< own phase rows: where a grid has no phases, own rows
        Stencil stencil;      ///< transposed, of neighborhood attention
        Buffer<T> scratch;    ///< (thread, scratch_step)
        NeighborExchange exchange;
        Schedule queries, keys;  ///< blocks of columns of own rows, of phase rows if there are
        Range own_queries, own_keys, held_queries;
        int64_t query_phases = 1, key_phases = 1;
        double query_pairs = 0, key_pairs = 0;  ///< of own rows
        int64_t scratch_step = 0;
        int64_t bytes() const;
    };

    /// Local. The layer must outlive it; prefix as given to it. Throws not_supported.
    AttentionGradient(const Frame& frame, const AttentionLayer<T>& layer, const Attention& config,
                      const MasterWeights& master, const std::string& prefix);

    /// Allocates, also in the workspace of forward, which must hold the keys of own_keys. own_keys:
    /// the keys whose gradients this rank computes. Local.
    static void prepare(const Frame& frame, const Attention& config, Range own_keys,
                        Forward& forward, Workspace& ws);
    /// Collective. bands: of the queries.
    static void connect(const Frame& frame, const Attention& config, const Bands& bands,
                        Workspace& ws);
    static void require(const Attention& config, Scratch<T>& scratch);

    /// Collective, after AttentionLayer::attend() with forward.keeps: from g, the gradient of what
    /// attend() gave or added (rows, n_value), the gradient dx (rows, n_in) of its input x,
    /// written. Weights: a chunk a row.
    void back(Forward& forward, Workspace& ws, Scratch<T>& scratch, const TileSource<T>& x,
              Field<T>& g, Field<T>& dx, GradientSums& sums) const;

    /// The inputs of a layer between two grids, and their gradients, which are written: dquery on
    /// the query rows of the forward pass, dkey and dvalue on own_keys.
    struct Sides {
        const TileSource<T>&query, &key, &value;
        Field<T>&dquery, &dkey, &dvalue;
    };
    /// The same between two grids.
    void back(Forward& forward, Workspace& ws, Scratch<T>& scratch, const Sides& sides, Field<T>& g,
              GradientSums& sums) const;

    LayerCost cost(const std::string& name, const Workspace& ws) const;

    /// Slots of the scratch tiles that back() uses, the second between two grids; inputs may use
    /// others.
    static constexpr int raw_slot = 1, row_slot = 2;

private:
    Rings<T> queries(Workspace& ws) const { return {&ws.query_layout, ws.query_memory.data()}; }
    Rings<T> slopes(Workspace& ws) const { return {&ws.slope_layout, ws.slope_memory.data()}; }
    Rings<T> row_sums(Workspace& ws) const { return {&ws.sums_layout, ws.sums_memory.data()}; }
    /// A tile of an input, the gradient of its projection (overwritten), and the tile that the
    /// gradient of the input is written or added to.
    struct Part {
        Tile<const T> input;
        Tile<T> slope, to;
        bool adds;
        int thread;
    };
    void attention_back(Forward& forward, Workspace& ws, Scratch<T>& scratch, Field<T>& g,
                        GradientSums& sums) const;
    void project_back(Forward& forward, Workspace& ws, Scratch<T>& scratch, Field<T>& g,
                      GradientSums& sums) const;
    /// Calls body(ring, its number, rings) for the phase rows of a row of queries.
    template <class Body>
    void for_rings(Workspace& ws, int64_t row, const Body& body) const {
        for (const Rings<T>& rings : {queries(ws), slopes(ws), row_sums(ws)}) {
            for (int64_t phase = 0; phase < ws.query_phases; ++phase) {
                const int64_t number = row * ws.query_phases + phase;
                body(rings.row(number), number, rings);
            }
        }
    }
    void exchange(Workspace& ws) const;
    void finish_exchange(Workspace& ws) const;
    void slope_queries(Forward& forward, Workspace& ws) const;
    void slope_keys(Forward& forward, Workspace& ws) const;
    void slope_queries_globally(Forward& forward, Workspace& ws) const;
    void slope_keys_globally(Forward& forward, Workspace& ws) const;
    void query_back(Workspace& ws, Scratch<T>& scratch, const Part& part, GradientSums& sums) const;
    void key_back(Workspace& ws, Scratch<T>& scratch, const Part& part, GradientSums& sums) const;
    void value_back(const Part& part, GradientSums& sums) const;
    void close_query(GradientSums& sums, int thread) const;
    void close_key_and_value(GradientSums& sums, int thread) const;
    void unnormalise(Workspace& ws, Scratch<T>& scratch, const kernels::Linear<T>& linear,
                     const T* norm, const GradientSlot& slot, const Part& part,
                     GradientSums& sums) const;

    const Frame& frame_;
    const AttentionLayer<T>& layer_;
    Attention config_;
    GradientPair q_, k_, v_, proj_;
    GradientSlot q_norm_, k_norm_;
    Buffer<T> factor_, no_shift_;  // of q: scale * log2(e)
};

}  // namespace surrogate::impl::sphere
