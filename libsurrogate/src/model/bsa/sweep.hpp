// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"
#include "libsurrogate/src/model/bsa/workspace.hpp"

namespace surrogate::impl::bsa {

/// The work on each slot or point alone, a tile at a time, all of it in cache: embedding, what
/// comes before attention, what comes after it, the head. Tiles of different threads may run at
/// once.
template <class T>
class Sweep {
public:
    /// All must outlive it.
    Sweep(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
          PointPorts<T>& ports, const TreePlan<T>& plan, Workspace<T>& work);

    /// Tiles of points, as those of the ports.
    int64_t n_point_tile() const {
        return (plan_.n_point() + kernels::tile_points - 1) / kernels::tile_points;
    }
    /// x of all slots of the points of a tile, copies too.
    void embed(int64_t point_tile, int thread);
    /// Predictions at the points of a tile.
    void head(int64_t point_tile, int thread);

    /// A tile of slots: q, k, v and gates from x.
    void start(const LayerWeights<T>& w, bool rotated, int64_t tile, int thread);
    /// x from x and y.
    void finish(const LayerWeights<T>& w, int64_t tile, int thread);
    /// x += res, res = x.
    void add_residual(int64_t tile);
    /// res = x.
    void keep_residual(int64_t tile);

    int64_t bytes() const;

private:
    /// Buffers of one thread, each a tile of the width named.
    struct Scratch {
        kernels::Buffer<T> channels, features;  // (C), (c_in)
        kernels::Buffer<T> hidden;              // (2 * hidden)
    };
    kernels::Tile<T> features(int64_t point_tile, Scratch& scratch);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    PointPorts<T>& ports_;
    const TreePlan<T>& plan_;
    Workspace<T>& work_;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa
