// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/view.hpp"

namespace surrogate::impl {

/// A rate of dropout or drop path above 0 that a card sets for training.
struct DropoutRate {
    std::string key;  ///< of the card's `network`
    double rate = 0;
    bool is_built = true;  ///< false: training cannot apply it
};

/// Seed and number of a training sample, which determine all of its masks.
struct DropoutDraw {
    uint64_t seed = 0, sample = 0;
};

/// A place in a network where values are dropped, and the probability of a value to be dropped. All
/// sites of a network have different numbers.
struct DropoutSite {
    int64_t number = 0;
    double rate = 0;
};

/// Rows of the random numbers of a tile, one per column: the canonical ids of its points.
class DropoutRows {
public:
    /// Returns the rows first, first + 1, ..
    static DropoutRows from(int64_t first) { return {first, 1, nullptr}; }
    /// Returns the rows list[0], list[1], .., which the caller owns.
    static DropoutRows of(const int64_t* list) { return {0, 0, list}; }
    /// Returns one row for all columns: a channel is kept or dropped as a whole.
    static DropoutRows shared() { return {0, 0, nullptr}; }

    uint64_t operator[](int64_t column) const {
        return static_cast<uint64_t>(list_ ? list_[column] : first_ + column * step_);
    }

private:
    DropoutRows(int64_t first, int64_t step, const int64_t* list)
        : first_(first), step_(step), list_(list) {}

    int64_t first_, step_;
    const int64_t* list_;
};

/// Masks of dropout in the forward and backward pass of a training sample. A mask is a function of
/// seed, sample, site, row and channel, so it is computed again where it is needed, and is the same
/// for any number of ranks and threads and any tiles. With Philox4x32-10:
///   key      (seed low ^ sample low, seed high ^ sample high)
///   counter  (row low, row high, site % 256 + 256 (channel / 4), 4 + 256 (site / 256))
/// Word channel % 4 of the result decides: a value is kept, and multiplied by 1 / (1 - rate), if
/// the word is at least rate * 2^32, rounded down. Source: specification of HEPT, section 4.
class Dropout {
public:
    /// Sets the sample whose masks are used from now on; none, as at first: nothing is dropped.
    void set(std::optional<DropoutDraw> draw) { draw_ = draw; }

    /// Returns true if values are dropped at a site of this rate.
    bool drops(double rate) const { return draw_ && rate > 0; }

    /// Computes to = mask * from, with `accumulate` to += mask * from. If drops() is false, the
    /// mask is 1.
    ///   from, to  (n_channel, n) tiles; without `accumulate`, `to` may be `from`
    template <class T>
    void apply(const DropoutSite& site, const DropoutRows& rows, kernels::Tile<const T> from,
               bool accumulate, kernels::Tile<T> to) const;
    /// Computes x = mask * x.
    template <class T>
    void apply(const DropoutSite& site, const DropoutRows& rows, kernels::Tile<T> x) const {
        apply<T>(site, rows, x, false, x);
    }

    /// Returns the factor of a branch that is kept or dropped as a whole (drop path): 0 or
    /// 1 / (1 - rate), or 1 if drops() is false. The mask of channel 0 of row 0.
    double branch(const DropoutSite& site) const;

private:
    std::optional<DropoutDraw> draw_;
};

/// Computes to += factor * from.
template <class T>
void add(kernels::Tile<const T> from, kernels::Tile<T> to, double factor = 1) {
    const T scale = static_cast<T>(factor);
    for (int64_t c = 0; c < to.shape[0]; ++c)
        for (int64_t i = 0; i < to.shape[1]; ++i) to(c, i) += scale * from(c, i);
}

}  // namespace surrogate::impl
