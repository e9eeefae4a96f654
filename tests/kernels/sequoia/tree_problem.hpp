// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
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
    bool are_cousins = false;  ///< groups share all ancestors above their parents, in equal strides

    int64_t n_group() const { return (n_node + k - 1) / k; }
    std::string text() const {
        return std::string(are_cousins ? "cousins, " : "") + "k " + std::to_string(k) + ", nodes " +
               std::to_string(n_node) + ", ancestors " + std::to_string(n_ancestor) + ", heads " +
               std::to_string(heads.n_head) + " of " + std::to_string(heads.n_key_dim) + " and " +
               std::to_string(heads.n_value_dim);
    }
};

/// Every k with its own path or remainder: less than, equal to, more than and multiples of a
/// vector, one group a tile; groups cut short, to one node too; all numbers of ancestors a tree may
/// have; whole tiles below one grandparent, and with a rest.
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
    {{2, 16, 17}, 16, 64, 4, true, false, 1, true},
    {{1, 9, 8}, 16, 64, 1, true, true, 1, true},
    {{2, 5, 8}, 16, 76, 7, true, true, 5, true},
    {{1, 6, 10}, 16, 64, 3, false, true, 1, true},
};

/// One average of the formula: query q(b), n keys key(j, b) of n_dim channels b, values value(j),
/// the last key n_last times. `size` becomes the largest |score|.
inline double average(int64_t n_dim, int64_t n, int64_t n_last, const auto& q, const auto& key,
                      const auto& value, double& size) {
    std::vector<double> score(static_cast<size_t>(n));
    double maximum = -1e300, sum = 0, result = 0;
    for (int64_t j = 0; j < n; ++j) {
        double& s = score[static_cast<size_t>(j)];
        for (int64_t b = 0; b < n_dim; ++b) s += q(b) * key(j, b);
        maximum = std::max(maximum, s);
        size = std::max(size, std::abs(s));
    }
    for (int64_t j = 0; j < n; ++j) {
        const double weight = static_cast<double>(j == n - 1 ? n_last : 1) *
                              std::exp2(score[static_cast<size_t>(j)] - maximum);
        sum += weight;
        result += weight * value(j);
    }
    return result / sum;
}

template <class T>
double number(const TileBox<T>& box, int64_t channel, int64_t column) {
    return static_cast<double>(box.input_view()(channel, column));
}

/// Rounding of scores (d products) and of sums (n terms), of numbers of size one.
inline double forward_bound(int64_t n, int64_t d, double eps, double score_size) {
    return 8 * eps *
           (std::sqrt(static_cast<double>(n)) + std::sqrt(static_cast<double>(d)) * score_size);
}

/// Attention of a tile to its surroundings: memory, and the formula in double. Ancestor a of group
/// g stands in column g / 2^a of its level, so that some are shared; ancestors of cousins above
/// their parents in column 0.
template <class T>
struct TreeProblem {
    explicit TreeProblem(const Shape& of, Layout layout = {})
        : shape(of),
          q(TileBox<T>::input, of.heads.n_key_channel(), of.n_node, layout),
          k(TileBox<T>::input, of.heads.n_key_channel(), of.n_node, {1, 3}),
          v(TileBox<T>::input, of.heads.n_value_channel(), of.n_node, layout),
          children(TileBox<T>::input, of.heads.n_value_channel(), of.n_node, {2, 1}) {
        for (int64_t a = 0; a < of.n_ancestor; ++a) {
            const Layout upper{of.are_cousins ? 1 : a % 3, a};
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
    int64_t column(int64_t g, int64_t a) const {
        return !shape.are_cousins ? g >> a : a == 0 ? g : 0;
    }

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

    /// The formula, for channel c of node i.
    double answer(int64_t c, int64_t i, double& size) {
        const int64_t h = c / shape.heads.n_value_dim, g = i / shape.k, first = g * shape.k;
        const int64_t d = shape.heads.n_key_dim, count = std::min(shape.k, shape.n_node - first);
        const auto query = [&](int64_t b) { return number(q, h * d + b, i); };
        double sum = shape.has_children ? number(children, c, i) : 0;
        if (shape.n_ancestor > 0)
            sum += average(
                d, shape.n_ancestor, 1, query,
                [&](int64_t a, int64_t b) {
                    return number(upper_k[static_cast<size_t>(a)], h * d + b, column(g, a));
                },
                [&](int64_t a) { return number(upper_v[static_cast<size_t>(a)], c, column(g, a)); },
                size);
        if (shape.has_siblings)
            sum += average(
                d, count, first + count == shape.n_node ? shape.n_last : 1, query,
                [&](int64_t j, int64_t b) { return number(k, h * d + b, first + j); },
                [&](int64_t j) { return number(v, c, first + j); }, size);
        return sum / 3;
    }

    Shape shape;
    TileBox<T> q, k, v, children;
    std::vector<TileBox<T>> upper_k, upper_v;  ///< (n_ancestor)
    std::vector<Node<T>> nodes;
};

/// A NaN of which the exponential alone would make a number.
inline float unlucky_nan() {
    return std::bit_cast<float>(uint32_t{0x7fffffff});
}

/// Columns that are no nodes still hold what an output holds at first: NaN.
template <class T>
void expect_padding_kept(Tile<const T> y) {
    for (int64_t c = 0; c < y.shape[0]; ++c)
        for (int64_t i = y.shape[1]; i < round_up(y.shape[1], lane_count); ++i)
            ASSERT_TRUE(std::isnan(y.data[c * y.stride[0] + i])) << "column " << i << " written";
}

struct ChildrenShape {
    Heads heads;
    int64_t k, n_child, n_last = 1;

    int64_t n_parent() const { return (n_child + k - 1) / k; }
    std::string text() const {
        return "k " + std::to_string(k) + ", children " + std::to_string(n_child) + ", heads " +
               std::to_string(heads.n_head) + " of " + std::to_string(heads.n_key_dim) + " and " +
               std::to_string(heads.n_value_dim);
    }
};

/// Whole chunks of lanes and all remainders, of children and of channels.
inline const std::vector<ChildrenShape> children_shapes = {
    {{1, 1, 1}, 2, 2},      {{2, 3, 5}, 2, 63, 2},    {{2, 7, 7}, 3, 63},
    {{2, 5, 16}, 5, 17, 4}, {{1, 13, 33}, 8, 64},     {{3, 4, 4}, 8, 43, 6},
    {{2, 16, 16}, 16, 64},  {{2, 9, 19}, 16, 33, 16}, {{1, 6, 32}, 16, 1, 16},
    {{2, 8, 8}, 17, 51},    {{1, 5, 47}, 32, 64},     {{1, 128, 128}, 16, 64},
    {{2, 3, 20}, 100, 100}, {{1, 6, 5}, 100, 67, 34},
};

/// Parents and their children: memory, and the formula in double.
template <class T>
struct ChildrenProblem {
    explicit ChildrenProblem(const ChildrenShape& of, Layout layout = {})
        : shape(of),
          q(TileBox<T>::input, of.heads.n_key_channel(), of.n_parent(), layout),
          k(TileBox<T>::input, of.heads.n_key_channel(), of.n_child, {1, 3}),
          v(TileBox<T>::input, of.heads.n_value_channel(), of.n_child, layout) {}
    ChildrenProblem(const ChildrenShape& of, std::mt19937& random) : ChildrenProblem(of) {
        q.fill_normal(random, 3 / std::sqrt(static_cast<double>(of.heads.n_key_dim)));
        k.fill_normal(random);
        v.fill_normal(random);
    }
    template <class U>
    explicit ChildrenProblem(ChildrenProblem<U>& other) : ChildrenProblem(other.shape) {
        q.fill_from(other.q);
        k.fill_from(other.k);
        v.fill_from(other.v);
    }
    std::vector<TileBox<T>*> all() { return {&q, &k, &v}; }
    TileBox<T> result_box() const {
        return {TileBox<T>::output, shape.heads.n_value_channel(), shape.n_parent(), {1, 5}};
    }

    void run(const Queue& queue, Tile<T> y) {
        const Traps traps;
        run_without_traps(queue, y);
    }
    void run_without_traps(const Queue& queue, Tile<T> y) {
        Buffer<T> scratch(tree_scratch(shape.heads, shape.k, 0));
        attend_children<T>(queue, shape.heads, shape.k, shape.n_last, q.input_view(),
                           k.input_view(), v.input_view(), scratch.data(), y);
    }

    /// The formula, for channel c of parent i.
    double answer(int64_t c, int64_t i, double& size) const {
        const int64_t h = c / shape.heads.n_value_dim, first = i * shape.k;
        const int64_t d = shape.heads.n_key_dim, count = std::min(shape.k, shape.n_child - first);
        return average(
            d, count, first + count == shape.n_child ? shape.n_last : 1,
            [&](int64_t b) { return number(q, h * d + b, i); },
            [&](int64_t j, int64_t b) { return number(k, h * d + b, first + j); },
            [&](int64_t j) { return number(v, c, first + j); }, size);
    }
    void expect_answer(Tile<const T> y, double eps) const {
        double size = 0;
        TileBox<double> want(TileBox<double>::output, shape.heads.n_value_channel(),
                             shape.n_parent());
        want.fill([&](int64_t c, int64_t i) { return answer(c, i, size); });
        expect_close<T>(y, want.view(), forward_bound(shape.k, shape.heads.n_key_dim, eps, size));
    }

    ChildrenShape shape;
    TileBox<T> q, k, v;
};

}  // namespace surrogate::kernels::sequoia::test
