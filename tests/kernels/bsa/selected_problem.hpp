// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <vector>

#include "kernels/bsa/bsa.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::bsa::test {

using namespace surrogate::kernels::test;

/// Sizes of a case of attend_blocks().
struct SelectedCase {
    Heads heads;
    int64_t n_query, l, g, n_choice, n_block;
};

inline const std::vector<SelectedCase> selected_cases = {
    {{1, 1, 1}, 1, 1, 1, 1, 1},       // one number
    {{2, 8, 8}, 64, 8, 8, 4, 9},      // as published
    {{2, 8, 8}, 64, 8, 8, 1, 1},      // the same block for all
    {{2, 8, 8}, 33, 8, 1, 4, 9},      // every query its own choice
    {{3, 5, 3}, 17, 4, 2, 3, 7},      // keys that no vector divides
    {{1, 3, 9}, 20, 2, 4, 5, 6},      // value channels in two parts
    {{2, 4, 16}, 64, 1, 16, 3, 40},   // blocks of one slot
    {{1, 16, 8}, 50, 16, 64, 2, 5},   // a group of a whole tile
    {{1, 8, 24}, 15, 32, 128, 5, 6},  // a group larger than the tile, many keys
    {{4, 8, 8}, 0, 8, 8, 4, 9},       // no queries
};

/// Queries, keys in blocks of a tile each, and a choice for every group and head.
template <class T>
struct SelectedData {
    SelectedData(const SelectedCase& sizes, std::mt19937& random)
        : size(sizes),
          q(TileBox<T>::input, sizes.heads.n_key_channel(), sizes.n_query, {1, 3}),
          k(TileBox<T>::input, sizes.heads.n_key_channel(), sizes.n_block * sizes.l, {0, 1}),
          v(TileBox<T>::input, sizes.heads.n_value_channel(), sizes.n_block * sizes.l, {0, 1}) {
        q.fill_normal(random, 2 / std::sqrt(static_cast<double>(sizes.heads.n_key_dim)));
        k.fill_normal(random, 1.5);
        v.fill_normal(random);
        std::vector<int64_t> all(static_cast<size_t>(sizes.n_block));
        std::iota(all.begin(), all.end(), 0);
        for (int64_t row = 0; row < n_group() * sizes.heads.n_head; ++row) {
            std::shuffle(all.begin(), all.end(), random);
            const size_t begin = choice.size();
            choice.insert(choice.end(), all.begin(), all.begin() + sizes.n_choice);
            std::sort(choice.begin() + static_cast<std::ptrdiff_t>(begin), choice.end());
        }
    }
    template <class U>
    SelectedData(const SelectedData<U>& other, std::mt19937& random)
        : SelectedData(other.size, random) {
        q.fill_from(other.q);
        k.fill_from(other.k);
        v.fill_from(other.v);
        choice = other.choice;
    }

    int64_t n_group() const { return (size.n_query + size.g - 1) / size.g; }

    /// The chosen blocks of tiles that lie like k and v.
    template <class U>
    std::vector<KeyBlock<U>> blocks(Tile<U> keys, Tile<U> values) const {
        std::vector<KeyBlock<U>> list;
        for (size_t at = 0; at < choice.size(); ++at) {
            const int64_t h = static_cast<int64_t>(at) / size.n_choice % size.heads.n_head;
            const int64_t slot = choice[at] * size.l;
            list.push_back({keys.data + h * size.heads.n_key_dim * keys.stride[0] + slot,
                            values.data + h * size.heads.n_value_dim * values.stride[0] + slot,
                            keys.stride[0]});
        }
        return list;
    }

    void run(const Queue& queue, Tile<T> y, Tile<T> log_sum) const {
        Buffer<T> scratch(attend_blocks_scratch(size.heads, size.l, size.n_choice));
        const auto list = blocks<const T>(k.input_view(), v.input_view());
        const ChosenBlocks<const T> chosen{list, size.l, size.g, size.n_choice};
        Traps traps;
        attend_blocks<T>(queue, size.heads, q.input_view(), chosen, scratch.data(), y, log_sum);
    }

    /// dq, dk, dv are added to; those without data are not computed.
    void run_backward(const Queue& queue, HeadRange range, const TileBox<T>& dy,
                      const TileBox<T>& log_sum, const TileBox<T>& delta, Tile<T> dq, Tile<T> dk,
                      Tile<T> dv) const {
        Buffer<T> scratch(attend_blocks_scratch(size.heads, size.l, size.n_choice));
        const auto list = blocks<const T>(k.input_view(), v.input_view());
        const auto to = dk.data ? blocks<T>(dk, dv) : std::vector<KeyBlock<T>>();
        const ChosenBlocks<const T> chosen{list, size.l, size.g, size.n_choice};
        const AttendGradient<T> of{q.input_view(), dy.input_view(), log_sum.input_view(),
                                   delta.input_view()};
        Traps traps;
        attend_blocks_backward<T>(queue, size.heads, range, of, chosen, to, scratch.data(), dq);
    }

    SelectedCase size;
    TileBox<T> q, k, v;
    std::vector<int64_t> choice;  // (n_group, H, n_choice)
};

/// delta(h, i) = sum_c dy y.
template <class T>
void fill_delta(const Heads& heads, Tile<const T> y, Tile<const T> dy, TileBox<T>& delta) {
    delta.fill([&](int64_t h, int64_t i) {
        double sum = 0;
        for (int64_t c = h * heads.n_value_dim; c < (h + 1) * heads.n_value_dim; ++c)
            sum += static_cast<double>(y(c, i)) * static_cast<double>(dy(c, i));
        return sum;
    });
}

}  // namespace surrogate::kernels::bsa::test
