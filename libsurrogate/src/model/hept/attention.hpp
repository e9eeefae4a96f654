// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "kernels/hept/hept.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/head_sums.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Attention among the tokens of a rank, one head at a time:
///
///   augment()   rows and hashes of all tokens
///   order()     tokens at the places of all tables, queries and keys
///   attend()    sums of all blocks, table after table
///
/// What a token is given does not depend on threads: in each table one block makes its sums, and
/// tables are added in their order.
template <class T>
class Attention {
public:
    /// `config` must outlive it.
    Attention(const Config& config, const kernels::Queue& queue);

    /// For the tokens of `plan`, which must outlive it. Takes memory for more than ever before.
    void resize(const TokenPlan& plan);

    /// u (d, n_token), x (D, n_token): what normalisation gave, and coordinates. Returns whether
    /// all queries and keys were finite; otherwise there is nothing to order.
    bool augment(const kernels::hept::Head<T>& head, const kernels::Tiles<const T>& u,
                 const kernels::Tiles<const T>& x);
    /// Orders the tokens of head h of layer l.
    void order(int64_t l, int64_t h);
    void attend();

    const kernels::hept::RowShape& shape() const { return shape_; }
    HeadSums<T>& sums() { return sums_; }
    const T* rows() const { return rows_.data(); }
    int64_t n_block() const { return std::ssize(plan_->blocks()); }
    kernels::hept::Block<T> block(int64_t table, int64_t i) const;

    int64_t bytes() const;

private:
    /// Memory of one thread.
    struct Scratch {
        kernels::Buffer<T> augment, attend;
        kernels::Buffer<uint64_t> order;
        std::vector<int32_t> sum_rows;  // (block_size)
        bool is_finite = true;
    };

    std::span<int32_t> places(int64_t table, bool is_key);
    std::span<const int32_t> members(int64_t i, bool is_key) const;
    void order_share(int64_t row, bool is_key, int thread);

    const Config& config_;
    kernels::Queue queue_;
    kernels::hept::RowShape shape_;
    const TokenPlan* plan_ = nullptr;
    HeadSums<T> sums_;
    kernels::Buffer<T> rows_;           // (n_token, stride)
    kernels::Buffer<uint32_t> hashes_;  // (2, C, n_token): queries, keys
    kernels::Buffer<int32_t> orders_;   // (2, C, n_place): likewise
    std::vector<Scratch> scratch_;      // (n_thread)
};

}  // namespace surrogate::impl::hept
