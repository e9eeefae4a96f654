// SPDX-License-Identifier: Apache-2.0
// Slabs, and cells and orders of the official model on one rank.
#include <gtest/gtest.h>

#include <string>

#include "tests/libsurrogate/hept/hept_points.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

using impl::hept::Padding;
using impl::hept::slab;
using impl::hept::slab_size;
using impl::hept::TokenPlan;

TEST(Slabs, HaveTheSizeOfTheOfficialRoundings) {
    const TrapGuard traps;
    EXPECT_EQ(slab_size(10.0F / 3, 50), 16);  // ceil(50 / r) is 15
    EXPECT_EQ(slab_size(3, 10), 4);
    EXPECT_EQ(slab_size(7.0F / 3, 10), 5);
    EXPECT_EQ(slab_size(2, 10), 5);
    EXPECT_EQ(slab_size(1, 10), 10);
}

TEST(Slabs, AreOneOrOneEachAtTheEnds) {
    const TrapGuard traps;
    for (const float r : {0.5F, 1e-30F, 1e-42F}) EXPECT_EQ(slab_size(r, 10), 10) << r;
    for (const float r : {10.0F, 11.5F, 1e30F, 3e38F}) EXPECT_EQ(slab_size(r, 10), 1) << r;
    EXPECT_EQ(slab_size(5, 0), 1);
    EXPECT_EQ(slab_size(5, 1), 1);
}

TEST(Slabs, OfManyPointsAreCountedInDouble) {
    const int64_t n = (int64_t{1} << 24) + 1;  // no float
    EXPECT_EQ(slab_size(2, n), n / 2 + 1);
    EXPECT_EQ(slab_size(2, 6'000'000'001), 3'000'000'001);
    EXPECT_EQ(slab(3'000'000'000, 2, 6'000'000'001), 1);
    EXPECT_EQ(slab(3'000'000'001, 2, 6'000'000'001), 2);
}

/// A stored case, planned on one rank.
class GoldenTokens : public testing::TestWithParam<std::string> {
protected:
    GoldenTokens()
        : file_(SURROGATE_TEST_DATA "/hept/" + GetParam() + ".safetensors"),
          config_(config()),
          plan_(impl::self_communicator(), config_, points()) {
        const GoldenTensor regions =
            file_.tensor(file_.has("regions") ? "regions" : "check/tables/regions");
        const std::vector<float> table(regions.values.begin(), regions.values.end());
        plan_.connect(config_, table);
        set_numbers();
    }

    impl::hept::Config config() const {
        const nlohmann::json card = file_.card().at("network");
        const std::string padding = card.at("padding");
        impl::hept::Config config;
        config.block_size = card.at("block_size");
        config.n_hashes = card.at("n_hashes");
        config.num_heads = card.at("num_heads");
        config.coords_dim = card.at("coords_dim");
        config.padding = padding == "zero"        ? Padding::zero
                         : padding == "duplicate" ? Padding::duplicate
                                                  : Padding::masked;
        return config;
    }

    HeptPoints points() const {
        HeptPoints points;
        points.n_axis = config_.coords_dim;
        points.x = file_.tensor("check/input/coords").values;
        points.clouds = file_.integers("check/input/batch");
        for (int64_t i = 0; i < points.n(); ++i) points.ids.push_back(i);
        return points;
    }

    /// Returns the number of each token in the file: cloud by cloud, points before copies.
    void set_numbers() {
        int64_t first = 0;
        std::vector<int64_t> firsts, ends;  // of clouds: the first token, the end of its points
        for (const int64_t n : plan_.home.cloud_sizes) {
            firsts.push_back(first);
            const bool is_padded = config_.padding == Padding::duplicate;
            first += is_padded ? kernels::round_up(n, config_.block_size) : n;
        }
        for (size_t g = 0; g < firsts.size(); ++g) {
            for (int64_t i = 0; i < plan_.home.cloud_sizes[g]; ++i)
                number_of_point_.push_back(firsts[g] + i);
            ends.push_back(firsts[g] + plan_.home.cloud_sizes[g]);
        }
        const std::vector<int64_t> source = sources();
        for (const impl::hept::Place& place : plan_.home.places)
            numbers_.push_back(number_of_point_[static_cast<size_t>(place.id)]);
        // Points of these files are not copied twice: the source tells which copy it is.
        for (const int32_t point : plan_.plan.copied()) {
            const impl::hept::Place& place = plan_.home.places[point];
            int64_t copy = ends[static_cast<size_t>(place.cloud)];
            while (source[static_cast<size_t>(copy)] != place.id) ++copy;
            numbers_.push_back(copy);
        }
    }

    /// Points behind the tokens of the file, without keys of zeros.
    std::vector<int64_t> sources() const {
        if (!file_.has("check/tokens/src")) return number_of_point_;
        std::vector<int64_t> list = file_.integers("check/tokens/src");
        std::erase(list, -1);
        return list;
    }

    /// Rows (C H, n_token) of a stored array, without keys of zeros, which come last.
    template <class T>
    std::vector<T> row_of(const std::vector<T>& all, int64_t row) const {
        const int64_t n = std::ssize(all) / config_.n_row();
        const auto begin = all.begin() + row * n;
        return {begin, begin + plan_.plan.n_token()};
    }
    int64_t number(int64_t row, int64_t member) const {
        const int32_t token = plan_.plan.members(row)[static_cast<size_t>(member)];
        return numbers_[static_cast<size_t>(token)];
    }
    std::vector<int64_t> numbers(int64_t row, const TokenPlan::Cell& cell) const {
        std::vector<int64_t> list;
        for (int64_t i = cell.begin; i < cell.end; ++i) list.push_back(number(row, i));
        return list;
    }

    GoldenFile file_;
    impl::hept::Config config_;
    HeptPlan plan_;
    std::vector<int64_t> numbers_, number_of_point_;
};

TEST_P(GoldenTokens, AreThePointsAndTheirCopies) {
    const std::vector<int64_t> source = sources();
    ASSERT_EQ(plan_.plan.n_token(), std::ssize(source));
    ASSERT_EQ(plan_.plan.n_place(), std::ssize(source));
    EXPECT_EQ(plan_.plan.n_token_global(), std::ssize(source));
    std::vector<int64_t> sorted = numbers_;
    std::ranges::sort(sorted);
    for (int64_t t = 0; t < std::ssize(source); ++t) EXPECT_EQ(sorted[static_cast<size_t>(t)], t);
    for (int64_t t = 0; t < plan_.plan.n_own(); ++t) {
        const int64_t point =
            t < plan_.plan.n_point()
                ? t
                : plan_.plan.copied()[static_cast<size_t>(t - plan_.plan.n_point())];
        EXPECT_EQ(source[static_cast<size_t>(numbers_[static_cast<size_t>(t)])],
                  plan_.home.places[point].id);
    }
}

TEST_P(GoldenTokens, OfACellHaveTheSameCodeAndCodesAscend) {
    const std::vector<int64_t> codes = file_.integers("check/tokens/code");
    for (int64_t row = 0; row < config_.n_row(); ++row) {
        const std::vector<int64_t> code = row_of(codes, row);
        int64_t last = -1, place = 0;
        for (const TokenPlan::Cell& cell : plan_.plan.cells(row)) {
            ASSERT_EQ(cell.to, place);
            ASSERT_EQ(cell.first, 0);
            ASSERT_EQ(cell.last, cell.end - cell.begin);
            const std::vector<int64_t> tokens = numbers(row, cell);
            EXPECT_GT(code[static_cast<size_t>(tokens[0])], last);
            last = code[static_cast<size_t>(tokens[0])];
            for (const int64_t t : tokens) EXPECT_EQ(code[static_cast<size_t>(t)], last);
            EXPECT_TRUE(std::ranges::is_sorted(tokens));
            place += cell.last;
        }
        EXPECT_EQ(place, plan_.plan.n_place());
    }
}

TEST_P(GoldenTokens, TakeTheSamePlacesInAllLayers) {
    for (const char* name : {"0/order_q", "0/order_k", "1/order_q", "1/order_k"}) {
        const std::vector<int64_t> all = file_.integers("check/layers/" + std::string(name));
        for (int64_t row = 0; row < config_.n_row(); ++row) {
            const std::vector<int64_t> order = row_of(all, row);
            for (const TokenPlan::Cell& cell : plan_.plan.cells(row)) {
                std::vector<int64_t> there(order.begin() + cell.to,
                                           order.begin() + cell.to + cell.last);
                std::ranges::sort(there);
                EXPECT_EQ(there, numbers(row, cell)) << name << ", row " << row;
            }
        }
    }
}

TEST_P(GoldenTokens, SortedByHashHaveTheOfficialOrder) {
    if (GetParam() == "masked") GTEST_SKIP() << "the file has no hashes";
    for (const char kind : {'q', 'k'}) {
        const std::string layer = "check/layers/0/";
        if (!file_.has(layer + "hash_" + kind)) continue;  // clouds_duplicate: queries only
        const std::vector<int64_t> orders = file_.integers(layer + "order_" + kind);
        const GoldenTensor hashes = file_.tensor(layer + "hash_" + kind);
        const int64_t n_head = hashes.shape.at(1);  // clouds_duplicate: the first one only
        for (int64_t i = 0; i < config_.n_hashes * n_head; ++i) {
            const int64_t row = i / n_head * config_.num_heads + i % n_head;
            const auto hash = hashes.values.begin() + i * hashes.shape.at(2);
            std::vector<int64_t> order;
            for (const TokenPlan::Cell& cell : plan_.plan.cells(row)) {
                std::vector<int64_t> tokens = numbers(row, cell);
                std::ranges::stable_sort(tokens, {}, [&](int64_t t) { return hash[t]; });
                order.insert(order.end(), tokens.begin(), tokens.end());
            }
            EXPECT_EQ(order, row_of(orders, row)) << kind << ", row " << row;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTokens,
                         testing::Values("tiny", "clouds_duplicate", "masked", "odd_zero"),
                         [](const auto& name) { return name.param; });

TEST(TokenPlans, OfSeveralCloudsAreNotPaddedWithZeros) {
    impl::hept::Config config;
    config.coords_dim = 2;
    config.block_size = 4;
    config.padding = Padding::zero;
    HeptPoints points;
    points.add({0.5, 1}, 0, 0);
    points.add({0.5, 2}, 1, 1);
    HeptPlan plan(impl::self_communicator(), config, points);
    const std::vector<float> regions(static_cast<size_t>(2 * config.n_row()), 2.0F);
    const Refusal found = refusal([&] { plan.connect(config, regions); });
    EXPECT_EQ(found.status, kernels::Status::shape);
    EXPECT_TRUE(found.says("2 clouds")) << found.text;
}

}  // namespace
}  // namespace surrogate::test
