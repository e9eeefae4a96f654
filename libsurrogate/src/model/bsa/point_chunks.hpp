// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

namespace surrogate::impl::bsa {

/// Division of the points of a rank, in the order of the tree, into chunks of a backward pass.
/// Reproducible: the points of a ball, which depend neither on ranks nor on threads; otherwise
/// tile_points points. A chunk is processed by one thread.
class PointChunks {
public:
    /// Sets the points of the tree. Local. Allocates.
    template <class T>
    void resize(const TreePlan<T>& tree, bool is_reproducible) {
        begins_.clear();
        if (is_reproducible) {
            const Range own = tree.shape().own;
            for (int64_t slot = own.begin; slot < own.end; slot += tree.shape().ball)
                begins_.push_back(tree.slots().points_before(slot) -
                                  tree.slots().points_before(own.begin));
        } else {
            for (int64_t point = 0; point < tree.n_point(); point += kernels::tile_points)
                begins_.push_back(point);
        }
        begins_.push_back(tree.n_point());
    }

    /// Calls body(points, thread, gradients) for up to tile_points points at a time, chunk by
    /// chunk, on all threads. A chunk adds gradients of the weights `names` only, each with its
    /// bias unless it has none, which are then closed.
    template <class Body>
    void run(const kernels::Queue& queue, const MasterWeights& master, GradientSums& sums,
             std::span<const WeightName> names, const Body& body) const {
        queue.parallel_for(std::ssize(begins_) - 1, [&](int64_t chunk, int thread) {
            const Gradients gradients(master, sums.open(thread));
            const int64_t end = begins_[static_cast<size_t>(chunk) + 1];
            for (int64_t i = begins_[static_cast<size_t>(chunk)]; i < end;
                 i += kernels::tile_points)
                body(Range{i, std::min(i + kernels::tile_points, end)}, thread, gradients);
            for (const WeightName& name : names) close(master, sums, thread, name);
        });
    }

    /// Closes weight and bias, if there is one, of a layer.
    static void close(const MasterWeights& master, GradientSums& sums, int thread,
                      const WeightName& layer) {
        for (const char* part : {".weight", ".bias"})
            if (const MasterWeights::Entry* const entry = master.find(layer + part))
                sums.close(thread, entry->first, entry->first + entry->size);
    }

private:
    std::vector<int64_t> begins_ = {0};  // (chunk + 1)
};

}  // namespace surrogate::impl::bsa
