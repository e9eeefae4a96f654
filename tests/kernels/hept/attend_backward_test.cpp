// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/hept/block_problem.hpp"

namespace surrogate::kernels::hept::test {
namespace {

class HeptAttendBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(HeptAttendBackwardOn);

template <class T>
std::vector<T> some_given(const BlockSize& size, std::mt19937& random) {
    std::vector<T> given(static_cast<size_t>(size.n_query * size.shape.n_sum()));
    std::normal_distribution<float> normal;
    for (T& x : given) x = static_cast<T>(normal(random));
    return given;
}

/// Adds the gradients of a block to the gradients of rows.
void add_to_rows(const BlockProblem<double>& p, const Output<double>& dqueries,
                 const Output<double>& dkeys, std::vector<double>& drows) {
    const int64_t n_query = p.size.shape.n_query(), d = p.size.shape.n_channel;
    const auto add = [&](const std::vector<int32_t>& tokens, const Output<double>& from, int64_t n,
                         int64_t first) {
        for (size_t i = 0; i < tokens.size(); ++i)
            for (int64_t e = 0; e < n; ++e)
                drows[static_cast<size_t>(tokens[i] * p.size.shape.stride() + first + e)] +=
                    from[static_cast<int64_t>(i) * n + e];
    };
    add(p.queries, dqueries, n_query, 0);
    add(p.keys, dkeys, n_query + d, d);
}

/// Two tables whose blocks meet the same queries: attention, its combination and a loss <dy, y>.
struct TwoTables {
    TwoTables(const BlockSize& size, std::mt19937& random)
        : first(BlockProblem<float>(size, random)),
          second(BlockProblem<float>(first)),
          sums(2 * n_sums()),
          dy(TileBox<double>::input, d(), n()) {
        std::ranges::shuffle(second.keys, random);
        second.keys.resize(second.keys.size() / 2 + 1);
        second.size.n_key = std::ssize(second.keys);
        dy.fill_normal(random);
    }
    int64_t d() const { return first.size.shape.n_channel; }
    int64_t n() const { return first.size.n_query; }
    int64_t n_sums() const { return n() * first.size.shape.n_sum(); }

    void combine(TileBox<double>& y) {
        std::copy(first.rows.begin(), first.rows.end(), second.rows.begin());
        for (const BlockProblem<double>* p : {&first, &second}) {
            const Output<double> of = p->run(Queue());
            std::copy_n(of.data(), n_sums(), sums.data() + (p == &first ? 0 : n_sums()));
        }
        combine_tables<double>(Queue(), first.size.shape, sums.data(), n_sums(), 2, y.view());
    }
    double loss() {
        TileBox<double> y(TileBox<double>::output, d(), n());
        combine(y);
        return inner_product(dy.input_view(), y.view());
    }
    std::vector<double> gradient() {
        TileBox<double> y(TileBox<double>::output, d(), n());
        combine(y);
        std::vector<double> given(static_cast<size_t>(n_sums())), drows(first.rows.size());
        combine_tables_backward<double>(Queue(), first.size.shape, sums.data(), n_sums(), 2,
                                        y.view(), dy.input_view(), given.data());
        for (const BlockProblem<double>* p : {&first, &second}) {
            const auto [dqueries, dkeys] = p->run_backward(Queue(), given);
            add_to_rows(*p, dqueries, dkeys, drows);
        }
        return drows;
    }

    BlockProblem<double> first, second;
    Buffer<double> sums;
    TileBox<double> dy;
};

TEST(HeptAttendBackwardReference, AgreesWithFiniteDifferencesOfCombinedTables) {
    auto random = generator();
    for (const BlockSize& size : block_sizes) {
        if (size.n_query == 0 || size.n_key == 0 || size.n_key > 200) continue;
        SCOPED_TRACE(size.text());
        TwoTables tables(size, random);
        const std::vector<double> drows = tables.gradient();
        const int64_t stride = size.shape.stride();
        // Weights of keys that are all far make large slopes: bounds follow the largest of them.
        double largest = 1;
        for (const double x : drows) largest = std::max(largest, std::abs(x));
        for (const int32_t token :
             {tables.first.queries.front(), tables.first.keys.front(), tables.second.keys.front()})
            expect_slopes(
                "row", tables.first.row(token), drows.data() + token * stride, size.shape.n_used(),
                [&] { return tables.loss(); }, 1e-8 * largest);
    }
}

/// Bound of an error: sums of n terms, each wrong by the rounding of E terms and of an exponent.
double bound_of(const Output<double>& want, const BlockSize& size) {
    double largest = 1;
    for (int64_t i = 0; i < want.size(); ++i) largest = std::max(largest, std::abs(want[i]));
    const double n = static_cast<double>(size.n_query + size.n_key);
    return 8 * test::epsilon<float> * largest *
           (std::sqrt(n) + 3 * std::sqrt(static_cast<double>(size.shape.n_query())));
}

void expect_close_to(const Output<float>& got, const Output<double>& want, const BlockSize& size) {
    const double bound = bound_of(want, size);
    for (int64_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - want[i]);
        ASSERT_TRUE(error <= bound) << "number " << i << ": got " << got[i] << ", expected "
                                    << want[i] << ", " << error / bound << " times the bound";
    }
}

void expect_gradients(const Queue& queue, const BlockProblem<float>& p,
                      const std::vector<float>& given) {
    const auto [dqueries, dkeys] = p.run_backward(queue, given);
    dqueries.expect_kept_inside("dqueries");
    dkeys.expect_kept_inside("dkeys");
    const BlockProblem<double> exact(p);
    const auto [want_queries, want_keys] =
        exact.run_backward(Queue(), std::vector<double>(given.begin(), given.end()));
    expect_close_to(dqueries, want_queries, p.size);
    expect_close_to(dkeys, want_keys, p.size);
}

TEST_P(HeptAttendBackwardOn, AgreesWithTheReferenceInDouble) {
    auto random = generator();
    for (const BlockSize& size : block_sizes) {
        SCOPED_TRACE(size.text());
        const BlockProblem<float> p(size, random);
        expect_gradients(queue(), p, some_given<float>(size, random));
    }
}

TEST_P(HeptAttendBackwardOn, LargeRowsAtSmallDistancesKeepTheirSlopes) {
    auto random = generator();
    BlockProblem<float> p({{24, 6}, 100, 100, 0}, random, 0.2);
    for (int64_t i = 0; i < p.n_token; ++i)
        for (int64_t r = 0; r < 6; ++r) p.row(i)[24 + r] += 800.0f;
    expect_gradients(queue(), p, some_given<float>(p.size, random));
}

/// If den is epsilon alone, the input is dy / den of size 1e20.
TEST_P(HeptAttendBackwardOn, KeysThatAreFarGiveZeros) {
    auto random = generator();
    BlockProblem<float> p({{6, 3}, 20, 20, 0}, random);
    for (size_t i = 0; i < p.keys.size(); ++i) {
        p.queries[i] = static_cast<int32_t>(i);
        p.keys[i] = static_cast<int32_t>(20 + i);
        p.row(p.keys[i])[6] += 50;
    }
    std::vector<float> given = some_given<float>(p.size, random);
    for (float& x : given) x *= 1e20f;
    const auto [dqueries, dkeys] = p.run_backward(queue(), given);
    for (int64_t i = 0; i < dqueries.size(); ++i) ASSERT_EQ(dqueries[i], 0);
    for (int64_t i = 0; i < dkeys.size(); ++i) ASSERT_EQ(dkeys[i], 0);
}

TEST(HeptAttendBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const BlockSize& size : block_sizes) {
        SCOPED_TRACE(size.text());
        const BlockProblem<float> p(size, random);
        const std::vector<float> given = some_given<float>(size, random);
        const auto [want_queries, want_keys] =
            p.run_backward(Queue(Backend::simd, VectorLevel::scalar, 1), given);
        for (VectorLevel level : wide_levels()) {
            const auto [dqueries, dkeys] = p.run_backward(Queue(Backend::simd, level, 1), given);
            expect_same_bits(dqueries, want_queries);
            expect_same_bits(dkeys, want_keys);
        }
    }
}

TEST_P(HeptAttendBackwardOn, TablesAreCombinedByTheirSums) {
    const RowShape shape{2, 1};
    //                       table 0, points 0 and 1; table 1
    const std::vector<float> sums = {1, 2, 4, 3, 0, 1, 5, 6, 4, -1, 2, 3};
    TileBox<float> y(TileBox<float>::output, 2, 2), dy(TileBox<float>::input, 2, 2);
    combine_tables<float>(queue(), shape, sums.data(), 6, 2, y.view());
    EXPECT_EQ(y.view()(0, 0), 0.75f);  // (1 + 5) / (4 + 4)
    EXPECT_EQ(y.view()(1, 0), 1.0f);
    EXPECT_EQ(y.view()(0, 1), 0.5f);
    EXPECT_EQ(y.view()(1, 1), 0.5f);
    y.expect_kept_inside("y");
    dy.fill([](int64_t c, int64_t i) { return 8 * (c + 1) + 8 * i; });
    std::vector<float> given(6);
    combine_tables_backward<float>(queue(), shape, sums.data(), 6, 2, y.view(), dy.input_view(),
                                   given.data());
    EXPECT_EQ(given, (std::vector<float>{1, 2, (8 * 0.75f + 16) / 8, 4, 6, (8 + 12) / 4.0f}));
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
