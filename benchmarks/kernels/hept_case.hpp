// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/hept/hept.hpp"

namespace surrogate::bench {

/// One head and table of a layer with the published sizes, d = 24, D = 6: all blocks of a random
/// order of tokens, and gradients of one of them at a time.
class HeptBlocks {
public:
    HeptBlocks(int64_t n_token, int64_t block_size);

    double n_pair() const { return static_cast<double>(n_block_ * block_size_ * block_size_); }
    /// Returns the flops of a pair, two per multiply-add; exponentials and differences are not
    /// counted.
    double attend_flops() const;
    double backward_flops() const;

    void attend(const kernels::Queue& queue);
    void attend_backward(const kernels::Queue& queue);
    /// Returns the largest difference from the reference in single precision, relative to the
    /// largest number; first block only.
    double error(const kernels::Queue& queue);

private:
    kernels::hept::Block<float> block(int64_t i) const;

    kernels::hept::RowShape shape_{24, 6};
    int64_t n_block_, block_size_;
    kernels::Buffer<float> rows_, sums_, given_, dqueries_, dkeys_, scratch_;
    std::vector<int32_t> queries_, keys_;
};

/// Rows and hashes of the points of a tile, three tables.
class HeptAugment {
public:
    HeptAugment();
    double flops() const;  ///< of the projections alone
    void augment(const kernels::Queue& queue);

private:
    kernels::hept::Head<float> head_;
    std::vector<float> weight_, scale_, alpha_;
    kernels::Buffer<float> u_, x_, rows_, scratch_;
    std::vector<uint32_t> hashes_;
};

/// Cells of tokens, ascending in each, that are sorted by hashes.
class HeptCells {
public:
    HeptCells(int64_t n_token, int64_t n_member);
    int64_t n_sorted() const { return n_cell_ * n_member_; }
    void order();
    /// Sorts hash and index in one number by std::sort.
    void order_by_comparison();
    bool is_right();

private:
    int64_t n_member_, n_cell_;
    std::vector<int32_t> members_, order_;
    std::vector<uint32_t> hash_;
    std::vector<uint64_t> scratch_;
};

}  // namespace surrogate::bench
