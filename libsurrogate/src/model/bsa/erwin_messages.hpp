// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/domain/nearest_edges.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/bsa/erwin_layers.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

namespace surrogate::impl::bsa::erwin {

/// Returns the edges along which messages are sent: the edges of the domain, or else, in `nearest`,
/// from the nearest points. Returns null without message steps. Collective. Throws, on all ranks:
/// invalid_argument if the domain has points and no edges and the card no number of neighbors,
/// no_memory.
///   route  from the solver's points to the order of the tree
const Edges* edges_of(const Config& config, const PointDomain& domain, const kernels::Queue& queue,
                      const TreePoints& points, const RowRoute& route, Edges& nearest);

/// Computes the embedding of Erwin: h = embed(features), then steps of message passing along the
/// edges of the domain, or from the nearest points. The points are the solver's, or, for gradients,
/// the tree's; results are bitwise identical. Features are the caller's fields, or
/// functions of the positions.
///   message of an edge from j to i   LayerNorm(gelu(W [h_j, h_i, p_j - p_i] + b))
///   h_i += LayerNorm(W' [h_i, mean of the messages to i] + b')
/// Rows h of sources on other ranks are sent once per step. A mean is summed in the order of the
/// edges, which does not depend on the partition.
template <class T>
class Messages {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    ///   features  in the order of the points
    Messages(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
             const PointDomain& domain, PointPorts<T>& features);

    /// Sets the current points, which are the solver's, and their edges. Collective. Throws the
    /// errors of edges_of().
    ///   route  from the solver's points to the order of the tree
    void connect(const TreePoints& points, const RowRoute& route);
    /// Connects as connect(), but the points are the tree's, and run() stores the values below for
    /// a backward pass. Collective.
    void connect_in_tree(const TreePoints& points, const RowRoute& route, const TreePlan<T>& tree);

    /// Computes rows(). Collective.
    void run();
    /// Returns h of the points, (n_point, C).
    const T* rows() const { return h_.data(); }

    /// Returns values of a step for a backward pass: h before the step, of the points and of
    /// sources on other ranks (n_row, C), and the means of its messages (C) in tiles of points.
    const T* kept_h(size_t step) const { return kept_h_[step].data(); }
    kernels::Tiles<const T> kept_mean(size_t step) const {
        return {kept_mean_[step].data(), n_channel_, n_point_};
    }
    /// Returns the positions of the points and of sources on other ranks, (n_row, d).
    const float* positions() const { return position_.data(); }
    /// Returns null without message steps. sources() has the row of h of each source, targets() of
    /// each target.
    const Edges* edges() const { return edges_; }
    std::span<const int64_t> sources() const { return source_; }
    std::span<const int64_t> targets() const { return target_; }

    int64_t n_point() const { return n_point_; }
    int64_t n_edge() const { return std::ssize(source_); }
    const NeighborExchange& exchange() const { return exchange_; }
    int64_t bytes() const;

private:
    /// Tiles of one thread: input and output of a layer, features and positions.
    struct Scratch {
        kernels::Buffer<T> in, out, features, positions;
    };
    /// Reads position(i, k), coordinate k of point i.
    template <class PositionOf>
    void set_points(int64_t n_point, const PositionOf& position);
    std::vector<NeighborExchange::Want> find_sources();
    void embed(int64_t tile, int thread);
    void sum_messages(const StepWeights<T>& w, int64_t tile, int thread);
    void send_along(const StepWeights<T>& w, Range edges, int64_t first_target, Scratch& scratch,
                    kernels::Tile<T> sum);
    void keep(size_t step, int64_t tile);
    void update(const StepWeights<T>& w, int64_t tile, int thread);
    kernels::Tile<T> features(int64_t tile, Scratch& scratch);
    int64_t n_tile() const { return (n_point_ + tile_points - 1) / tile_points; }
    int64_t count(int64_t tile) const {
        return std::min(tile_points, n_point_ - tile * tile_points);
    }
    kernels::Tile<T> mean(int64_t tile) {
        return {mean_.data() + tile * n_channel_ * tile_points,
                {n_channel_, count(tile)},
                {tile_points, 1}};
    }
    static constexpr int64_t tile_points = kernels::tile_points;

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const PointDomain& domain_;
    PointPorts<T>& features_;
    int64_t n_channel_;  // C
    int64_t n_point_ = 0;
    Edges own_edges_;  // if the domain's edges are not used as they are
    const Edges* edges_ = nullptr;
    NeighborExchange exchange_;  // sources on other ranks
    // (n_edge) row of h: the points, then sources on other ranks
    std::vector<int64_t> source_;
    std::vector<int64_t> target_;      // (n_edge)
    kernels::Buffer<float> position_;  // (rows of h, d)
    kernels::Buffer<T> h_;             // (rows of h, C)
    kernels::Buffer<T> mean_;          // (n_tile, C, tile_points)
    bool keeps_ = false;
    std::vector<kernels::Buffer<T>> kept_h_, kept_mean_;  // (n_step) if keeps_
    std::vector<Scratch> scratch_;                        // (n_thread)
};

/// Sends rows of `n` numbers to the ranks that request them: item `first` of a segment is stored as
/// row `row`. Collective.
template <class Value>
void exchange_rows(NeighborExchange& exchange, Communicator& comm, const kernels::Queue& queue,
                   Value* rows, int64_t n) {
    exchange.begin<Value>(comm, queue, n, [&](const Segment& segment, Value* to) {
        std::copy_n(rows + segment.first * n, n, to);
    });
    exchange.finish<Value>(comm, queue, n, [&](const Segment& segment, const Value* from, int) {
        std::copy_n(from, n, rows + segment.row * n);
    });
}

}  // namespace surrogate::impl::bsa::erwin
