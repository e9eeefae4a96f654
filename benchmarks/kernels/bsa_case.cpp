// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/bsa_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {

constexpr int64_t n_choice = 4, l = 8, ball = 256, key_tile = 128;

void fill_normal(Buffer<float>& data, float scale, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : data) x = scale * normal(random);
}

}  // namespace

ChooseCase::ChooseCase(int64_t n_block, int64_t g, Scores kind)
    : n_block_(n_block),
      g_(g),
      n_group_(std::min(tile_points, n_block * l / g)),
      q_(heads_.n_key_channel() * tile_points),
      k_(heads_.n_key_channel() * round_up(n_block, key_tile)),
      v_(k_.size()),
      y_(q_.size()),
      score_(heads_.n_head * n_choice * tile_points),
      scratch_(std::max(attend_scratch(heads_), bsa::choose_scratch(heads_, n_choice))),
      state_(SoftmaxState<float>::size(heads_)),
      block_(score_.size()),
      choice_{heads_.n_head, n_choice, score_.data(), block_.data()} {
    std::mt19937 random(1);
    fill_normal(q_, 1.4427f / std::sqrt(8.0f), random);
    fill_normal(k_, 1, random);
    fill_normal(v_, 1, random);
    const int64_t n_channel = heads_.n_key_channel(), middle = n_block * l / g / 2;
    const auto key = [&](int64_t c, int64_t b) -> float& {
        return k_[(b / key_tile * n_channel + c) * key_tile + b % key_tile];
    };
    for (int64_t c = 0; c < n_channel; ++c) {
        for (int64_t b = 1; b < n_block && kind == Scores::smooth; ++b)
            key(c, b) = 0.98f * key(c, b - 1) + 0.2f * key(c, b);
        for (int64_t b = 0; b < n_block && kind == Scores::growing; ++b)
            key(c, b) = 1e-3f * static_cast<float>(b);
    }
    if (kind == Scores::growing) std::fill(q_.begin(), q_.end(), 0.5f);
    for (int64_t i = 0; i < n_group_; ++i)  // groups in the middle of the cloud
        first_own_.push_back((middle + i) * g / ball * (ball / l));
}

Tile<const float> ChooseCase::keys(const Buffer<float>& data, int64_t tile) const {
    const int64_t n_channel = heads_.n_key_channel();
    return {data.data() + tile * n_channel * key_tile,
            {n_channel, std::min(key_tile, n_block_ - tile * key_tile)},
            {key_tile, 1}};
}

double ChooseCase::flops() const {
    return 2.0 * static_cast<double>(n_group_ * n_block_ * heads_.n_key_channel());
}

void ChooseCase::choose(const Queue& queue) {
    const Tile<const float> q{q_.data(), {heads_.n_key_channel(), n_group_}, {tile_points, 1}};
    bsa::reset(choice_);
    for (int64_t first = 0; first < n_block_; first += key_tile)
        bsa::choose<float>(queue, heads_, q, keys(k_, first / key_tile), first,
                           {first_own_.data(), ball / l}, scratch_.data(), choice_);
}

void ChooseCase::attend(const Queue& queue) {
    const SoftmaxState<float> state{heads_, state_.data()};
    for (int64_t i = 0; i < n_query(); i += tile_points) {
        const int64_t n = std::min(tile_points, n_query() - i);
        const Tile<float> q{q_.data(), {heads_.n_key_channel(), n}, {tile_points, 1}};
        reset(state);
        for (int64_t tile = 0; tile * key_tile < n_block_; ++tile)
            kernels::attend<float>(queue, heads_, q, keys(k_, tile), keys(v_, tile), 1.0f, {},
                                   scratch_.data(), state);
        finish(queue, state, Tile<float>{y_.data(), q.shape, q.stride});
    }
}

bool ChooseCase::is_right(const Queue& queue) {
    choose(queue);
    Buffer<int64_t> blocks(block_.size());
    std::copy(block_.begin(), block_.end(), blocks.begin());
    choose(Queue());
    return std::equal(blocks.begin(), blocks.end(), block_.begin());
}

SlotsCase::SlotsCase(int64_t n_slot, int64_t g)
    : n_slot_(n_slot),
      g_(g),
      n_group_of_tile_(tile_points / g),
      q_(n_slot * heads_.n_key_channel()),
      k_(q_.size()),
      v_(q_.size()),
      y_(q_.size()),
      gate_(n_slot * 3 * heads_.n_head),
      dk_(q_.size()),
      dv_(q_.size()),
      dq_(q_.size()),
      log_sum_(n_slot * heads_.n_head),
      delta_(n_slot * heads_.n_head),
      folded_(l * heads_.n_key_dim * tile_points),
      scratch_(bsa::attend_blocks_scratch(heads_, l, n_choice)) {
    std::mt19937 random(1);
    for (Buffer<float>* x : {&k_, &v_, &gate_, &delta_}) fill_normal(*x, 1, random);
    fill_normal(q_, 1.4427f / std::sqrt(8.0f), random);
    const int64_t n_block = n_slot / l;
    for (int64_t row = 0; row < n_slot / g * heads_.n_head; ++row) {
        int64_t block[n_choice];
        for (int64_t& b : block) b = std::uniform_int_distribution<int64_t>(0, n_block - 1)(random);
        std::sort(block, block + n_choice);
        for (int64_t b : block) {
            const int64_t channel = row % heads_.n_head * heads_.n_key_dim;
            blocks_.push_back(
                {&slots(k_)(channel, b * l), &slots(v_)(channel, b * l), tile_points});
            gradients_.push_back(
                {&slots(dk_)(channel, b * l), &slots(dv_)(channel, b * l), tile_points});
        }
    }
}

Tiles<float> SlotsCase::slots(Buffer<float>& data) const {
    return {data.data(), heads_.n_key_channel(), n_slot_};
}

bsa::ChosenBlocks<const float> SlotsCase::chosen(int64_t tile) const {
    const int64_t n = n_group_of_tile_ * heads_.n_head * n_choice;
    return {{blocks_.data() + tile * n, static_cast<size_t>(n)}, l, g_, n_choice};
}

double SlotsCase::attend_flops() const {
    return 4.0 * static_cast<double>(n_slot_ * n_choice * l * heads_.n_key_channel());
}

void SlotsCase::attend_blocks(const Queue& queue) {
    const Tiles<float> sums{log_sum_.data(), heads_.n_head, n_slot_};
    for (int64_t t = 0; t < n_slot_ / tile_points; ++t)
        bsa::attend_blocks<float>(queue, heads_, slots(q_).tile(t), chosen(t), scratch_.data(),
                                  slots(y_).tile(t), sums.tile(t));
}

void SlotsCase::attend_blocks_backward(const Queue& queue) {
    const Tiles<float> sums{log_sum_.data(), heads_.n_head, n_slot_};
    const Tiles<float> deltas{delta_.data(), heads_.n_head, n_slot_};
    const int64_t n = n_group_of_tile_ * heads_.n_head * n_choice;
    for (int64_t t = 0; t < n_slot_ / tile_points; ++t) {
        const AttendGradient<float> of{slots(q_).tile(t), slots(v_).tile(t), sums.tile(t),
                                       deltas.tile(t)};
        bsa::attend_blocks_backward<float>(queue, heads_, {0, heads_.n_head}, of, chosen(t),
                                           {gradients_.data() + t * n, static_cast<size_t>(n)},
                                           scratch_.data(), slots(dq_).tile(t));
    }
}

void SlotsCase::combine(const Queue& queue) {
    const Tiles<float> gates{gate_.data(), 3 * heads_.n_head, n_slot_};
    for (int64_t t = 0; t < n_slot_ / tile_points; ++t) {
        const Tile<const float> branches[] = {slots(q_).tile(t), slots(k_).tile(t),
                                              slots(v_).tile(t)};
        bsa::combine<float>(queue, heads_.n_head, gates.tile(t), branches, slots(y_).tile(t));
    }
}

void SlotsCase::combine_backward(const Queue& queue) {
    const Tiles<float> gates{gate_.data(), 3 * heads_.n_head, n_slot_};
    Buffer<float>& dgate = folded_;  // of one tile
    for (int64_t t = 0; t < n_slot_ / tile_points; ++t) {
        const Tile<const float> branches[] = {slots(q_).tile(t), slots(k_).tile(t),
                                              slots(v_).tile(t)};
        const Tile<float> to[] = {slots(dq_).tile(t), slots(dk_).tile(t), slots(dv_).tile(t)};
        bsa::combine_backward<float>(queue, heads_.n_head, gates.tile(t), branches,
                                     slots(y_).tile(t), to,
                                     {dgate.data(), {3 * heads_.n_head, tile_points}, {64, 1}});
    }
}

void SlotsCase::fold(const Queue& queue) {
    const Tile<float> to{folded_.data(), {l * heads_.n_key_dim, tile_points}, {tile_points, 1}};
    for (int64_t first = 0; first < n_slot_ / l; first += tile_points) {
        for (int64_t h = 0; h < heads_.n_head; ++h)
            bsa::fold_blocks<float>(queue, l, heads_.n_key_dim, h, slots(k_), first, to);
    }
}

void SlotsCase::means(const Queue& queue) {
    const Tile<float> to{folded_.data(), {n_channel(), tile_points}, {tile_points, 1}};
    for (int64_t first = 0; first < n_slot_ / l; first += tile_points)
        bsa::block_means<float>(queue, l, slots(k_), first, to);
}

double SlotsCase::error(const Queue& queue) {
    double error = 0;
    Buffer<float> got(y_.size());
    const auto compare = [&](const auto& work) {
        work(queue);
        std::copy(y_.begin(), y_.end(), got.begin());
        work(Queue());
        for (int64_t i = 0; i < got.size(); ++i)
            error = std::max(error, static_cast<double>(std::abs(got[i] - y_[i])));
    };
    compare([&](const Queue& on) { attend_blocks(on); });
    compare([&](const Queue& on) { combine(on); });
    return error;
}

}  // namespace surrogate::bench
