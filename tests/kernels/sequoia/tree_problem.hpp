// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/sequoia/backward.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::sequoia::test {

using namespace surrogate::kernels::test;

/// A tile of nodes and what surrounds it.
struct Shape {
    Heads heads;
    int64_t k, n_node, n_ancestor;
    bool has_siblings = true, has_children = true;
    int64_t n_last = 1;

    int64_t n_group() const { return (n_node + k - 1) / k; }
    std::string text() const {
        return "k " + std::to_string(k) + ", nodes " + std::to_string(n_node) + ", ancestors " +
               std::to_string(n_ancestor) + ", heads " + std::to_string(heads.n_head) + " of " +
               std::to_string(heads.n_key_dim) + " and " + std::to_string(heads.n_value_dim);
    }
};

/// Every k with its own path or remainder: less than, equal to, more than and multiples of a vector,
/// one group a tile; groups cut short, to one node too; all numbers of ancestors a tree may have.
inline const std::vector<Shape> tree_shapes = {
    {{1, 1, 1}, 2, 2, 1},
    {{2, 3, 5}, 2, 63, 9},
    {{2, 7, 7}, 3, 63, 3},
    {{1, 8, 9}, 3, 61, 0, true, false},
    {{2, 5, 8}, 5, 17, 2, true, true, 4},
    {{1, 13, 6}, 8, 64, 5, true, false},
    {{3, 4, 4}, 8, 43, 1, true, true, 6},
    {{2, 16, 16}, 16, 64, 4},
    {{1, 17, 31}, 16, 48, 6, false, true},
    {{2, 9, 11}, 16, 33, 5, true, true, 16},
    {{2, 6, 6}, 16, 1, 2},  // a group of one
    {{1, 4, 4}, 16, 1, 0},  // the root
    {{1, 4, 4}, 16, 20, 0, false, false},
    {{2, 8, 8}, 17, 51, 3},
    {{1, 5, 3}, 32, 64, 7, true, false},
    {{1, 128, 128}, 16, 64, 9},
    {{2, 3, 4}, 100, 100, 2},
    {{1, 6, 5}, 100, 67, 1, true, true, 34},
};

/// Attention of a tile to its surroundings: memory, and the formula in double. Ancestor a of group g
/// stands in column g / 2^a of its level, so that some are shared.
template <class T>
struct TreeProblem {
    explicit TreeProblem(const Shape& of, Layout layout = {})
        : shape(of),
          q(TileBox<T>::input, of.heads.n_key_channel(), of.n_node, layout),
          k(TileBox<T>::input, of.heads.n_key_channel(), of.n_node, {1, 3}),
          v(TileBox<T>::input, of.heads.n_value_channel(), of.n_node, layout),
          children(TileBox<T>::input, of.heads.n_value_channel(), of.n_node, {2, 1}) {
        for (int64_t a = 0; a < of.n_ancestor; ++a) {
            const Layout upper{a % 3, a};
            upper_k.emplace_back(TileBox<T>::input, of.heads.n_key_channel(), of.n_group(), upper);
            upper_v.emplace_back(TileBox<T>::input, of.heads.n_value_channel(), of.n_group(),
                                 upper);
        }
    }
    TreeProblem(const Shape& of, std::mt19937& random, double score_size = 3) : TreeProblem(of) {
        q.fill_normal(random, score_size / std::sqrt(static_cast<double>(of.heads.n_key_dim)));
        for (TileBox<T>* box : all())
            if (box != &q) box->fill_normal(random);
    }
    template <class U>
    explicit TreeProblem(TreeProblem<U>& other) : TreeProblem(other.shape) {
        const auto to = all();
        const auto from = other.all();
        for (size_t i = 0; i < to.size(); ++i) to[i]->fill_from(*from[i]);
    }

    std::vector<TileBox<T>*> all() {
        std::vector<TileBox<T>*> boxes = {&q, &k, &v, &children};
        for (TileBox<T>& box : upper_k) boxes.push_back(&box);
        for (TileBox<T>& box : upper_v) boxes.push_back(&box);
        return boxes;
    }
    static int64_t column(int64_t g, int64_t a) { return g >> a; }

    /// Valid as long as the problem lives and `nodes` is not asked for again.
    Surroundings<T> around() {
        nodes.clear();
        for (int64_t g = 0; g < shape.n_group(); ++g) {
            for (int64_t a = 0; a < shape.n_ancestor; ++a) {
                const Tile<const T> of_k = upper_k[static_cast<size_t>(a)].input_view(),
                                    of_v = upper_v[static_cast<size_t>(a)].input_view();
                nodes.push_back({&of_k(0, column(g, a)), &of_v(0, column(g, a)), of_k.stride[0]});
            }
        }
        Tile<const T> above;
        if (shape.has_children) above = children.input_view();
        return {shape.k, shape.has_siblings, nodes, shape.n_ancestor, above, shape.n_last};
    }

    void run(const Queue& queue, Tile<T> y) {
        const Traps traps;
        run_without_traps(queue, y);
    }
    void run_without_traps(const Queue& queue, Tile<T> y) {
        Buffer<T> scratch(tree_scratch(shape.heads, shape.k, shape.n_ancestor));
        const Surroundings<T> surroundings = around();
        attend_tree<T>(queue, shape.heads, q.input_view(), k.input_view(), v.input_view(),
                       surroundings, scratch.data(), y);
    }
    void expect_unchanged() {
        for (TileBox<T>* box : all()) box->expect_unchanged("an input");
    }

    /// One average of the formula: n keys key(j, c) with values value(j, c), the last n_last times.
    /// `size` becomes the largest |score|.
    double average(int64_t h, int64_t i, int64_t c, int64_t n, int64_t n_last, const auto& key,
                   const auto& value, double& size) {
        std::vector<double> score(static_cast<size_t>(n));
        double maximum = -1e300, sum = 0, result = 0;
        for (int64_t j = 0; j < n; ++j) {
            double& s = score[static_cast<size_t>(j)];
            for (int64_t b = h * shape.heads.n_key_dim; b < (h + 1) * shape.heads.n_key_dim; ++b)
                s += static_cast<double>(q.input_view()(b, i)) * key(j, b);
            maximum = std::max(maximum, s);
            size = std::max(size, std::abs(s));
        }
        for (int64_t j = 0; j < n; ++j) {
            const double weight = static_cast<double>(j == n - 1 ? n_last : 1) *
                                  std::exp2(score[static_cast<size_t>(j)] - maximum);
            sum += weight;
            result += weight * value(j, c);
        }
        return result / sum;
    }

    /// The formula, for channel c of node i.
    double answer(int64_t c, int64_t i, double& size) {
        const int64_t h = c / shape.heads.n_value_dim, g = i / shape.k, first = g * shape.k;
        const int64_t count = std::min(shape.k, shape.n_node - first);
        const auto at = [](const TileBox<T>& box, int64_t channel, int64_t column) {
            return static_cast<double>(box.input_view()(channel, column));
        };
        double sum = 0;
        if (shape.n_ancestor > 0)
            sum += average(
                h, i, c, shape.n_ancestor, 1,
                [&](int64_t a, int64_t b) {
                    return at(upper_k[static_cast<size_t>(a)], b, column(g, a));
                },
                [&](int64_t a, int64_t b) {
                    return at(upper_v[static_cast<size_t>(a)], b, column(g, a));
                },
                size);
        if (shape.has_siblings)
            sum += average(
                h, i, c, count, first + count == shape.n_node ? shape.n_last : 1,
                [&](int64_t j, int64_t b) { return at(k, b, first + j); },
                [&](int64_t j, int64_t b) { return at(v, b, first + j); }, size);
        if (shape.has_children) sum += at(children, c, i);
        return sum / 3;
    }

    Shape shape;
    TileBox<T> q, k, v, children;
    std::vector<TileBox<T>> upper_k, upper_v;  ///< (n_ancestor)
    std::vector<Node<T>> nodes;
};

/// Rounding of scores (d products) and of sums (n terms), of numbers of size one.
inline double forward_bound(const Shape& shape, double eps, double score_size) {
    const double n = static_cast<double>(shape.k + shape.n_ancestor);
    const double d = static_cast<double>(shape.heads.n_key_dim);
    return 8 * eps * (std::sqrt(n) + std::sqrt(d) * score_size);
}

/// Columns that are no nodes still hold what an output holds at first: NaN.
template <class T>
void expect_padding_kept(Tile<const T> y) {
    for (int64_t c = 0; c < y.shape[0]; ++c)
        for (int64_t i = y.shape[1]; i < round_up(y.shape[1], lane_count); ++i)
            ASSERT_TRUE(std::isnan(y.data[c * y.stride[0] + i])) << "column " << i << " written";
}

}  // namespace surrogate::kernels::sequoia::test
