// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/sphere/attention.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

namespace surrogate::impl::sphere {

using kernels::sphere::RingLayout;
using kernels::sphere::Rings;
using kernels::sphere::Stencil;

template <class T>
class AttentionGradient;

/// Computes attention for the queries of this rank's rows: projections, exchange with other ranks,
/// the average of values, and the output projection. Neighborhood attention stores keys and values
/// of the rows that its queries reach, global attention keys and values of all rows.
///
/// Keys and values of other ranks' rows are obtained by one of two methods. In models, they are
/// exchanged (bands of the key grid are given). In single layers, whose inputs are redistributed in
/// any case, the caller provides the inputs of all rows in ws.key_rows, and they are projected here
/// again. Exchanging inputs inside a model would halve the bytes, but cost n_in * (n_key + n_value)
/// multiply-adds per point, which take longer than the exchange on any network that a CPU is
/// attached to.
///
/// If key_bands divide rows (see Bands), the queries of a share's first columns arrive from the
/// rank of their row with the keys and values, and their averages return to it while this rank
/// computes other rows; that rank applies the output projection.
template <class T>
class AttentionLayer {
public:
    /// Local. prefix of the weights' names: "" or "blocks.0.self_attn.".
    AttentionLayer(const Frame& frame, const Attention& config, const Weights<T>& weights,
                   const std::string& prefix);

    /// Fields and tables of a run; layers of one shape share one.
    struct Workspace {
        Field<T> queries;       ///< (out_rows and rows of the share, n_key)
        Field<T> keys, values;  ///< only if the key grid has phases
        Field<T> averages;      ///< only if the query grid has phases
        RingLayout query_layout, key_layout, value_layout;
        Buffer<T> query_memory, key_memory, value_memory;
        Buffer<T> states;                   ///< of global attention, a tile of queries each
        Buffer<T> block_averages;           ///< (thread, row of a block, n_value, tile_points)
        Buffer<T> scratch;                  ///< (thread, n)
        Stencil stencil;                    ///< of neighborhood attention
        NeighborExchange exchange;          ///< of keys and values, and of queries to shares
        NeighborExchange average_exchange;  ///< from shares to the rows' ranks
        Schedule interior, boundary;        ///< of query columns
        Schedule arriving;                  ///< queries of another rank's row
        Field<T> arriving_averages;         ///< of that row
        bool is_divided = false;            ///< the same on all ranks
        Schedule key_tiles, query_tiles;
        /// For backward: attend() also leaves averages (rows, n_value) in average_rows() and, of
        /// every head, log_sum of kernels/attention in kept_sums (rows, 2 n_head), if keeps.
        Field<T> kept_averages;  ///< only if the query grid has no phases
        Field<T> kept_sums;
        Buffer<T> block_sums;  ///< (thread, row of a block, n_head, tile_points), only with phases
        bool keeps = false;
        Range out_rows, key_rows, own_keys;
        Range share;  ///< points whose averages this rank computes: row * n_lon + column
        int64_t scratch_step = 0, block_step = 0, sums_step = 0;
        Field<T>& average_rows() { return averages.n_channel() > 0 ? averages : kept_averages; }
        int64_t bytes() const;
    };
    /// Allocates the workspace. Local. key_bands: the rank that computes each key row, or null if
    /// the caller provides the keys, including the rows `also` that backward needs in addition.
    static void prepare(const Frame& frame, const Attention& config, Range out_rows,
                        const Bands* key_bands, Workspace& workspace, Range also = {0, 0});
    /// Local, behind prepare(): from now on the workspace keeps what backward needs.
    static void prepare_kept(const Frame& frame, const Attention& config, Workspace& workspace);
    /// Collective; once for a workspace.
    static void connect(const Frame& frame, const Attention& config, const Bands* key_bands,
                        Workspace& workspace);

    // A run, in this order; tiles of work are columns of a row of the query or key grid.

    /// x (n_in, work.count)
    void project_queries(Workspace& ws, const Work& work, Tile<const T> x) const;
    void project_keys(Workspace& ws, const Work& work, Tile<const T> key,
                      Tile<const T> value) const;

    /// Collective: exchanges, averages, and y = projection(averages), plus y itself if
    /// `accumulate`. y (rows of the queries, n_value)
    void attend(Workspace& ws, Scratch<T>& scratch, bool accumulate, Field<T>& y) const;

    void add_costs_to(std::vector<LayerCost>& list, const std::string& name,
                      const Workspace& ws) const;

    /// Slot of the scratch tiles that attend() uses, n_value wide.
    static constexpr int heads_slot = 1;

private:
    friend class AttentionGradient<T>;
    /// Phases of the grids' columns, and columns of a phase.
    struct Phases {
        int64_t in, out, n_column_in, n_column_out;
    };
    static void prepare_rings(const Attention& config, const Phases& phases, Workspace& ws);
    static void prepare_neighborhood(const Frame& frame, const Attention& config,
                                     const kernels::Heads& heads, Workspace& ws);
    void close_rings(Workspace& ws) const;
    void begin_exchange(Workspace& ws) const;
    void finish_exchange(Workspace& ws) const;
    Tile<T> block_row(Workspace& ws, const Work& work, int64_t i, int thread) const;
    Tile<T> sums_row(Workspace& ws, const Work& work, int64_t i, int thread) const;
    void attend_block(Workspace& ws, const Work& work, int64_t phase, int thread) const;
    /// Destination of averages: y, through the output projection.
    struct Sink {
        Field<T>& y;
        bool accumulate;
    };
    void keep(Workspace& ws, const Work& work, Tile<const T> averages) const;
    void project(const Work& work, Tile<const T> averages, const Sink& sink) const;
    void attend_rows(Workspace& ws, const Schedule& schedule, const Sink& sink) const;
    void return_averages(Workspace& ws) const;
    void take_averages(Workspace& ws, Scratch<T>& scratch, const Sink& sink) const;
    void attend_globally(Workspace& ws, Scratch<T>& scratch, const Sink& sink) const;
    void accumulate(Workspace& ws, Range key_rows) const;
    void store_phases(Workspace& ws) const;

    const Frame& frame_;
    Attention config_;
    kernels::Heads heads_;
    kernels::Linear<T> q_, k_, v_, proj_;
    Derived<T> q_weight_, q_bias_;  // times scale * log2(e)
    const T *q_norm_ = nullptr, *k_norm_ = nullptr;
    Buffer<T> q_scale_, q_shift_;  // with q/k norm: the scale comes after it
    Buffer<T> row_weight_;         // (key phase row) quadrature weight of one of its points
};

/// Input rows that the strips reach.
Range rows_of_strips(const Stencil& stencil);

/// Cost of a column of a row: its projections, and each of its pairs.
RowWork attention_work(const Attention& config);

/// Cost of the pairs of each row, which may be divided between ranks; empty for attention that is
/// not divided: global, or between two grids.
std::vector<double> pair_costs(const Attention& config);

}  // namespace surrogate::impl::sphere
