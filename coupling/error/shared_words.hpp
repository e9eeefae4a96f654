// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstddef>
#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::coupling {

/// Words that go to all ranks, bit for bit, where only one rank knows each of them.
class SharedWords {
public:
    void resize(size_t n) {
        words_.resize(n);
        halves_.resize(2 * n);
    }
    uint64_t& operator[](size_t i) { return words_[i]; }

    /// Makes each word the sum over the ranks; no more than one rank has set it. Collective, takes
    /// no memory; the number of words is the same on all ranks.
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
    std::vector<double> halves_;  // of 32 bits each, which a sum of doubles keeps
};

}  // namespace surrogate::coupling
