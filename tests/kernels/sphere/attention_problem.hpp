// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/sphere/attention.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::sphere::test {

using namespace surrogate::kernels::test;

using Strips = std::vector<Strip>;

/// Random numbers for attention of some output phase rows, as doubles that are floats, and a plain
/// evaluation of the formula in double.
///   lists (query row), q (query row, H*d, n_column)
///   k (row, H*d, n_column), v (row, H*e, n_column), weight (row)
/// Rows of keys are phase rows of a layout whose first has the number first_row.
struct NeighborhoodProblem {
    Heads heads;
    int64_t n_column, first_row, n_row;
    std::vector<Strips> lists;
    std::vector<double> q, k, v, weight;

    NeighborhoodProblem(Heads sizes, int64_t n_columns, int64_t first, int64_t n_rows,
                        std::vector<Strips> some_lists, std::mt19937& random, double score_size = 3)
        : heads(sizes),
          n_column(n_columns),
          first_row(first),
          n_row(n_rows),
          lists(std::move(some_lists)) {
        std::normal_distribution<float> normal;
        const auto fill = [&](std::vector<double>& x, int64_t size, double scale) {
            x.resize(static_cast<size_t>(size));
            for (double& value : x) value = static_cast<float>(scale) * normal(random);
        };
        const double root = std::sqrt(static_cast<double>(heads.n_key_dim));
        fill(q, n_query_row() * heads.n_key_channel() * n_column, score_size / root);
        fill(k, n_row * heads.n_key_channel() * n_column, 1);
        fill(v, n_row * heads.n_value_channel() * n_column, 1);
        weight.resize(static_cast<size_t>(n_row));
        for (double& w : weight)
            w = 0.001f * std::uniform_real_distribution<float>(0.1f, 1)(random);
    }

    int64_t n_query_row() const { return static_cast<int64_t>(lists.size()); }
    const Strips& list(int64_t row) const { return lists[static_cast<size_t>(row)]; }
    Strips all_strips() const {
        Strips all;
        for (const Strips& one : lists) all.insert(all.end(), one.begin(), one.end());
        return all;
    }
    int64_t n_neighbor() const {
        int64_t n = 0;
        for (const Strip& strip : all_strips()) n += strip.count;
        return n;
    }
    double query(int64_t row, int64_t c, int64_t i) const {
        return at(q, row * heads.n_key_channel() + c, i);
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

    double score(int64_t r, int64_t h, int64_t i, int64_t row, int64_t j) const {
        double sum = 0;
        for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
            sum += query(r, c, i) * key(row, c, j);
        return sum;
    }

    /// y(h*e + c, i) of query row r in double; `size` becomes the largest |score|.
    std::vector<double> answer(int64_t r, double& size) const {
        const int64_t e = heads.n_value_dim;
        std::vector<double> y(static_cast<size_t>(heads.n_value_channel() * n_column));
        size = 0;
        for (int64_t h = 0; h < heads.n_head; ++h) {
            for (int64_t i = 0; i < n_column; ++i) {
                double maximum = -1e300, sum = 0;
                for_neighbors(r, i, [&](int64_t row, int64_t j) {
                    const double s = score(r, h, i, row, j);
                    maximum = std::max(maximum, s);
                    size = std::max(size, std::abs(s));
                });
                std::vector<double> total(static_cast<size_t>(e));
                for_neighbors(r, i, [&](int64_t row, int64_t j) {
                    const double share = weight[static_cast<size_t>(row - first_row)] *
                                         std::exp2(score(r, h, i, row, j) - maximum);
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
    void for_neighbors(int64_t r, int64_t i, const Body& body) const {
        for (const Strip& strip : list(r))
            for (int64_t o = 0; o < strip.count; ++o) body(strip.row, i + strip.first + o);
    }
};

/// The problem in memory as the kernel wants it.
template <class T>
struct NeighborhoodMemory {
    const NeighborhoodProblem& problem;
    RingLayout k_layout, v_layout;
    Buffer<T> k, v, weight;
    static constexpr int64_t guard = 64;
    int64_t n_scratch;
    Buffer<T> scratch;

    explicit NeighborhoodMemory(const NeighborhoodProblem& p)
        : problem(p),
          k_layout(p.first_row, p.first_row + p.n_row, 1, p.n_column, p.heads.n_key_channel(),
                   p.all_strips()),
          v_layout(p.first_row, p.first_row + p.n_row, 1, p.n_column, p.heads.n_value_channel(),
                   p.all_strips()),
          k(k_layout.size()),
          v(v_layout.size()),
          weight(p.n_row),
          n_scratch(neighborhood_scratch(p.heads, p.n_neighbor())),
          scratch(n_scratch + guard) {
        std::fill_n(scratch.data() + n_scratch, guard, T(12.5));
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

    /// Runs query rows [begin, end) in the columns [first, first + count): y[r] belongs to row
    /// begin + r.
    void run(const Queue& queue, int64_t begin, int64_t end, int64_t first, int64_t count,
             const std::vector<Tile<T>>& y, bool has_traps = true) {
        const NeighborhoodProblem& p = problem;
        std::vector<TileBox<T>> q, out;
        std::vector<NeighborhoodRow<T>> rows;
        for (int64_t r = begin; r < end; ++r) {
            q.emplace_back(TileBox<T>::input, p.heads.n_key_channel(), count, Layout{1, 3});
            q.back().fill([&](int64_t c, int64_t i) { return p.query(r, c, first + i); });
            out.emplace_back(TileBox<T>::output, p.heads.n_value_channel(), count, Layout{0, 1});
        }
        for (int64_t r = begin; r < end; ++r) {
            const auto at = static_cast<size_t>(r - begin);
            rows.push_back({p.list(r), q[at].input_view(), out[at].view()});
        }
        {
            std::optional<Traps> traps;
            if (has_traps) traps.emplace();
            attend_neighbors<T>(queue, p.heads, rows, first, keys(), values(), weight.data(),
                                scratch.data());
        }
        for (int64_t i = 0; i < guard; ++i)
            ASSERT_EQ(scratch[n_scratch + i], T(12.5)) << "written behind the scratch";
        for (size_t r = 0; r < out.size(); ++r) {
            out[r].expect_kept_inside("y");
            q[r].expect_unchanged("q");
            for (int64_t c = 0; c < p.heads.n_value_channel(); ++c)
                std::copy_n(&out[r].view()(c, 0), count, &y[r](c, first));
        }
    }

    /// All columns in tiles of n_column, query rows n_row at a time.
    void run_all(const Queue& queue, const std::vector<Tile<T>>& y, int64_t n_column = tile_points,
                 int64_t n_row = 8) {
        for (int64_t r = 0; r < problem.n_query_row(); r += n_row) {
            const int64_t end = std::min(problem.n_query_row(), r + n_row);
            const std::vector<Tile<T>> part(y.begin() + r, y.begin() + end);
            for (int64_t first = 0; first < problem.n_column; first += n_column)
                run(queue, r, end, first, std::min(n_column, problem.n_column - first), part);
        }
    }

    /// As run_all, for numbers that trap.
    void run_quietly(const Queue& queue, const std::vector<Tile<T>>& y) {
        for (int64_t first = 0; first < problem.n_column; first += tile_points)
            run(queue, 0, problem.n_query_row(), first,
                std::min(tile_points, problem.n_column - first), y, false);
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

/// Results of all query rows.
template <class T>
struct Results {
    explicit Results(const NeighborhoodProblem& p) {
        for (int64_t r = 0; r < p.n_query_row(); ++r)
            boxes.emplace_back(TileBox<T>::output, p.heads.n_value_channel(), p.n_column);
    }
    std::vector<Tile<T>> views() {
        std::vector<Tile<T>> all;
        for (TileBox<T>& box : boxes) all.push_back(box.view());
        return all;
    }
    std::vector<TileBox<T>> boxes;
};

/// Strips about column 0 of some of the rows from first_row on, half widths from `half`.
inline Strips centred(int64_t first_row, int64_t n_column, const std::vector<int>& half) {
    Strips strips;
    for (size_t r = 0; r < half.size(); ++r) {
        if (half[r] < 0) continue;  // a row without neighbors
        const auto most = static_cast<int32_t>(n_column);
        const int32_t count = std::min(2 * half[r] + 1, most);
        const int32_t first = count == most ? 0 : -half[r];
        strips.push_back({static_cast<int32_t>(first_row) + static_cast<int32_t>(r), first, count});
    }
    return strips;
}

/// Returns lists of neighbors with the shapes that occur, each beside one that differs from it:
/// equal, wider, over other rows, whole rings, none in the middle, off the center (phases). Five
/// rows of keys.
inline std::vector<Strips> some_lists(int64_t first_row, int64_t n_column) {
    const auto row = static_cast<int32_t>(first_row);
    std::vector<Strips> lists;
    for (const std::vector<int>& half : std::vector<std::vector<int>>{{0, 1, 2, 1, 0},
                                                                      {0, 1, 3, 2, 0},
                                                                      {-1, 3, 4, 3, 1},
                                                                      {3, 3, -1, -1, 3},
                                                                      {1000, 9, -1, 2, -1},
                                                                      {1000, 24, 1000, 5, 0},
                                                                      {26, 25, 28, 40, 7}})
        lists.push_back(centred(first_row, n_column, half));
    lists.push_back({{row + 1, 2, 3}, {row + 2, -1, 4}, {row + 4, -5, 2}});
    lists.push_back({{row + 2, 0, 1}});
    return lists;
}

}  // namespace surrogate::kernels::sphere::test
