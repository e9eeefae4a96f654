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

/// Runs the passes that treat each slot or point separately, one tile at a time in cache:
/// embedding, the passes before and after attention, the head. Tiles of different threads may run
/// at once.
template <class T>
class Sweep {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    Sweep(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
          PointPorts<T>& ports, const TreePlan<T>& plan, Workspace<T>& work);

    /// Returns the number of tiles of points, the same as for the ports.
    int64_t n_point_tile() const {
        return (plan_.n_point() + kernels::tile_points - 1) / kernels::tile_points;
    }
    /// Computes x of all slots of the points of a tile, including copies.
    void embed(int64_t point_tile, int thread);
    /// Computes predictions at the points of a tile.
    void head(int64_t point_tile, int thread);

    /// Computes q, k, v and gates from x, for a tile of slots.
    void start(const LayerWeights<T>& w, bool rotated, int64_t tile, int thread);
    /// Computes x from x and y, for a tile of slots.
    void finish(const LayerWeights<T>& w, int64_t tile, int thread);
    /// Computes x += res, then res = x.
    void add_residual(int64_t tile);
    /// Sets res = x.
    void keep_residual(int64_t tile);

    int64_t bytes() const;

private:
    /// Buffers of one thread, each one tile with the given width.
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
