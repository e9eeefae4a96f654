// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <numbers>

#include "kernels/sphere/attention_backward.hpp"
#include "tests/kernels/sphere/attention_problem.hpp"

namespace surrogate::kernels::sphere::test {

/// Gradients in double, (row, channel, column), and the largest sum of sizes of terms of one entry.
struct Gradient {
    std::vector<double> values;
    double size = 0;
};

/// A NeighborhoodProblem with random gradients dy of its averages, and a plain evaluation of
/// backward in double that scatters: for every query, over its keys.
struct GradientProblem : NeighborhoodProblem {
    std::vector<double> dy;       ///< as y, (query row, H*e, n_column)
    std::vector<double> y, sums;  ///< (query row, H*e or 2*H, n_column)
    Gradient dq, dk, dv;
    double score_size = 0;
    Stencil seen_from;  ///< lists of the rows of keys

    GradientProblem(NeighborhoodProblem problem, std::mt19937& random)
        : NeighborhoodProblem(std::move(problem)) {
        std::normal_distribution<float> normal;
        dy.resize(static_cast<size_t>(n_query_row() * heads.n_value_channel() * n_column));
        for (double& value : dy) value = normal(random);
        find_sums();
        scatter();
        seen_from = transpose(stencil(), first_row, first_row + n_row);
    }

    Stencil stencil() const {
        Stencil all;
        all.n_column = n_column;
        all.end_row = n_query_row();
        all.begin.push_back(0);
        for (const Strips& list : lists) {
            all.strips.insert(all.strips.end(), list.begin(), list.end());
            all.begin.push_back(static_cast<int64_t>(all.strips.size()));
        }
        return all;
    }

    double gradient(int64_t row, int64_t c, int64_t i) const {
        return at(dy, row * heads.n_value_channel() + c, i);
    }
    double sum(int64_t row, int64_t c, int64_t i) const {
        return at(sums, row * 2 * heads.n_head + c, i);
    }

private:
    size_t place(int64_t row, int64_t i) const {
        return static_cast<size_t>(row * n_column + (i % n_column + n_column) % n_column);
    }

    void find_sums() {
        const int64_t n_head = heads.n_head, e = heads.n_value_dim;
        sums.resize(static_cast<size_t>(n_query_row() * 2 * n_head * n_column));
        for (int64_t r = 0; r < n_query_row(); ++r) {
            double size = 0;
            const std::vector<double> average = answer(r, size);
            score_size = std::max(score_size, size);
            y.insert(y.end(), average.begin(), average.end());
            for (int64_t h = 0; h < n_head; ++h) {
                for (int64_t i = 0; i < n_column; ++i) {
                    double maximum = -1e300, total = 0, delta = 0;
                    for_neighbors(r, i, [&](int64_t row, int64_t j) {
                        maximum = std::max(maximum, score(r, h, i, row, j));
                    });
                    for_neighbors(r, i, [&](int64_t row, int64_t j) {
                        total += weight[static_cast<size_t>(row - first_row)] *
                                 std::exp2(score(r, h, i, row, j) - maximum);
                    });
                    for (int64_t c = h * e; c < (h + 1) * e; ++c)
                        delta += gradient(r, c, i) * average[place(c, i)];
                    sums[place(r * 2 * n_head + h, i)] = maximum + std::log2(total);
                    sums[place(r * 2 * n_head + n_head + h, i)] = delta;
                }
            }
        }
    }

    void scatter() {
        const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
        std::array<Gradient*, 3> all = {&dq, &dk, &dv};
        const std::array<int64_t, 3> n_channel = {n_query_row() * heads.n_key_channel(),
                                                  n_row * heads.n_key_channel(),
                                                  n_row * heads.n_value_channel()};
        std::array<std::vector<double>, 3> sizes;
        for (size_t g = 0; g < 3; ++g) {
            all[g]->values.resize(static_cast<size_t>(n_channel[g] * n_column));
            sizes[g] = all[g]->values;
        }
        const auto add = [&](size_t g, size_t to, double value, double size) {
            all[g]->values[to] += value;
            sizes[g][to] += std::abs(size);
        };
        for (int64_t r = 0; r < n_query_row(); ++r) {
            for (int64_t h = 0; h < heads.n_head; ++h) {
                for (int64_t i = 0; i < n_column; ++i) {
                    const double log_sum = sum(r, h, i), delta = sum(r, heads.n_head + h, i);
                    for_neighbors(r, i, [&](int64_t row, int64_t j) {
                        const double p = weight[static_cast<size_t>(row - first_row)] *
                                         std::exp2(score(r, h, i, row, j) - log_sum);
                        double slope = 0, size = std::abs(delta);
                        for (int64_t c = h * e; c < (h + 1) * e; ++c) {
                            slope += gradient(r, c, i) * value(row, c, j);
                            size += std::abs(gradient(r, c, i) * value(row, c, j));
                        }
                        const double ds = std::numbers::ln2 * p * (slope - delta);
                        size *= p;
                        const int64_t local = row - first_row;
                        for (int64_t c = h * d; c < (h + 1) * d; ++c) {
                            add(0, place(r * heads.n_key_channel() + c, i), ds * key(row, c, j),
                                size * key(row, c, j));
                            add(1, place(local * heads.n_key_channel() + c, j), ds * query(r, c, i),
                                size * query(r, c, i));
                        }
                        for (int64_t c = h * e; c < (h + 1) * e; ++c)
                            add(2, place(local * heads.n_value_channel() + c, j),
                                p * gradient(r, c, i), p * gradient(r, c, i));
                    });
                }
            }
        }
        for (size_t g = 0; g < 3; ++g) {
            for (double size : sizes[g]) all[g]->size = std::max(all[g]->size, size);
        }
    }
};

/// Results (row, channel, column), one tile a row.
template <class T>
struct RowTiles {
    RowTiles(int64_t n_row, int64_t n_channel, int64_t n_column) {
        for (int64_t r = 0; r < n_row; ++r)
            boxes.emplace_back(TileBox<T>::output, n_channel, n_column);
    }
    Tile<T> operator[](int64_t row) { return boxes[static_cast<size_t>(row)].view(); }
    std::vector<TileBox<T>> boxes;
};

template <class T>
struct Gradients {
    explicit Gradients(const GradientProblem& p)
        : dq(p.n_query_row(), p.heads.n_key_channel(), p.n_column),
          dk(p.n_row, p.heads.n_key_channel(), p.n_column),
          dv(p.n_row, p.heads.n_value_channel(), p.n_column) {}
    RowTiles<T> dq, dk, dv;
};

/// The problem in memory as backward wants it.
template <class T>
struct GradientMemory {
    const GradientProblem& problem;
    NeighborhoodMemory<T> forward;
    RingLayout q_layout, dy_layout, sums_layout;
    Buffer<T> q, dy, sums;
    static constexpr int64_t guard = 64;
    int64_t n_scratch;
    Buffer<T> scratch;

    explicit GradientMemory(const GradientProblem& p)
        : problem(p),
          forward(p),
          q_layout(layout(p, p.heads.n_key_channel())),
          dy_layout(layout(p, p.heads.n_value_channel())),
          sums_layout(layout(p, 2 * p.heads.n_head)),
          q(q_layout.size()),
          dy(dy_layout.size()),
          sums(sums_layout.size()),
          n_scratch(neighborhood_backward_scratch(p.heads)),
          scratch(n_scratch + guard) {
        std::fill_n(scratch.data() + n_scratch, guard, T(12.5));
        for (int64_t row = 0; row < p.n_query_row(); ++row) {
            fill({&q_layout, q.data()}, row,
                 [&](int64_t c, int64_t i) { return p.query(row, c, i); });
            fill({&dy_layout, dy.data()}, row,
                 [&](int64_t c, int64_t i) { return p.gradient(row, c, i); });
            fill({&sums_layout, sums.data()}, row,
                 [&](int64_t c, int64_t i) { return p.sum(row, c, i); });
        }
    }
    QueryRings<T> queries() const {
        return {{&q_layout, q.data()}, {&dy_layout, dy.data()}, {&sums_layout, sums.data()}};
    }

    /// Rows [begin, end) of queries, columns [first, first + count).
    void run_queries(const Queue& queue, int64_t begin, int64_t end, int64_t first, int64_t count,
                     RowTiles<T>& dq) {
        const GradientProblem& p = problem;
        std::vector<TileBox<T>> in, out;
        std::vector<QueryGradientRow<T>> rows;
        for (int64_t r = begin; r < end; ++r) {
            input(in, p.heads.n_key_channel(), count,
                  [&](int64_t c, int64_t i) { return p.query(r, c, first + i); });
            input(in, p.heads.n_value_channel(), count,
                  [&](int64_t c, int64_t i) { return p.gradient(r, c, first + i); });
            input(in, 2 * p.heads.n_head, count,
                  [&](int64_t c, int64_t i) { return p.sum(r, c, first + i); });
            out.emplace_back(TileBox<T>::output, p.heads.n_key_channel(), count, Layout{0, 1});
        }
        for (int64_t r = begin; r < end; ++r) {
            const auto at = static_cast<size_t>(r - begin);
            rows.push_back({p.list(r), in[3 * at].input_view(), in[3 * at + 1].input_view(),
                            in[3 * at + 2].input_view(), out[at].view()});
        }
        {
            Traps traps;
            attend_neighbors_backward_queries<T>(queue, p.heads, rows, first, forward.keys(),
                                                 forward.values(), forward.weight.data(),
                                                 scratch.data());
        }
        expect_guards(in, out);
        for (size_t r = 0; r < out.size(); ++r)
            copy_columns(out[r], first, count, dq[begin + static_cast<int64_t>(r)]);
    }

    /// The same of keys; rows are numbered from 0.
    void run_keys(const Queue& queue, int64_t begin, int64_t end, int64_t first, int64_t count,
                  RowTiles<T>& dk, RowTiles<T>& dv) {
        const GradientProblem& p = problem;
        std::vector<TileBox<T>> in, out;
        std::vector<KeyGradientRow<T>> rows;
        for (int64_t r = begin; r < end; ++r) {
            const int64_t row = p.first_row + r;
            input(in, p.heads.n_key_channel(), count,
                  [&](int64_t c, int64_t i) { return p.key(row, c, first + i); });
            input(in, p.heads.n_value_channel(), count,
                  [&](int64_t c, int64_t i) { return p.value(row, c, first + i); });
            out.emplace_back(TileBox<T>::output, p.heads.n_key_channel(), count, Layout{0, 1});
            out.emplace_back(TileBox<T>::output, p.heads.n_value_channel(), count, Layout{1, 3});
        }
        for (int64_t r = begin; r < end; ++r) {
            const auto at = static_cast<size_t>(2 * (r - begin));
            rows.push_back({p.seen_from.list(p.first_row + r, 0), forward.weight[r],
                            in[at].input_view(), in[at + 1].input_view(), out[at].view(),
                            out[at + 1].view()});
        }
        {
            Traps traps;
            attend_neighbors_backward_keys<T>(queue, p.heads, rows, first, queries(),
                                              scratch.data());
        }
        expect_guards(in, out);
        for (int64_t r = begin; r < end; ++r) {
            const auto at = static_cast<size_t>(2 * (r - begin));
            copy_columns(out[at], first, count, dk[r]);
            copy_columns(out[at + 1], first, count, dv[r]);
        }
    }

    /// Everything, in tiles of n_column, n_row rows at a time.
    void run_all(const Queue& queue, Gradients<T>& to, int64_t n_column = tile_points,
                 int64_t n_row = 8) {
        const auto blocks = [&](int64_t n, const auto& run) {
            for (int64_t r = 0; r < n; r += n_row) {
                for (int64_t first = 0; first < problem.n_column; first += n_column)
                    run(r, std::min(n, r + n_row), first,
                        std::min(n_column, problem.n_column - first));
            }
        };
        blocks(problem.n_query_row(), [&](int64_t r, int64_t end, int64_t first, int64_t count) {
            run_queries(queue, r, end, first, count, to.dq);
        });
        blocks(problem.n_row, [&](int64_t r, int64_t end, int64_t first, int64_t count) {
            run_keys(queue, r, end, first, count, to.dk, to.dv);
        });
    }

private:
    static RingLayout layout(const GradientProblem& p, int64_t n_channel) {
        return {0, p.n_query_row(), 1, p.n_column, n_channel, p.seen_from.strips};
    }
    template <class Value>
    static void fill(Rings<T> rings, int64_t row, const Value& value) {
        for (int64_t c = 0; c < rings.layout->n_channel(); ++c)
            for (int64_t i = 0; i < rings.layout->n_column(); ++i)
                rings.at(row, c)[i] = static_cast<T>(value(c, i));
        close_ring(row, rings);
    }
    template <class Value>
    static void input(std::vector<TileBox<T>>& boxes, int64_t n_channel, int64_t count,
                      const Value& value) {
        boxes.emplace_back(TileBox<T>::input, n_channel, count, Layout{1, 3});
        boxes.back().fill(value);
    }
    void expect_guards(const std::vector<TileBox<T>>& in, const std::vector<TileBox<T>>& out) {
        for (int64_t i = 0; i < guard; ++i)
            ASSERT_EQ(scratch[n_scratch + i], T(12.5)) << "written behind the scratch";
        for (const TileBox<T>& box : in) box.expect_unchanged("input");
        for (const TileBox<T>& box : out) box.expect_kept_inside("gradient");
    }
    static void copy_columns(TileBox<T>& box, int64_t first, int64_t count, Tile<T> to) {
        for (int64_t c = 0; c < to.shape[0]; ++c)
            std::copy_n(&box.view()(c, 0), count, &to(c, first));
    }
};

}  // namespace surrogate::kernels::sphere::test
