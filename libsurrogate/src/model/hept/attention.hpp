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

/// Computes attention among the tokens of a rank, one head at a time, in three calls:
///
///   augment()   rows and hashes of all tokens
///   order()     tokens in sorted order for all tables, queries and keys
///   attend()    sums of all blocks, table after table
///
/// Results do not depend on the number of threads: in each table exactly one block computes the
/// sums of a token, and tables are added in their order.
template <class T>
class Attention {
public:
    /// Keeps a reference to `config`, which must outlive this object. Local.
    Attention(const Config& config, const kernels::Queue& queue);

    /// Sets the tokens of `plan`, which must outlive this object. Local. Allocates only if the
    /// sizes exceed all earlier ones.
    void resize(const TokenPlan& plan);

    /// Computes rows and hashes from u (d, n_token), the normalized tokens, and x (D, n_token),
    /// their coordinates. Returns true if all queries and keys are finite; otherwise order() must
    /// not be called.
    bool augment(const kernels::hept::Head<T>& head, const kernels::Tiles<const T>& u,
                 const kernels::Tiles<const T>& x);
    /// Sorts the tokens for head h of layer l, for queries and keys of all tables.
    void order(int64_t l, int64_t h);
    /// Computes the sums of all blocks; call it after order(). Local.
    void attend();

    const kernels::hept::RowShape& shape() const { return shape_; }
    HeadSums<T>& sums() { return sums_; }
    const T* rows() const { return rows_.data(); }
    int64_t n_block() const { return std::ssize(plan_->blocks()); }
    /// Returns the arguments of block i of a table.
    kernels::hept::Block<T> block(int64_t table, int64_t i) const;

    int64_t bytes() const;

private:
    /// Scratch memory of one thread.
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
    kernels::Buffer<int32_t> orders_;   // (2, C, n_place): queries, keys
    std::vector<Scratch> scratch_;      // (n_thread)
};

}  // namespace surrogate::impl::hept
