// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstddef>
#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::coupling {

/// Words that are sent bitwise to all ranks, each from the one rank that has set it.
class SharedWords {
public:
    void resize(size_t n) {
        words_.resize(n);
        halves_.resize(2 * n);
    }
    uint64_t& operator[](size_t i) { return words_[i]; }

    /// Sets each word to the sum over the ranks; at most one rank may have set it. Collective; does
    /// not allocate. The number of words must be the same on all ranks.
    void share(surrogate_context* context) {
        for (size_t i = 0; i < words_.size(); ++i) {
            halves_[2 * i] = static_cast<double>(words_[i] >> 32);
            halves_[2 * i + 1] = static_cast<double>(words_[i] & 0xffffffffu);
        }
        check(surrogate_context_reduce(context, SURROGATE_SUM, static_cast<int64_t>(halves_.size()),
                                       halves_.data()));
        for (size_t i = 0; i < words_.size(); ++i)
            words_[i] = static_cast<uint64_t>(halves_[2 * i]) << 32 |
                        static_cast<uint64_t>(halves_[2 * i + 1]);
    }

private:
    std::vector<uint64_t> words_;
    std::vector<double> halves_;  // of 32 bits each, which are exact in a sum of doubles
};

}  // namespace surrogate::coupling
