// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {

/// Keys of one call, with their weight and their distances from the queries.
struct Row {
    Row(const Heads& heads, int64_t n_query, int64_t n_key, double w, std::mt19937& random,
        double key_size = 1)
        : k(TileBox<double>::input, heads.n_key_channel(), n_key),
          v(TileBox<double>::input, heads.n_value_channel(), n_key),
          distance(TileBox<double>::input, n_key, n_query),
          weight(static_cast<float>(w)) {
        k.fill_normal(random, key_size);
        v.fill_normal(random);
        std::uniform_real_distribution<float> uniform(0, 2);
        distance.fill([&](int64_t, int64_t) { return uniform(random); });
    }
    int64_t n_key() const { return k.input_view().shape[1]; }

    TileBox<double> k, v, distance;
    double weight;
};

/// Inputs of a kernel, in its own precision and in unaligned memory.
template <class T>
struct RowMemory {
    explicit RowMemory(const Row& row)
        : k(TileBox<T>::input, row.k.input_view().shape[0], row.n_key(), {0, 5}),
          v(TileBox<T>::input, row.v.input_view().shape[0], row.n_key(), {2, 1}),
          distance(TileBox<T>::input, row.n_key(), row.distance.input_view().shape[1], {1, 7}) {
        k.fill_from(row.k);
        v.fill_from(row.v);
        distance.fill_from(row.distance);
    }
    TileBox<T> k, v, distance;
};

/// Random numbers for attention, as doubles that are floats, and the formula in double.
struct Problem {
    Problem(Heads sizes, int64_t n_query, std::mt19937& random, double score_size = 3)
        : heads(sizes), q(TileBox<double>::input, sizes.n_key_channel(), n_query) {
        const double root = std::sqrt(static_cast<double>(sizes.n_key_dim));
        q.fill_normal(random, static_cast<float>(score_size / root));
    }
    /// Factors of the distance, one for each head.
    void add_bias() {
        for (int64_t h = 0; h < heads.n_head; ++h)
            factor.push_back(-1.5f + 0.25f * static_cast<float>(h));
    }
    void add_row(int64_t n_key, double weight, std::mt19937& random, double key_size = 1) {
        rows.emplace_back(heads, n_query(), n_key, weight, random, key_size);
    }

    int64_t n_query() const { return q.input_view().shape[1]; }

    double score(int64_t h, int64_t i, const Row& row, int64_t j) const {
        double sum = 0;
        if (!factor.empty()) sum = factor[static_cast<size_t>(h)] * row.distance.input_view()(j, i);
        for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
            sum += q.input_view()(c, i) * row.k.input_view()(c, j);
        return sum;
    }

    /// The formula in double, on all keys, and log_sum (H, n_query). Returns the largest |score|.
    double answer(Tile<double> y, Tile<double> log_sum) const {
        const int64_t e = heads.n_value_dim;
        double size = 0;
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
                log_sum(h, i) = maximum + std::log2(sum);
            }
        }
        return size;
    }
    template <class Body>
    void for_keys(const Body& body) const {
        for (const Row& row : rows) {
            if (row.weight == 0) continue;
            for (int64_t j = 0; j < row.n_key(); ++j) body(row, j);
        }
    }

    /// Row by row, and each row in calls of at most n_a_call keys.
    template <class T>
    void run(const Queue& queue, Tile<T> y, Tile<T> log_sum, int64_t n_a_call = 1000) const {
        Buffer<T> data(SoftmaxState<T>::size(heads)), scratch(attend_scratch(heads));
        const SoftmaxState<T> state{heads, data.data()};
        TileBox<T> queries(TileBox<T>::input, heads.n_key_channel(), n_query(), {1, 3});
        queries.fill_from(q);
        const std::vector<T> factors(factor.begin(), factor.end());
        const std::vector<RowMemory<T>> memory(rows.begin(), rows.end());
        Traps traps;
        reset(state);
        for (size_t r = 0; r < rows.size(); ++r) {
            const auto [k, v, distance] =
                std::tuple(memory[r].k.input_view(), memory[r].v.input_view(),
                           memory[r].distance.input_view());
            for (int64_t first = 0; first < rows[r].n_key(); first += n_a_call) {
                const int64_t count = std::min(n_a_call, rows[r].n_key() - first);
                DistanceBias<T> bias;
                if (!factors.empty()) bias = {factors.data(), channels(distance, first, count)};
                attend<T>(queue, heads, queries.input_view(), points(k, first, count),
                          points(v, first, count), static_cast<T>(rows[r].weight), bias,
                          scratch.data(), state);
            }
        }
        finish<T>(queue, state, y);
        log_sums<T>(queue, state, log_sum);
    }

    Heads heads;
    TileBox<double> q;
    std::vector<double> factor;
    std::vector<Row> rows;
};

/// Averages and logarithms of sums of a run.
template <class T>
struct Answer {
    explicit Answer(const Problem& p)
        : y(TileBox<T>::output, p.heads.n_value_channel(), p.n_query(), {1, 1}),
          log_sum(TileBox<T>::output, p.heads.n_head, p.n_query(), {0, 3}) {}
    TileBox<T> y, log_sum;
};

template <class T>
Answer<T> run(const Problem& p, const Queue& queue, int64_t n_a_call = 1000) {
    Answer<T> answer(p);
    p.run(queue, answer.y.view(), answer.log_sum.view(), n_a_call);
    answer.y.expect_kept_inside("y");
    answer.log_sum.expect_kept_inside("log_sum");
    return answer;
}

template <class T>
void expect_same_bits(const Answer<T>& got, const Answer<T>& want) {
    expect_same_bits<T>(got.y.input_view(), want.y.input_view());
    expect_same_bits<T>(got.log_sum.input_view(), want.log_sum.input_view());
}

/// Errors of the scores (d products of that size), of the weights and of the sums (n terms).
template <class T>
void expect_answer(const Problem& p, const Answer<T>& got) {
    Answer<double> want(p);
    const double size = p.answer(want.y.view(), want.log_sum.view());
    double n = 0;
    p.for_keys([&](const Row&, int64_t) { ++n; });
    const double d = static_cast<double>(p.heads.n_key_dim);
    const double bound = 8 * epsilon<T> * (std::sqrt(n) + std::sqrt(d) * size);
    expect_close<T>(got.y.input_view(), want.y.view(), bound);
    expect_close<T>(got.log_sum.input_view(), want.log_sum.view(), bound);
}

}  // namespace surrogate::kernels::test
