// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/random.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

/// Adds Gaussian noise to the inputs of training samples: `size` standard deviations of each field,
/// as given in the card, drawn independently at every point. Coordinates and integers are not
/// changed. A number depends on seed, sample, field and the index of the point in the canonical
/// ordering only, so it is the same for any number of ranks and any partition.
class Noise {
public:
    Noise(double size, int64_t seed) : size_(size), seed_(static_cast<uint64_t>(seed)) {}

    bool is_on() const { return size_ > 0; }

    /// Finds the positions of scattered points, once and when they have moved. Collective over the
    /// plan's context; throws on all its ranks (points without ids that lie on one another;
    /// no_memory).
    void follow(const Plan& plan);

    /// Returns inputs with the noise of a sample, in memory of this object until the next call.
    /// Values that are not finite stay so. Local; throws no_memory.
    std::span<const Column> on(const Plan& plan, std::span<const Column> inputs, int64_t sample);

    int64_t bytes() const {
        return numbers_.bytes() + static_cast<int64_t>(position_.capacity() * sizeof(int64_t));
    }

private:
    double size_;
    uint64_t seed_;
    int64_t revision_ = -1;            // of the domain whose positions these are
    std::vector<int64_t> position_;    // (n_local) of scattered points
    kernels::Buffer<double> numbers_;  // (inputs, n_local of the larger domain)
    std::vector<Column> columns_;      // of these
};

}  // namespace surrogate::impl
