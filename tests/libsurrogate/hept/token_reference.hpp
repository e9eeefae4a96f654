// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tests/libsurrogate/hept/hept_points.hpp"

namespace surrogate::test {

/// Tokens and cells by their definition, of all points on one rank.
class TokenReference {
public:
    using Config = impl::hept::Config;
    /// copy 0: the point; else the number of the copy, from 1.
    struct Token {
        int64_t point = 0, cloud = 0, copy = 0, id = 0;
        auto key() const { return std::tuple(cloud, copy, id); }
    };
    struct Cell {
        int64_t place = 0;
        std::vector<int64_t> tokens;  ///< ascending ids
    };
    struct Block {
        int64_t place = 0, n = 0, n_zero = 0;
    };

    TokenReference(const Config& config, std::vector<float> regions, const HeptPoints& points)
        : config_(config), regions_(std::move(regions)), points_(points) {
        int64_t n_cloud = 1;
        for (const int64_t cloud : points.clouds) n_cloud = std::max(n_cloud, cloud + 1);
        clouds_.resize(static_cast<size_t>(n_cloud));
        for (int64_t i = 0; i < points.n(); ++i) clouds_[at(cloud_of(i))].push_back(i);
        for (int64_t axis : {0, 1}) set_ranks(axis);
        for (int64_t cloud = 0; cloud < n_cloud; ++cloud) add_tokens(cloud);
    }

    const std::vector<Token>& tokens() const { return tokens_; }
    const std::vector<Block>& blocks() const { return blocks_; }

    /// Points by (cloud, coordinate 1, id).
    std::vector<int64_t> home() const {
        std::vector<int64_t> order(static_cast<size_t>(points_.n()));
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
        std::ranges::sort(order, {},
                          [&](int64_t i) { return std::tuple(cloud_of(i), ranks_[1][at(i)]); });
        return order;
    }
    int64_t rank(int64_t axis, int64_t point) const { return ranks_[axis][at(point)]; }

    std::vector<Cell> cells(int64_t row) const {
        std::map<std::tuple<int64_t, int64_t, int64_t>, std::vector<int64_t>> sorted;
        for (int64_t t = 0; t < std::ssize(tokens_); ++t) {
            const Token& token = tokens_[at(t)];
            sorted[{token.cloud, slab(row, 1, token.point), slab(row, 0, token.point)}].push_back(
                t);
        }
        std::vector<Cell> list;
        int64_t place = 0;
        for (auto& [code, tokens] : sorted) {
            std::ranges::sort(tokens, {}, [&](int64_t t) { return tokens_[at(t)].key(); });
            list.push_back({place, tokens});
            place += std::ssize(tokens);
        }
        return list;
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }
    int64_t cloud_of(int64_t i) const { return points_.clouds.empty() ? 0 : points_.clouds[at(i)]; }
    int64_t n_added(int64_t n) const {
        return (config_.block_size - n % config_.block_size) % config_.block_size;
    }

    void set_ranks(int64_t axis) {
        ranks_[axis].resize(static_cast<size_t>(points_.n()));
        for (std::vector<int64_t> cloud : clouds_) {
            std::ranges::sort(cloud, {}, [&](int64_t i) {
                const auto x = static_cast<float>(points_.x[at(i * points_.n_axis + axis)]);
                return std::tuple(x, points_.ids[at(i)]);
            });
            for (int64_t r = 0; r < std::ssize(cloud); ++r) ranks_[axis][at(cloud[at(r)])] = r;
        }
    }

    int64_t slab(int64_t row, int64_t axis, int64_t point) const {
        const int64_t table = row / config_.num_heads, head = row % config_.num_heads;
        const float r = regions_[at((table * 2 + axis) * config_.num_heads + head)];
        int64_t n = std::ssize(clouds_[at(cloud_of(point))]);
        if (config_.padding == impl::hept::Padding::zero) n += n_added(n);
        const float reciprocal = 1.0F / r;
        const float size = std::ceil(reciprocal * static_cast<float>(n));
        return ranks_[axis][at(point)] / static_cast<int64_t>(size);
    }

    void add_tokens(int64_t number) {
        std::vector<int64_t> cloud = clouds_[at(number)];
        const int64_t n = std::ssize(cloud);
        if (n == 0) return;
        std::ranges::sort(cloud, {}, [&](int64_t i) { return points_.ids[at(i)]; });
        const int64_t first = std::ssize(tokens_);
        for (const int64_t i : cloud) tokens_.push_back({i, number, 0, points_.ids[at(i)]});
        if (config_.padding == impl::hept::Padding::duplicate) {
            std::ranges::stable_sort(
                cloud, {}, [&](int64_t i) { return std::pair(slab(0, 1, i), slab(0, 0, i)); });
            for (int64_t t = 0; t < n_added(n); ++t) {
                int64_t position = n - config_.block_size + t;
                while (position < 0) position += n;
                const int64_t i = cloud[at(position)];
                tokens_.push_back({i, number, t + 1, points_.ids[at(i)]});
            }
        }
        for (int64_t place = first; place < std::ssize(tokens_); place += config_.block_size) {
            const int64_t size = std::min(config_.block_size, std::ssize(tokens_) - place);
            const bool is_zero = config_.padding == impl::hept::Padding::zero;
            blocks_.push_back({place, size, is_zero ? config_.block_size - size : 0});
        }
    }

    Config config_;
    std::vector<float> regions_;
    HeptPoints points_;
    std::vector<std::vector<int64_t>> clouds_;
    std::vector<int64_t> ranks_[2];
    std::vector<Token> tokens_;
    std::vector<Block> blocks_;
};

}  // namespace surrogate::test
