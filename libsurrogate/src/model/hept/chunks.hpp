// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/family/loaded_points.hpp"
#include "libsurrogate/src/model/family/weight_range.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Division of the own tokens of a rank into chunks of a backward pass: the points of a block, see
/// TokenPlan::block_points(), and the copies of these points. A chunk is processed by one thread,
/// and its gradients of weights are summed separately. Chunks depend neither on ranks nor on
/// threads.
class Chunks {
public:
    /// Sets the tokens of `plan`, which must outlive this object. Local. Allocates.
    void resize(const TokenPlan& plan) {
        plan_ = &plan;
        copies_.clear();
        const std::span<const int32_t> copied = plan.copied();  // by ascending point
        for (const int64_t point : plan.block_points())
            copies_.push_back(plan.n_point() +
                              (std::ranges::lower_bound(copied, point) - copied.begin()));
    }

    int64_t size() const { return std::ssize(copies_) - 1; }

    /// Calls body(tokens) for up to tile_points tokens of a chunk at a time: all points or all
    /// copies, in ascending order.
    template <class Body>
    void for_pieces(int64_t chunk, const Body& body) const {
        const auto i = static_cast<size_t>(chunk);
        const auto pieces = [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; t += kernels::tile_points)
                body(Range{t, std::min(t + kernels::tile_points, end)});
        };
        pieces(plan_->block_points()[i], plan_->block_points()[i + 1]);
        pieces(copies_[i], copies_[i + 1]);
    }

    /// Calls body(tokens, thread, gradients) for all pieces, chunk by chunk, on all threads. A
    /// chunk adds gradients of weights in `ranges` only, which are then closed.
    template <class Body>
    void run(const kernels::Queue& queue, const MasterWeights& master, GradientSums& sums,
             std::initializer_list<Range> ranges, const Body& body) const {
        queue.parallel_for(size(), [&](int64_t chunk, int thread) {
            const Gradients gradients(master, sums.open(thread));
            for_pieces(chunk, [&](Range tokens) { body(tokens, thread, gradients); });
            for (const Range& range : ranges) sums.close(thread, range.begin, range.end);
        });
    }

private:
    const TokenPlan* plan_ = nullptr;
    std::vector<int64_t> copies_ = {0};  // (chunk + 1): first copy
};

}  // namespace surrogate::impl::hept
