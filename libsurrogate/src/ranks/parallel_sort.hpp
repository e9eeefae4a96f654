// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// The keys that the items of this rank are sorted by: `width` >= 1 words each, the same on all
/// ranks. Keys are compared word by word, the first word first.
struct SortKeys {
    SortKeys() = default;
    SortKeys(int64_t n, int64_t words_of_key)
        : width(words_of_key), words(static_cast<size_t>(n * words_of_key)) {}

    int64_t size() const { return std::ssize(words) / width; }
    std::span<const uint64_t> operator[](int64_t i) const {
        return std::span(words).subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
    }
    std::span<uint64_t> operator[](int64_t i) {
        return std::span(words).subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
    }

    int64_t width = 1;
    std::vector<uint64_t> words;  // (n, width)
};

/// Throws the error of a caller that needs distinct keys; it is given a key that two items share.
using RefuseEqual = std::function<void(std::span<const uint64_t> key)>;

/// Returns the position of every local item among the items of all ranks, sorted by their keys.
/// Positions do not depend on the distribution of the items. Collective; throws, on all ranks, what
/// refuse_equal() throws if two keys are equal, and no_memory.
///
/// Method: every rank sorts its keys; samples of all ranks divide the keys into one part per rank,
/// of about equal size; each rank sorts its part and returns the positions. Memory: 32 bytes and
/// two keys per local item while it runs; for samples 32 (width + 1) words per rank.
std::vector<int64_t> sorted_positions(Communicator& comm, SortKeys keys,
                                      const RefuseEqual& refuse_equal);

/// Returns positions like sorted_positions(), but equal keys are allowed: their items are ordered
/// by rank, then by index on the rank. The parts of the ranks are balanced even if all keys are
/// equal. Each key needs one more word.
std::vector<int64_t> stable_sorted_positions(Communicator& comm, const SortKeys& keys);

}  // namespace surrogate::impl
