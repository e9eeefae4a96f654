// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Attention sums of one head: num (d) and den of each token, over all tables.
///
/// Tables follow each other, and each table is added in place. If another rank may compute a token
/// in some table, each table has a separate row for this token until its partial sums are returned;
/// join() then adds the rows in the same order. Results therefore do not depend on the partition.
template <class T>
class HeadSums {
public:
    /// Sets the tokens of `plan`, which must outlive this object. Local. Allocates only if the
    /// sizes exceed all earlier ones.
    void resize(const TokenPlan& plan, int64_t n_head, int64_t n_table, int64_t n_sum);

    /// Starts a head: sets all rows of its shared tokens (tokens that several ranks may compute) to
    /// zero.
    void begin(int64_t head);
    /// Sets all rows to `value`, on all threads of `queue`.
    void fill(T value, const kernels::Queue& queue = {});
    /// Returns the row of a token in a table: table 0 writes the row, other tables add to it.
    int64_t row(int64_t table, int32_t token) const;
    /// Returns the rows of `tokens`; uses `rows`, which has the same length, as storage if
    /// necessary.
    std::span<const int32_t> rows(int64_t table, std::span<const int32_t> tokens,
                                  std::span<int32_t> rows) const;
    T* part(const TokenPlan::Neighbor::Part& part) {
        return data_.data() + row(part.table, part.token) * n_sum_;
    }
    /// Sets the sums of own shared tokens to the sum of their rows. Local.
    void join();

    T* data() { return data_.data(); }  ///< (.., n_sum), all tokens first
    const T* data() const { return data_.data(); }
    int64_t bytes() const;

private:
    void find_shared(int64_t head);

    const TokenPlan* plan_ = nullptr;
    int64_t n_table_ = 0, n_sum_ = 0;
    kernels::Buffer<T> data_;
    std::vector<int32_t> number_;  // (n_token): index in shared_, or -1; empty without neighbors
    std::vector<int32_t> shared_;  // tokens of the head that several ranks may compute
};

}  // namespace surrogate::impl::hept
