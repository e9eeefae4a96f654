// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/sphere/attention.hpp"
#include "tests/kernels/tile_box.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

using namespace surrogate::kernels::test;

class GlobalAttentionOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(GlobalAttentionOn);

/// Keys of some rows, each with its quadrature weight.
struct Row {
    Row(const Heads& heads, int64_t n_key, double w, std::mt19937& random, double key_size = 1)
        : k(TileBox<double>::input, heads.n_key_channel(), n_key),
          v(TileBox<double>::input, heads.n_value_channel(), n_key),
          weight(static_cast<float>(w)) {
        k.fill_normal(random, key_size);
        v.fill_normal(random);
    }
    TileBox<double> k, v;
    double weight;
};

struct GlobalProblem {
    GlobalProblem(Heads sizes, int64_t n_query, std::mt19937& random, double score_size = 3)
        : heads(sizes), q(TileBox<double>::input, sizes.n_key_channel(), n_query) {
        q.fill_normal(random, static_cast<float>(score_size / std::sqrt(sizes.n_key_dim)));
    }
    int64_t n_query() const { return q.input_view().shape[1]; }

    double score(int64_t h, int64_t i, const Row& row, int64_t j) const {
        double sum = 0;
        for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
            sum += q.input_view()(c, i) * row.k.input_view()(c, j);
        return sum;
    }

    /// The formula in double, on all keys; `size` becomes the largest |score|.
    void answer(Tile<double> y, double& size) const {
        const int64_t e = heads.n_value_dim;
        size = 0;
        for (int64_t h = 0; h < heads.n_head; ++h) {
            for (int64_t i = 0; i < n_query(); ++i) {
                double maximum = -1e300, sum = 0;
                for_keys([&](const Row& row, int64_t j) {
                    maximum = std::max(maximum, score(h, i, row, j));
                    size = std::max(size, std::abs(score(h, i, row, j)));
                });
                for (int64_t c = h * e; c < (h + 1) * e; ++c) y(c, i) = 0;
                for_keys([&](const Row& row, int64_t j) {
                    const double share = row.weight * std::exp2(score(h, i, row, j) - maximum);
                    sum += share;
                    for (int64_t c = h * e; c < (h + 1) * e; ++c)
                        y(c, i) += share * row.v.input_view()(c, j);
                });
                for (int64_t c = h * e; c < (h + 1) * e; ++c) y(c, i) /= sum;
            }
        }
    }
    template <class Body>
    void for_keys(const Body& body) const {
        for (const Row& row : rows) {
            if (row.weight == 0) continue;
            for (int64_t j = 0; j < row.k.input_view().shape[1]; ++j) body(row, j);
        }
    }

    template <class T>
    void run(const Queue& queue, Tile<T> y) const {
        Buffer<T> data(GlobalState<T>::size(heads)), scratch(global_scratch(heads));
        const GlobalState<T> state{heads, data.data()};
        TileBox<T> queries(TileBox<T>::input, heads.n_key_channel(), n_query(), {1, 3});
        queries.fill_from(q);
        std::vector<TileBox<T>> keys, values;
        for (const Row& row : rows) {
            const int64_t n_key = row.k.input_view().shape[1];
            keys.emplace_back(TileBox<T>::input, heads.n_key_channel(), n_key, Layout{0, 5});
            values.emplace_back(TileBox<T>::input, heads.n_value_channel(), n_key, Layout{2, 1});
            keys.back().fill_from(row.k);
            values.back().fill_from(row.v);
        }
        Traps traps;
        reset(state);
        for (size_t r = 0; r < rows.size(); ++r)
            attend_all<T>(queue, heads, queries.input_view(), keys[r].input_view(),
                          values[r].input_view(), static_cast<T>(rows[r].weight), scratch.data(),
                          state);
        finish<T>(queue, state, y);
    }

    Heads heads;
    TileBox<double> q;
    std::vector<Row> rows;
};

template <class T>
void expect_answer(const GlobalProblem& p, Tile<const T> y, double eps) {
    TileBox<double> want(TileBox<double>::output, p.heads.n_value_channel(), p.n_query());
    double size = 0, n = 0;
    p.answer(want.view(), size);
    p.for_keys([&](const Row&, int64_t) { ++n; });
    const double d = static_cast<double>(p.heads.n_key_dim);
    expect_close<T>(y, want.view(), 8 * eps * (std::sqrt(n) + std::sqrt(d) * size));
}

const std::vector<Heads> head_sizes = {{1, 1, 1},   {1, 7, 13},  {2, 3, 5},    {4, 8, 8},
                                       {3, 16, 17}, {1, 64, 32}, {1, 128, 128}};

GlobalProblem some_problem(const Heads& heads, int64_t n_query, std::mt19937& random) {
    GlobalProblem p(heads, n_query, random);
    const int64_t n_keys[] = {1, 20, 0, 131, 257};
    for (int64_t n : n_keys)
        p.rows.emplace_back(heads, n, 1e-3 * static_cast<double>(n + 1), random);
    p.rows[1].weight = 0;
    return p;
}

TEST(GlobalAttentionReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        const GlobalProblem p = some_problem(heads, 5, random);
        TileBox<double> y(TileBox<double>::output, heads.n_value_channel(), 5);
        p.run(Queue(Backend::ref, VectorLevel::scalar, 1), y.view());
        expect_answer<double>(p, y.view(), epsilon<double>);
    }
}

TEST_P(GlobalAttentionOn, AgreesWithDoubleOnAwkwardSizes) {
    auto random = generator();
    for (int64_t n_query : {1, 15, 33, 64}) {
        for (const Heads& heads : head_sizes) {
            const GlobalProblem p = some_problem(heads, n_query, random);
            TileBox<float> y(TileBox<float>::output, heads.n_value_channel(), n_query);
            p.run(queue(), y.view());
            y.expect_kept_inside("y");
            expect_answer<float>(p, y.view(), epsilon<float>);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
