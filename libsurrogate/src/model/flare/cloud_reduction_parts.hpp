// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/model/flare/cloud_reduction.hpp"

namespace surrogate::impl::flare {

/// Sizes and indices that both modes need.
template <class T>
class ReductionOfParts : public CloudReduction<T> {
public:
    int64_t collectives() const override { return n_shared_ > 0 ? 2 : 0; }

protected:
    ReductionOfParts(const kernels::flare::Sizes& sizes, const kernels::Queue& queue,
                     const CloudTiles& tiles)
        : sizes_(sizes), queue_(queue), tiles_(tiles) {}

    void count_parts() {
        n_shared_ = 0;
        shared_.assign(tiles_.divided().size(), -1);
        for (size_t p = 0; p < shared_.size(); ++p)
            if (tiles_.divided()[p].is_shared) shared_[p] = n_shared_++;
        is_finite_.resize(n_part());
    }

    int64_t n_part() const { return std::ssize(tiles_.divided()); }
    int64_t n_chunk() const { return std::ssize(tiles_.chunks()); }
    int64_t part_of(int64_t chunk) const {
        return tiles_.chunks()[static_cast<size_t>(chunk)].part;
    }
    bool is_shared(int64_t part) const { return shared(part) >= 0; }
    /// Returns the number of a part among the shared ones.
    int64_t shared(int64_t part) const { return shared_[static_cast<size_t>(part)]; }
    int64_t n_row() const { return sizes_.n_head * sizes_.n_latent; }  ///< of z
    int64_t n_z() const { return n_row() * sizes_.n_dim; }

    /// Calls body(part, thread), which returns whether its sums are finite. Returns whether all
    /// are.
    template <class Body>
    bool for_parts(const Body& body) {
        queue_.parallel_for(n_part(),
                            [&](int64_t p, int thread) { is_finite_[p] = body(p, thread); });
        return std::ranges::all_of(is_finite_, [](bool finite) { return finite; });
    }
    int64_t index_bytes() const {
        return is_finite_.bytes() + static_cast<int64_t>(shared_.capacity() * sizeof(int64_t));
    }

    kernels::flare::Sizes sizes_;
    kernels::Queue queue_;
    const CloudTiles& tiles_;
    int64_t n_shared_ = 0;

private:
    std::vector<int64_t> shared_;      // (parts)
    kernels::Buffer<bool> is_finite_;  // (parts)
};

}  // namespace surrogate::impl::flare
