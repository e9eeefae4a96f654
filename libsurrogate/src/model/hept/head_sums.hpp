// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// The sums of a head: num (d) and den of each token, of all tables together.
///
/// Tables follow each other, and each is added in place. Of a token that another rank may compute
/// in some table, each table has a row of its own until its sums have come home; then join() adds
/// them in the same order. So numbers do not depend on the partition.
template <class T>
class HeadSums {
public:
    /// For the tokens of `plan`, which must outlive it. Takes memory for more than ever before.
    void resize(const TokenPlan& plan, int64_t n_head, int64_t n_table, int64_t n_sum);

    /// A head begins: all rows of its tokens that ranks share become zeros.
    void begin(int64_t head);
    /// All rows.
    void fill(T value);
    /// The row of a token in a table: table 0 is written there, the others are added.
    int64_t row(int64_t table, int32_t token) const;
    /// The rows of some tokens, in `rows` if need be, which is as long.
    std::span<const int32_t> rows(int64_t table, std::span<const int32_t> tokens,
                                  std::span<int32_t> rows) const;
    T* part(const TokenPlan::Neighbor::Part& part) {
        return data_.data() + row(part.table, part.token) * n_sum_;
    }
    /// Local: own tokens that ranks share get the sum of their rows.
    void join();

    T* data() { return data_.data(); }  ///< (.., n_sum), first of all tokens
    const T* data() const { return data_.data(); }
    int64_t bytes() const;

private:
    void find_shared(int64_t head);

    const TokenPlan* plan_ = nullptr;
    int64_t n_table_ = 0, n_sum_ = 0;
    kernels::Buffer<T> data_;
    std::vector<int32_t> number_;  // (n_token), empty without neighbors: in shared_, or -1
    std::vector<int32_t> shared_;  // tokens of the head that ranks share
};

}  // namespace surrogate::impl::hept
