// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/losses/pair_loss.hpp"
#include "tests/kernels/base/target.hpp"

namespace surrogate::kernels::losses::test {

using kernels::test::generator;

/// Points with labels, pairs as they are listed, and what is computed of them.
struct PairProblem {
    int64_t n_point = 0, n_channel = 0;
    Similarity similarity;
    std::vector<double> e;  ///< (n_point, n_channel), floats
    std::vector<int32_t> label, first, second;

    int64_t n_label() const {
        return label.empty() ? 0 : *std::max_element(label.begin(), label.end()) + 1;
    }
    bool is_positive(size_t k) const {
        const auto a = static_cast<size_t>(first[k]), b = static_cast<size_t>(second[k]);
        return label[a] >= 0 && label[a] == label[b];
    }
};

/// n_pair random pairs of points with three times as many hits as labels; a fifth has none.
inline PairProblem random_problem(std::mt19937& random, int64_t n_point, int64_t n_channel,
                                  int64_t n_pair, Similarity similarity, bool is_symmetric) {
    PairProblem problem{n_point, n_channel, similarity, {}, {}, {}, {}};
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int32_t> point(0, static_cast<int32_t>(n_point) - 1);
    std::uniform_int_distribution<int32_t> label(-1, static_cast<int32_t>(n_point / 3));
    for (int64_t i = 0; i < n_point * n_channel; ++i) problem.e.push_back(normal(random));
    for (int64_t i = 0; i < n_point; ++i) problem.label.push_back(i % 5 == 4 ? -1 : label(random));
    const auto add = [&](int32_t u, int32_t v) {
        problem.first.push_back(u);
        problem.second.push_back(v);
        if (!is_symmetric) return;
        problem.first.push_back(v);
        problem.second.push_back(u);
    };
    for (int64_t k = 0; k < n_pair; ++k) add(point(random), point(random));
    for (int32_t i = 0; i < n_point; ++i) {  // most positive pairs
        for (int32_t j = i + 1; j < n_point; ++j) {
            if (problem.label[static_cast<size_t>(i)] == problem.label[static_cast<size_t>(j)])
                add(i, j);
        }
    }
    return problem;
}

/// Loss and gradient by loops over the list of pairs, in double, in the words of the specification:
/// m is the maximum, sums are scattered.
struct NaiveLoss {
    double loss = 0;
    std::vector<double> gradient;  ///< (n_point, n_channel)
};

inline double naive_similarity(const PairProblem& problem, size_t k, std::vector<double>* slope) {
    const auto n = static_cast<size_t>(problem.n_channel);
    const double* a = problem.e.data() + static_cast<size_t>(problem.first[k]) * n;
    const double* b = problem.e.data() + static_cast<size_t>(problem.second[k]) * n;
    double square = 0, ab = 0, aa = 0, bb = 0;
    for (size_t c = 0; c < n; ++c) {
        square += (a[c] - b[c]) * (a[c] - b[c]);
        ab += a[c] * b[c];
        aa += a[c] * a[c];
        bb += b[c] * b[c];
    }
    const double r = std::sqrt(square),
                 width = 2 * problem.similarity.sigma * problem.similarity.sigma;
    const double length = std::sqrt(aa * bb), tau = problem.similarity.tau;
    const bool is_rbf = problem.similarity.likeness == Likeness::l2_rbf;
    const double t = problem.similarity.likeness == Likeness::cosine
                         ? (length > 0 ? ab / length : 0) / tau
                         : (is_rbf ? std::exp(-r / width) : 1 / (1 + r)) / tau;
    for (size_t c = 0; slope && c < n; ++c) {  // of the first point, then of the second
        if (problem.similarity.likeness == Likeness::cosine) {
            (*slope)[c] = length > 0 ? (b[c] / length - ab / length * a[c] / aa) / tau : 0;
            (*slope)[n + c] = length > 0 ? (a[c] / length - ab / length * b[c] / bb) / tau : 0;
        } else {
            const double of_r = is_rbf ? -t / width : -t / (1 + r);
            (*slope)[c] = r > 0 ? of_r * (a[c] - b[c]) / r : 0;
            (*slope)[n + c] = -(*slope)[c];
        }
    }
    return t;
}

inline NaiveLoss naive_loss(const PairProblem& problem) {
    const size_t n_pair = problem.first.size(), n = static_cast<size_t>(problem.n_channel);
    std::vector<double> x(n_pair), negative(problem.label.size()), d_negative(problem.label.size());
    std::vector<double> dx(n_pair);
    std::vector<int64_t> count(static_cast<size_t>(problem.n_label()));
    double m = -1e300;
    for (size_t k = 0; k < n_pair; ++k) {
        x[k] = naive_similarity(problem, k, nullptr);
        m = std::max(m, x[k]);
    }
    const auto at = [](const std::vector<int32_t>& list, size_t k) {
        return static_cast<size_t>(list[k]);
    };
    for (size_t k = 0; k < n_pair; ++k) {
        x[k] = std::exp(x[k] - m);
        if (problem.is_positive(k)) {
            ++count[at(problem.label, at(problem.first, k))];
        } else {
            negative[at(problem.first, k)] += x[k];
        }
    }
    const auto n_particle = static_cast<double>(
        std::count_if(count.begin(), count.end(), [](int64_t c) { return c > 0; }));
    NaiveLoss result{0, std::vector<double>(problem.e.size())};
    for (size_t k = 0; k < n_pair; ++k) {
        if (!problem.is_positive(k)) continue;
        const size_t u = at(problem.first, k);
        const double weight = 1 / n_particle / static_cast<double>(count[at(problem.label, u)]);
        const double sum = x[k] + negative[u];
        result.loss -= weight * std::log(x[k] / sum);
        dx[k] = -weight * negative[u] / (x[k] * sum);
        d_negative[u] += weight / sum;
    }
    std::vector<double> slope(2 * n);
    for (size_t k = 0; k < n_pair; ++k) {
        if (!problem.is_positive(k)) dx[k] = d_negative[at(problem.first, k)];
        naive_similarity(problem, k, &slope);
        for (size_t c = 0; c < n; ++c) {
            result.gradient[at(problem.first, k) * n + c] += dx[k] * x[k] * slope[c];
            result.gradient[at(problem.second, k) * n + c] += dx[k] * x[k] * slope[n + c];
        }
    }
    return result;
}

/// Rows of an embedding with guards behind each: NaN marks what the kernels must not write.
template <class T>
struct EmbeddingBox {
    EmbeddingBox(int64_t n_point, int64_t n_channel, int64_t offset = 0)
        : n_channel_(n_channel),
          n_point_(n_point),
          stride_(round_up(n_channel, lane_count)),
          offset_(offset),
          data_(n_point * stride_ + offset + lane_count) {}
    Embedding<T> view() { return {data_.data() + offset_, {n_point_, n_channel_}, {stride_, 1}}; }
    Embedding<const T> input() { return view(); }
    void fill(const std::vector<double>& values) {
        for (int64_t i = 0; i < n_point_; ++i)
            for (int64_t c = 0; c < n_channel_; ++c)
                view()(i, c) = static_cast<T>(values[static_cast<size_t>(i * n_channel_ + c)]);
    }
    std::vector<double> values() {
        std::vector<double> list;
        for (int64_t i = 0; i < n_point_; ++i)
            for (int64_t c = 0; c < n_channel_; ++c)
                list.push_back(static_cast<double>(view()(i, c)));
        return list;
    }

private:
    int64_t n_channel_, n_point_, stride_, offset_;
    Buffer<T> data_;
};

/// The pieces of the kernel put together, as one rank does it.
template <class T>
struct PairRun {
    Buffer<T> weight, negative, slope;
    Buffer<double> losses;
    double loss = 0;
    T m = 0;
    std::vector<double> gradient;

    PairSums<T> sums() { return {weight.data(), negative.data(), slope.data()}; }
};

struct PairOptions {
    bool both_sides = true;  ///< at once; needs symmetric pairs
    bool exact_m = true;     ///< the largest t, or its bound
    int64_t offset = 0;      ///< of embeddings in memory
};

template <class T>
PairRun<T> run_pairs(const Queue& queue, const PairProblem& problem, PairOptions options = {}) {
    const int64_t n = problem.n_point;
    const PairTable table(n, problem.label, problem.first, problem.second);
    const PairRows rows = table.rows();
    EmbeddingBox<T> raw(n, problem.n_channel, options.offset),
        e(n, problem.n_channel, options.offset), de(n, problem.n_channel, options.offset);
    raw.fill(problem.e);
    e.fill(problem.e);
    const bool is_cosine = problem.similarity.likeness == Likeness::cosine;
    if (is_cosine) normalize<T>(queue, raw.input(), e.view());

    PairRun<T> run{Buffer<T>(n), Buffer<T>(n), Buffer<T>(n), Buffer<double>(n), 0, 0, {}};
    std::vector<int64_t> counts(static_cast<size_t>(problem.n_label()));
    count_positive(rows, problem.label, counts);
    pair_weights<T>(counts, problem.label, {run.weight.data(), static_cast<size_t>(n)});
    run.m = options.exact_m ? largest_similarity<T>(queue, problem.similarity, e.input(), rows)
                            : static_cast<T>(similarity_bound(problem.similarity));
    pair_sums<T>(queue, problem.similarity, e.input(), rows, run.m, run.sums(), run.losses.data());
    run.loss = sum_in_order(run.losses.data(), n);
    const auto add = [&](const PairRows& of, PairSide side) {
        pair_gradient<T>(queue, problem.similarity, e.input(), of, side, run.m, run.sums(),
                         de.view());
    };
    if (options.both_sides) {
        add(rows, PairSide::both);
    } else {
        const PairTable reversed(n, problem.label, problem.second, problem.first);
        add(rows, PairSide::first);
        add(reversed.rows(), PairSide::second);
    }
    if (is_cosine) normalize_backward<T>(queue, raw.input(), e.input(), de.input(), de.view());
    run.gradient = de.values();
    return run;
}

/// |got - want| <= bound times the largest |want|.
inline void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                        double bound) {
    double largest = 0;
    for (double value : want) largest = std::max(largest, std::abs(value));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(got[i] - want[i]);
        ASSERT_TRUE(error <= bound * largest)
            << "number " << i << ": got " << got[i] << ", expected " << want[i] << ", "
            << error / (bound * largest) << " times the bound";
    }
}

}  // namespace surrogate::kernels::losses::test
