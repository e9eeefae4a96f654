// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// Groups gradients into buckets that are reduced together: the tensors of a master in the order in
/// which backward completes them, packed without gaps. A bucket ends at the end of a stage of
/// backward, once it has enough bytes.
class GradientBuckets {
public:
    /// A tensor and its first element in packed memory.
    struct Place {
        int64_t tensor = 0, packed = 0;
    };
    /// Tensors places()[first .. end), elements [begin, begin + size) of packed memory; complete
    /// when `stage` has ended. Two buckets have no tensor in common, and each tensor has a bucket.
    struct Bucket {
        size_t first = 0, end = 0;
        int64_t begin = 0, size = 0;
        int stage = 0;
    };

    /// Divides the master's entries into buckets of at least n_element elements, if there are as
    /// many left, and of whole stages; there is at least one bucket. stages: for each entry the
    /// stage of backward, 0, 1, .., that adds to it last; empty: one stage.
    GradientBuckets(const MasterWeights& master, std::span<const int> stages, int64_t n_element);

    const std::vector<Bucket>& list() const { return buckets_; }
    std::span<const Place> places(const Bucket& bucket) const {
        return std::span(places_).subspan(bucket.first, bucket.end - bucket.first);
    }
    /// Returns the elements of packed memory.
    int64_t size() const { return buckets_.back().begin + buckets_.back().size; }
    int64_t largest() const;

private:
    std::vector<Place> places_;
    std::vector<Bucket> buckets_;
};

}  // namespace surrogate::impl
