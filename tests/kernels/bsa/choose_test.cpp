// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernels/bsa/bsa.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::bsa::test {
namespace {

using namespace surrogate::kernels::test;

class ChooseOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(ChooseOn);

/// Group queries and keys, and the blocks of the own ball of each group.
struct Problem {
    Problem(int64_t n_head, int64_t n_dim, int64_t n_group, int64_t n_key, int64_t own_count)
        : heads{n_head, n_dim, 1},
          q(TileBox<float>::input, n_head * n_dim, n_group, {1, 3}),
          k(TileBox<float>::input, n_head * n_dim, n_key, {0, 1}),
          first(static_cast<size_t>(n_group)),
          own{first.data(), own_count} {
        if (own_count == 0) return;
        for (size_t i = 0; i < first.size(); ++i)
            first[i] = static_cast<int64_t>(i) * n_key / n_group / own_count * own_count;
    }
    int64_t n_group() const { return q.input_view().shape[1]; }
    int64_t n_key() const { return k.input_view().shape[1]; }

    float score(int64_t h, int64_t group, int64_t block) const {
        float sum = 0;
        for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
            sum = std::fma(q.input_view()(c, group), k.input_view()(c, block), sum);
        return sum;
    }

    /// By sorting all blocks.
    std::vector<int64_t> answer(int64_t h, int64_t group, int64_t n_choice) const {
        std::vector<int64_t> blocks(static_cast<size_t>(n_key()));
        std::iota(blocks.begin(), blocks.end(), 0);
        const auto key = [&](int64_t block) {
            const int64_t from = block - first[static_cast<size_t>(group)];
            return std::tuple(from >= 0 && from < own.count, -score(h, group, block), block);
        };
        std::sort(blocks.begin(), blocks.end(),
                  [&](int64_t a, int64_t b) { return key(a) < key(b); });
        blocks.resize(static_cast<size_t>(std::min(n_choice, n_key())));
        return blocks;
    }

    Heads heads;
    TileBox<float> q, k;
    std::vector<int64_t> first;
    OwnBlocks own;
};

struct Chosen {
    Chosen(const Problem& p, int64_t n_choice)
        : score(p.heads.n_head * n_choice * tile_points),
          block(score.size()),
          choice{p.heads.n_head, n_choice, score.data(), block.data()} {
        reset(choice);
    }
    Buffer<float> score;
    Buffer<int64_t> block;
    Choice<float> choice;
};

/// Offers keys in pieces of at most `piece`, in the order of `order` (pieces by number) if given.
bool offer(const Queue& queue, Problem& p, int64_t piece, std::vector<int64_t> order,
           Choice<float> choice) {
    Buffer<float> scratch(choose_scratch(p.heads, choice.n_choice));
    if (order.empty()) {
        order.resize(static_cast<size_t>((p.n_key() + piece - 1) / piece));
        std::iota(order.begin(), order.end(), 0);
    }
    for (int64_t at : order) {
        Tile<const float> keys = p.k.input_view();
        keys.data += at * piece;
        keys.shape[1] = std::min(piece, p.n_key() - at * piece);
        Traps traps;
        if (!choose<float>(queue, p.heads, p.q.input_view(), keys, at * piece, p.own,
                           scratch.data(), choice))
            return false;
    }
    p.q.expect_unchanged("q");
    p.k.expect_unchanged("k");
    return true;
}

/// The choice of all groups, best first, with its scores.
void expect_answer(const Problem& p, Choice<float> choice) {
    for (int64_t h = 0; h < p.heads.n_head; ++h) {
        for (int64_t group = 0; group < p.n_group(); ++group) {
            const std::vector<int64_t> want = p.answer(h, group, choice.n_choice);
            for (int64_t rank = 0; rank < choice.n_choice; ++rank) {
                const int64_t at = choice.index(h, rank, group);
                const auto r = static_cast<size_t>(rank);
                ASSERT_EQ(choice.block[at], r < want.size() ? want[r] : -1)
                    << "head " << h << ", group " << group << ", rank " << rank << ", keys "
                    << p.n_key();
                if (r >= want.size()) continue;
                ASSERT_EQ(choice.score[at], p.score(h, group, want[r]));
            }
        }
    }
}

TEST_P(ChooseOn, TheBestBlocksInTheirOrderForAwkwardSizes) {
    auto random = generator();
    for (const auto& [n_head, n_dim, n_group, n_key, own_count, n_choice] :
         std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>>{
             {1, 1, 1, 1, 0, 1},      // nothing to choose
             {1, 1, 1, 1, 1, 1},      // the only block is the own one
             {2, 8, 3, 5, 0, 7},      // more choices than blocks
             {2, 8, 3, 5, 5, 4},      // all blocks are the own ball
             {2, 3, 15, 8, 4, 6},     // own blocks fill up what others leave
             {8, 8, 64, 300, 4, 4},   // a tile of groups, blocks that no vector divides
             {3, 5, 17, 33, 8, 3},    // more than 16 groups
             {1, 16, 33, 64, 32, 1},  // only the best
             {2, 24, 31, 130, 2, 16}}) {
        Problem p(n_head, n_dim, n_group, n_key, own_count);
        p.q.fill_normal(random);
        p.k.fill_normal(random);
        for (int64_t piece : {n_key, int64_t{64}, int64_t{7}}) {
            Chosen got(p, n_choice);
            ASSERT_TRUE(offer(queue(), p, piece, {}, got.choice));
            expect_answer(p, got.choice);
        }
    }
}

TEST_P(ChooseOn, EqualScoresGoToSmallerBlocksWhateverTheOrderOfKeys) {
    // Products of small whole numbers: seven scores shared by two hundred blocks.
    auto random = generator();
    std::uniform_int_distribution<int> whole(-1, 1);
    Problem p(3, 3, 19, 203, 4);
    p.q.fill([&](int64_t, int64_t) { return whole(random); });
    p.k.fill([&](int64_t, int64_t) { return whole(random); });
    for (int64_t piece : {1, 10, 64}) {
        std::vector<int64_t> order(static_cast<size_t>((p.n_key() + piece - 1) / piece));
        std::iota(order.rbegin(), order.rend(), 0);  // the last piece first
        for (int turn = 0; turn < 4; ++turn) {
            Chosen got(p, 5);
            ASSERT_TRUE(offer(queue(), p, piece, order, got.choice));
            expect_answer(p, got.choice);
            std::shuffle(order.begin(), order.end(), random);
        }
    }
}

TEST_P(ChooseOn, ScoresAtTheEndsOfTheNumbersKeepTheirOrder) {
    const float most = std::numeric_limits<float>::max(), least = 1e-45f;
    const std::vector<float> scores = {-most, most, 0, -0.0f, -least, least, -most, most, -0.0f, 0};
    Problem p(1, 1, 2, static_cast<int64_t>(scores.size()), 0);
    p.q.fill([](int64_t, int64_t) { return 1; });
    p.k.fill([&](int64_t, int64_t j) { return scores[static_cast<size_t>(j)]; });
    std::vector<int64_t> order(scores.size());
    std::iota(order.rbegin(), order.rend(), 0);
    for (int turn = 0; turn < 20; ++turn) {
        for (int64_t n_choice : {1, 2, 7, 10}) {
            Chosen got(p, n_choice);
            ASSERT_TRUE(offer(queue(), p, 1, order, got.choice));
            expect_answer(p, got.choice);
        }
        std::next_permutation(order.begin(), order.end());
    }
}

TEST_P(ChooseOn, OwnBlocksGiveWayToOthersThatComeLater) {
    // The own ball comes first, with the best scores.
    Problem p(1, 1, 16, 40, 32);
    std::fill(p.first.begin(), p.first.end(), 0);
    p.q.fill([](int64_t, int64_t) { return 1; });
    p.k.fill([](int64_t, int64_t j) { return j < 32 ? 1000 - j : -j; });
    for (int64_t piece : {4, 8, 40}) {
        Chosen got(p, 4);
        ASSERT_TRUE(offer(queue(), p, piece, {}, got.choice));
        int64_t blocks[4];
        ASSERT_EQ(sorted_choice(got.choice, 0, 15, blocks), 4);
        EXPECT_EQ(std::vector<int64_t>(blocks, blocks + 4), (std::vector<int64_t>{32, 33, 34, 35}));
    }
    Chosen own(p, 10);  // two more than there are others
    ASSERT_TRUE(offer(queue(), p, 8, {}, own.choice));
    expect_answer(p, own.choice);
}

TEST_P(ChooseOn, SaysNoToScoresThatAreNoNumbers) {
    auto random = generator();
    for (float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
        for (int64_t at : {0, 12, 36}) {
            Problem p(2, 4, 18, 37, 0);
            p.q.fill_normal(random);
            p.k.fill([&](int64_t c, int64_t j) { return c == 5 && j == at ? bad : 0.25f; });
            Chosen got(p, 4);
            Buffer<float> scratch(choose_scratch(p.heads, 4));
            EXPECT_FALSE(choose<float>(queue(), p.heads, p.q.input_view(), p.k.input_view(), 0,
                                       p.own, scratch.data(), got.choice));
        }
    }
}

TEST_P(ChooseOn, WhatStandsBehindTheLastGroupIsNoScore) {
    Problem p(1, 2, 5, 20, 0);
    auto random = generator();
    p.q.fill_normal(random);
    p.k.fill_normal(random);
    for (int64_t c = 0; c < 2; ++c)
        p.q.view().data[c * p.q.view().stride[0] + 5] = std::numeric_limits<float>::quiet_NaN();
    Chosen got(p, 3);
    Buffer<float> scratch(choose_scratch(p.heads, 3));
    ASSERT_TRUE(choose<float>(queue(), p.heads, p.q.input_view(), p.k.input_view(), 0, p.own,
                              scratch.data(), got.choice));
    expect_answer(p, got.choice);
}

TEST_P(ChooseOn, NoKeysAndNoGroupsChangeNothing) {
    Problem p(1, 2, 5, 20, 0);
    auto random = generator();
    p.q.fill_normal(random);
    p.k.fill_normal(random);
    Chosen got(p, 3);
    Buffer<float> scratch(choose_scratch(p.heads, 3));
    Tile<const float> none = p.k.input_view(), no_group = p.q.input_view();
    none.shape[1] = no_group.shape[1] = 0;
    ASSERT_TRUE(choose<float>(queue(), p.heads, p.q.input_view(), none, 0, p.own, scratch.data(),
                              got.choice));
    ASSERT_TRUE(choose<float>(queue(), p.heads, no_group, p.k.input_view(), 0, p.own,
                              scratch.data(), got.choice));
    int64_t blocks[3];
    EXPECT_EQ(sorted_choice(got.choice, 0, 4, blocks), 0);
}

TEST(ChooseReference, ChoosesInDoubleWhatSingleCannotTellApart) {
    const Heads heads{1, 1, 1};
    TileBox<double> q(TileBox<double>::input, 1, 1), k(TileBox<double>::input, 1, 2);
    q.fill([](int64_t, int64_t) { return 1; });
    k.fill([](int64_t, int64_t j) { return j == 1 ? 1 + 1e-12 : 1; });
    double score[tile_points];
    int64_t block[tile_points];
    const Choice<double> choice{1, 1, score, block};
    reset(choice);
    ASSERT_TRUE(
        choose<double>(Queue(), heads, q.input_view(), k.input_view(), 0, {}, nullptr, choice));
    EXPECT_EQ(block[0], 1);
}

/// Blocks chosen in layer 0 of a golden file, from its scores: with a key for each block that is 1
/// in one channel, the product of a group with it is the score itself.
void expect_golden_choice(const Queue& queue, const std::string& file) {
    const surrogate::test::GoldenFile golden(SURROGATE_TEST_DATA "/bsa/" + file);
    const auto scores = golden.tensor("check/layers/0/scores");
    const auto chosen = golden.integers("check/layers/0/chosen");
    const int64_t n_head = scores.shape[0], n_group = scores.shape[1], n_block = scores.shape[2];
    Problem p(n_head, n_block, n_group, n_block, 32 / 4);  // balls of 32 slots, blocks of 4
    const auto index = [&](int64_t h, int64_t group, int64_t block) {
        return static_cast<size_t>((h * n_group + group) * n_block + block);
    };
    p.q.fill([&](int64_t c, int64_t group) {
        return scores.values[index(c / n_block, group, c % n_block)];
    });
    p.k.fill([&](int64_t c, int64_t block) { return c % n_block == block; });
    const int64_t n_choice = static_cast<int64_t>(chosen.size()) / (n_head * n_group);
    Chosen got(p, n_choice);
    ASSERT_TRUE(offer(queue, p, 16, {}, got.choice));
    std::vector<int64_t> blocks(static_cast<size_t>(n_choice));
    for (int64_t row = 0; row < n_head * n_group; ++row) {
        ASSERT_EQ(sorted_choice(got.choice, row / n_group, row % n_group, blocks.data()), n_choice);
        for (int64_t rank = 0; rank < n_choice; ++rank)
            ASSERT_EQ(blocks[static_cast<size_t>(rank)],
                      chosen[static_cast<size_t>(row * n_choice + rank)])
                << file << ": head " << row / n_group << ", group " << row % n_group;
    }
}

TEST_P(ChooseOn, GoldenScoresGiveGoldenBlocks) {
    expect_golden_choice(queue(), "bsa_small_grad.safetensors");
    expect_golden_choice(queue(), "bsa_group_compression_grad.safetensors");
}

}  // namespace
}  // namespace surrogate::kernels::bsa::test
