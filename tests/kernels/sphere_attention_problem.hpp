// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/sphere/attention.hpp"
#include "tests/kernels/tile_box.hpp"

namespace surrogate::kernels::sphere::test {

using namespace surrogate::kernels::test;

/// Random numbers for attention of one output phase row, as doubles that are floats, and a plain
/// evaluation of the formula in double.
///   q (H*d, n_column), k (row, H*d, n_column), v (row, H*e, n_column), weight (row)
/// Rows are phase rows of a layout whose first has the number first_row.
struct NeighborhoodProblem {
    Heads heads;
    int64_t n_column, first_row, n_row;
    std::vector<Strip> strips;
    std::vector<double> q, k, v, weight;

    NeighborhoodProblem(Heads sizes, int64_t n_columns, int64_t first, int64_t n_rows,
                        std::vector<Strip> list, std::mt19937& random, double score_size = 3)
        : heads(sizes),
          n_column(n_columns),
          first_row(first),
          n_row(n_rows),
          strips(std::move(list)) {
        std::normal_distribution<float> normal;
        const auto fill = [&](std::vector<double>& x, int64_t size, double scale) {
            x.resize(static_cast<size_t>(size));
            for (double& value : x) value = static_cast<float>(scale) * normal(random);
        };
        const double root = std::sqrt(static_cast<double>(heads.n_key_dim));
        fill(q, heads.n_key_channel() * n_column, score_size / root);
        fill(k, n_row * heads.n_key_channel() * n_column, 1);
        fill(v, n_row * heads.n_value_channel() * n_column, 1);
        weight.resize(static_cast<size_t>(n_row));
        for (double& w : weight)
            w = 0.001f * std::uniform_real_distribution<float>(0.1f, 1)(random);
    }

    int64_t n_neighbor() const {
        int64_t n = 0;
        for (const Strip& strip : strips) n += strip.count;
        return n;
    }
    double key(int64_t row, int64_t c, int64_t j) const {
        return at(k, (row - first_row) * heads.n_key_channel() + c, j);
    }
    double value(int64_t row, int64_t c, int64_t j) const {
        return at(v, (row - first_row) * heads.n_value_channel() + c, j);
    }
    double at(const std::vector<double>& x, int64_t row, int64_t j) const {
        return x[static_cast<size_t>(row * n_column + ((j % n_column) + n_column) % n_column)];
    }

    double score(int64_t h, int64_t i, int64_t row, int64_t j) const {
        double sum = 0;
        for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
            sum += at(q, c, i) * key(row, c, j);
        return sum;
    }

    /// y(h*e + c, i) in double; `size` becomes the largest |score|.
    std::vector<double> answer(double& size) const {
        const int64_t e = heads.n_value_dim;
        std::vector<double> y(static_cast<size_t>(heads.n_value_channel() * n_column));
        size = 0;
        for (int64_t h = 0; h < heads.n_head; ++h) {
            for (int64_t i = 0; i < n_column; ++i) {
                double maximum = -1e300, sum = 0;
                for_neighbors(i, [&](int64_t row, int64_t j) {
                    maximum = std::max(maximum, score(h, i, row, j));
                    size = std::max(size, std::abs(score(h, i, row, j)));
                });
                std::vector<double> total(static_cast<size_t>(e));
                for_neighbors(i, [&](int64_t row, int64_t j) {
                    const double share = weight[static_cast<size_t>(row - first_row)] *
                                         std::exp2(score(h, i, row, j) - maximum);
                    sum += share;
                    for (int64_t c = 0; c < e; ++c)
                        total[static_cast<size_t>(c)] += share * value(row, h * e + c, j);
                });
                for (int64_t c = 0; c < e; ++c)
                    y[static_cast<size_t>((h * e + c) * n_column + i)] =
                        total[static_cast<size_t>(c)] / sum;
            }
        }
        return y;
    }

    template <class Body>
    void for_neighbors(int64_t i, const Body& body) const {
        for (const Strip& strip : strips)
            for (int64_t o = 0; o < strip.count; ++o) body(strip.row, i + strip.first + o);
    }
};

/// The problem in memory as the kernel wants it.
template <class T>
struct NeighborhoodMemory {
    const NeighborhoodProblem& problem;
    RingLayout k_layout, v_layout;
    Buffer<T> k, v, weight, scratch;

    explicit NeighborhoodMemory(const NeighborhoodProblem& p)
        : problem(p),
          k_layout(p.first_row, p.first_row + p.n_row, 1, p.n_column, p.heads.n_key_channel(),
                   p.strips),
          v_layout(p.first_row, p.first_row + p.n_row, 1, p.n_column, p.heads.n_value_channel(),
                   p.strips),
          k(k_layout.size()),
          v(v_layout.size()),
          weight(p.n_row),
          scratch(neighborhood_scratch(p.heads, p.n_neighbor())) {
        for (int64_t row = p.first_row; row < p.first_row + p.n_row; ++row) {
            fill_row({&k_layout, k.data()}, row,
                     [&](int64_t c, int64_t j) { return p.key(row, c, j); });
            fill_row({&v_layout, v.data()}, row,
                     [&](int64_t c, int64_t j) { return p.value(row, c, j); });
            weight[row - p.first_row] =
                static_cast<T>(p.weight[static_cast<size_t>(row - p.first_row)]);
        }
    }
    Rings<const T> keys() const { return {&k_layout, k.data()}; }
    Rings<const T> values() const { return {&v_layout, v.data()}; }

    /// Queries of the columns first .. first + y.shape[1] - 1.
    void run(const Queue& queue, int64_t first, Tile<T> y) {
        TileBox<T> q(TileBox<T>::input, problem.heads.n_key_channel(), y.shape[1]);
        q.fill([&](int64_t c, int64_t i) { return problem.at(problem.q, c, first + i); });
        const NeighborhoodProblem& p = problem;
        Traps traps;
        attend_neighbors<T>(queue, p.heads, q.input_view(), first, p.strips, keys(), values(),
                            weight.data(), scratch.data(), y);
    }

    /// All columns in tiles.
    void run_row(const Queue& queue, Tile<T> y) {
        for (int64_t first = 0; first < problem.n_column; first += tile_points) {
            Tile<T> part = y;
            part.data += first;
            part.shape[1] = std::min(tile_points, problem.n_column - first);
            run(queue, first, part);
        }
    }

private:
    template <class Value>
    static void fill_row(Rings<T> rings, int64_t row, const Value& value) {
        for (int64_t c = 0; c < rings.layout->n_channel(); ++c)
            for (int64_t j = 0; j < rings.layout->n_column(); ++j)
                rings.at(row, c)[j] = static_cast<T>(value(c, j));
        close_ring(row, rings);
    }
};

/// Lists of neighbors with the shapes that occur: wide in the middle, and beside it.
inline std::vector<Strip> some_strips(int64_t first_row, int64_t n_column, std::mt19937& random) {
    std::vector<Strip> strips;
    for (int32_t r = 0; r < 5; ++r) {
        const auto row = static_cast<int32_t>(first_row) + r;
        const auto half = static_cast<int32_t>(random() % static_cast<unsigned>(n_column / 2));
        if (r == 3) continue;  // a row without neighbors
        strips.push_back({row, -half, 2 * half + 1});
    }
    return strips;
}

}  // namespace surrogate::kernels::sphere::test
