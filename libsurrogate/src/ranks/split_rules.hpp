// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "libsurrogate/src/ranks/split_order.hpp"

namespace surrogate::impl {

/// The tree of balls: halves, down to leaves of two slots. There are as many slots as the smallest
/// power of two that is no less than n_point, spread evenly, so a leaf has one point or two.
class BallRule final : public SplitRule {
public:
    explicit BallRule(int64_t n_point)
        : n_slot_(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n_point)))) {}

    int64_t left(int64_t n_point, int depth) const override {
        return (n_slot_ >> depth) <= 2 ? 0 : n_point / 2;
    }

private:
    int64_t n_slot_;
};

/// Halves, down to leaves of at most `stop` points.
class HalvesRule final : public SplitRule {
public:
    explicit HalvesRule(int64_t stop = 2, bool by_id = false)
        : stop_(std::max<int64_t>(stop, 1)), by_id_(by_id) {}

    int64_t left(int64_t n_point, int) const override { return n_point <= stop_ ? 0 : n_point / 2; }
    bool leaves_by_id() const override { return by_id_; }

private:
    int64_t stop_;
    bool by_id_;
};

/// The tree with k >= 2 children a node: with u the largest power of k below n_point, about one
/// half of the ceil(n_point / u) blocks of u points go to the left, so all blocks but the last are
/// full. Leaves have at most two points.
class BranchRule final : public SplitRule {
public:
    explicit BranchRule(int64_t k) : k_(std::max<int64_t>(k, 2)) {}

    int64_t left(int64_t n_point, int) const override {
        if (n_point <= 2) return 0;
        int64_t u = 1;
        while (u <= (n_point - 1) / k_) u *= k_;
        return (n_point + u - 1) / u / 2 * u;
    }

private:
    int64_t k_;
};

}  // namespace surrogate::impl
