// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/hept_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {

template <class Numbers>
void fill_normal(Numbers& data, float scale, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : data) x = scale * normal(random);
}

std::vector<int32_t> shuffled(int64_t n, std::mt19937& random) {
    std::vector<int32_t> tokens(static_cast<size_t>(n));
    std::iota(tokens.begin(), tokens.end(), 0);
    std::shuffle(tokens.begin(), tokens.end(), random);
    return tokens;
}

}  // namespace

HeptBlocks::HeptBlocks(int64_t n_token, int64_t block_size)
    : n_block_(n_token / block_size),
      block_size_(block_size),
      rows_(n_token * shape_.stride()),
      sums_(n_token * shape_.n_sum()),
      given_(n_token * shape_.n_sum()),
      dqueries_(block_size * shape_.n_query()),
      dkeys_(block_size * (shape_.n_query() + shape_.n_channel)),
      scratch_(hept::attend_block_scratch(shape_)) {
    std::mt19937 random(1);
    fill_normal(rows_, 0.3f, random);
    fill_normal(given_, 1, random);
    queries_ = shuffled(n_token, random);
    keys_ = shuffled(n_token, random);
}

double HeptBlocks::attend_flops() const {
    return 2 * n_pair() * static_cast<double>(shape_.n_query() + shape_.n_channel);
}

double HeptBlocks::backward_flops() const {
    return 2 * n_pair() * static_cast<double>(3 * shape_.n_query() + 2 * shape_.n_channel);
}

hept::Block<float> HeptBlocks::block(int64_t i) const {
    const auto of = [&](const std::vector<int32_t>& tokens, int64_t b) -> std::span<const int32_t> {
        if (b >= n_block_) return {};
        return {tokens.data() + b * block_size_, static_cast<size_t>(block_size_)};
    };
    return {rows_.data(), of(queries_, i), of(keys_, i), 0, of(queries_, i + 1), of(keys_, i + 1)};
}

void HeptBlocks::attend(const Queue& queue) {
    for (int64_t i = 0; i < n_block_; ++i)
        hept::attend_block<float>(queue, shape_, block(i), scratch_.data(),
                                  sums_.data() + i * block_size_ * shape_.n_sum());
}

void HeptBlocks::attend_backward(const Queue& queue) {
    for (int64_t i = 0; i < n_block_; ++i)
        hept::attend_block_backward<float>(queue, shape_, block(i),
                                           given_.data() + i * block_size_ * shape_.n_sum(),
                                           scratch_.data(), dqueries_.data(), dkeys_.data());
}

double HeptBlocks::error(const Queue& queue) {
    double largest = 0;
    const auto run = [&](const Queue& on) {
        hept::attend_block<float>(on, shape_, block(0), scratch_.data(), sums_.data());
        hept::attend_block_backward<float>(on, shape_, block(0), given_.data(), scratch_.data(),
                                           dqueries_.data(), dkeys_.data());
        std::vector<float> all(sums_.begin(), sums_.begin() + block_size_ * shape_.n_sum());
        all.insert(all.end(), dqueries_.begin(), dqueries_.end());
        all.insert(all.end(), dkeys_.begin(), dkeys_.end());
        return all;
    };
    const std::vector<float> got = run(queue), want = run(Queue());
    double size = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        largest = std::max(largest, static_cast<double>(std::abs(got[i] - want[i])));
        size = std::max(size, static_cast<double>(std::abs(want[i])));
    }
    return largest / size;
}

HeptAugment::HeptAugment()
    : head_{{24, 6}, {24, 72}, nullptr, nullptr, 3},
      weight_(72 * 24),
      scale_(6),
      alpha_(3 * 30),
      u_(24 * tile_points),
      x_(6 * tile_points),
      rows_(tile_points * head_.shape.stride()),
      scratch_(hept::augment_scratch(head_)),
      hashes_(6 * tile_points) {
    std::mt19937 random(1);
    fill_normal(weight_, 0.3f, random);
    for (auto* numbers : {&scale_, &alpha_}) fill_normal(*numbers, 1, random);
    for (auto* numbers : {&u_, &x_}) fill_normal(*numbers, 1, random);
    head_.qkv.weight = weight_.data();
    head_.scale = scale_.data();
    head_.alpha = alpha_.data();
}

double HeptAugment::flops() const {
    return 2.0 * 72 * 24 * tile_points;
}

void HeptAugment::augment(const Queue& queue) {
    hept::augment<float>(queue, head_, {u_.data(), {24, tile_points}, {tile_points, 1}},
                         {x_.data(), {6, tile_points}, {tile_points, 1}}, scratch_.data(),
                         rows_.data(), {hashes_.data(), tile_points});
}

HeptCells::HeptCells(int64_t n_token, int64_t n_member)
    : n_member_(n_member),
      n_cell_(n_token / n_member),
      order_(static_cast<size_t>(n_member)),
      hash_(static_cast<size_t>(n_token)),
      scratch_(static_cast<size_t>(2 * n_member)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (uint32_t& x : hash_) x = hept::ordered_bits(3 * normal(random));
    members_ = shuffled(n_token, random);
    for (int64_t i = 0; i < n_cell_; ++i)
        std::sort(members_.begin() + i * n_member, members_.begin() + (i + 1) * n_member);
}

void HeptCells::order() {
    for (int64_t i = 0; i < n_cell_; ++i)
        hept::order_cell({members_.data() + i * n_member_, static_cast<size_t>(n_member_)},
                         hash_.data(), 0, n_member_, scratch_, order_.data());
}

void HeptCells::order_by_comparison() {
    for (int64_t i = 0; i < n_cell_; ++i) {
        const int32_t* members = members_.data() + i * n_member_;
        for (int64_t j = 0; j < n_member_; ++j)
            scratch_[static_cast<size_t>(j)] =
                uint64_t{hash_[static_cast<size_t>(members[j])]} << 32 | static_cast<uint64_t>(j);
        std::sort(scratch_.begin(), scratch_.begin() + n_member_);
        for (size_t j = 0; j < order_.size(); ++j)
            order_[j] = members[static_cast<uint32_t>(scratch_[j])];
    }
}

bool HeptCells::is_right() {
    order();
    const std::vector<int32_t> got = order_;
    order_by_comparison();
    return got == order_;
}

}  // namespace surrogate::bench
