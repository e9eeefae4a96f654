// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/gradient_buckets.hpp"

#include <algorithm>
#include <utility>

namespace surrogate::impl {

GradientBuckets::GradientBuckets(const MasterWeights& master, std::span<const int> stages,
                                 int64_t n_element) {
    const std::vector<MasterWeights::Entry>& entries = master.entries();
    if (!stages.empty() && stages.size() != entries.size())
        throw Error(Status::internal, "stages of backward: one for each weight");
    const auto stage_of = [&](const Place& place) {
        return stages.empty() ? 0 : stages[static_cast<size_t>(place.tensor)];
    };
    for (int64_t tensor = 0; tensor < std::ssize(entries); ++tensor) places_.push_back({tensor, 0});
    std::ranges::sort(places_, {},
                      [&](const Place& place) { return std::pair(stage_of(place), place.tensor); });
    buckets_.emplace_back();
    for (size_t i = 0; i < places_.size(); ++i) {
        const bool is_new_stage = i > 0 && stage_of(places_[i]) != stage_of(places_[i - 1]);
        if (is_new_stage && buckets_.back().size >= n_element) {
            const Bucket& last = buckets_.back();
            buckets_.push_back({i, i, last.begin + last.size, 0, 0});
        }
        Bucket& bucket = buckets_.back();
        places_[i].packed = bucket.begin + bucket.size;
        bucket.size += entries[static_cast<size_t>(places_[i].tensor)].size;
        bucket.end = i + 1;
        bucket.stage = stage_of(places_[i]);
    }
}

int64_t GradientBuckets::largest() const {
    return std::ranges::max_element(buckets_, {}, &Bucket::size)->size;
}

}  // namespace surrogate::impl
