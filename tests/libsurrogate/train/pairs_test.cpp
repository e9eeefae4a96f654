// SPDX-License-Identifier: Apache-2.0
// Pairs of points and their loss, compared with plain loops over all points and with PyTorch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <surrogate/surrogate.hpp>
#include <tuple>
#include <vector>

#include "kernels/losses/pair_loss.hpp"
#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/train/pair_loss.hpp"
#include "libsurrogate/src/train/plane_tree.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::test {
namespace {

using impl::PlaneTree;
using impl::SampleOutcome;
using Pair = std::pair<int32_t, int32_t>;

kernels::Queue queue(int n_thread, kernels::Backend backend = kernels::Backend::simd) {
    return {backend, kernels::best_vector_level(), n_thread};
}

/// Hits of a sample in the order of their indices.
struct Hits {
    std::vector<double> x, y, weight;
    std::vector<int64_t> id, cloud;
    int32_t n() const { return static_cast<int32_t>(x.size()); }
    double square(int32_t i, int32_t j) const {
        const auto a = static_cast<size_t>(i), b = static_cast<size_t>(j);
        return (x[a] - x[b]) * (x[a] - x[b]) + (y[a] - y[b]) * (y[a] - y[b]);
    }
    bool is_same_particle(int32_t i, int32_t j) const {
        const auto a = static_cast<size_t>(i), b = static_cast<size_t>(j);
        return cloud[a] == cloud[b] && id[a] == id[b] && id[a] != -100;
    }
    bool is_positive(int32_t i, int32_t j) const {
        return is_same_particle(i, j) && has_label(i) && has_label(j);
    }
    bool has_label(int32_t i) const {
        return id[static_cast<size_t>(i)] != -100 && weight[static_cast<size_t>(i)] > 0;
    }
};

/// n hits in `n_cloud` clouds, of about n / 4 particles; a seventh has no particle.
Hits hits_of(int32_t n, int64_t n_cloud) {
    Hits hits;
    for (int i = 0; i < n; ++i) {
        hits.x.push_back(2.5 * std::sin(1.3 * i + 0.2));
        hits.y.push_back(2 * std::sin(2.1 * i + 0.5));
        hits.id.push_back(i % 7 == 6 ? -100 : (int64_t{i} * i) % std::max(1, n / 4 + 2));
        hits.weight.push_back(i % 5 == 3 ? 0 : 1);
        hits.cloud.push_back(i * 31 % 17 % n_cloud);
    }
    return hits;
}

/// The listed pairs by the words of the definition, for indices of hits.
std::set<Pair> naive_pairs(const Hits& hits, double radius, size_t n_neighbor) {
    const int32_t n = hits.n();
    std::set<Pair> near, listed;
    for (int32_t i = 0; i < n; ++i) {
        std::vector<std::pair<double, int32_t>> found;
        for (int32_t j = 0; j < n; ++j)
            if (i != j &&
                hits.cloud[static_cast<size_t>(i)] == hits.cloud[static_cast<size_t>(j)] &&
                hits.square(i, j) < radius * radius)
                found.emplace_back(hits.square(i, j), j);
        std::sort(found.begin(), found.end());
        found.resize(std::min(found.size(), n_neighbor));
        for (const auto& [square, j] : found) near.insert(Pair(i, j)), near.insert(Pair(j, i));
    }
    const auto add = [&](int32_t i, int32_t j) {
        if (i != j) listed.insert(Pair(i, j)), listed.insert(Pair(j, i));
    };
    for (int32_t i = 0; i < n; ++i)
        for (int32_t j = 0; j < n; ++j) {
            if (i == j || !hits.is_same_particle(i, j)) continue;  // i has another hit j
            add(i, j);
            for (int32_t v = 0; v < n; ++v) {
                if (near.contains({i, v})) add(i, v);
                if (near.contains({j, v})) add(i, v);
            }
        }
    return listed;
}

/// The hits, cloud by cloud, as the pairs read them.
struct SortedHits {
    explicit SortedHits(const Hits& of) : hits(of), hit(hits.x.size()) {
        std::iota(hit.begin(), hit.end(), 0);
        const auto key = [&](int32_t i) {
            const auto at = static_cast<size_t>(i);
            return std::tuple(hits.cloud[at], hits.id[at], i);
        };
        std::sort(hit.begin(), hit.end(), [&](int32_t i, int32_t j) { return key(i) < key(j); });
        particle.resize(hit.size());
        label.resize(hit.size());
        for (size_t k = 0; k < hit.size(); ++k) {
            const auto i = static_cast<size_t>(hit[k]);
            if (k == 0 || !hits.is_same_particle(hit[k - 1], hit[k]))
                particle_begin.push_back(static_cast<int64_t>(k));
            particle[i] = static_cast<int32_t>(particle_begin.size()) - 1;
            label[i] = hits.has_label(hit[k]) ? particle[i] : -1;
        }
        particle_begin.push_back(hits.n());
        for (int64_t c = 0; c <= hits.cloud.back() + 1; ++c)
            cloud_begin.push_back(std::lower_bound(hits.cloud.begin(), hits.cloud.end(), c) -
                                  hits.cloud.begin());
    }
    impl::PairPoints points() const {
        return {cloud_begin, hits.x, hits.y, particle, particle_begin, hit, label};
    }
    Hits hits;
    std::vector<int64_t> cloud_begin, particle_begin;
    std::vector<int32_t> particle, hit, label;
};

std::vector<Pair> listed(const kernels::losses::PairRows& rows) {
    std::vector<Pair> pairs;
    for (int32_t u = 0; u < rows.n_row; ++u)
        for (int64_t k = rows.offset[u]; k < rows.offset[u + 1]; ++k)
            pairs.emplace_back(u, rows.point[k]);
    return pairs;
}

/// The pairs of which a point has a label, in the order of rows: in each row negative ones first.
std::vector<Pair> in_rows(const Hits& hits, const std::vector<Pair>& pairs) {
    std::vector<Pair> found;
    for (const auto& [u, v] : pairs)
        if (hits.has_label(u) || hits.has_label(v)) found.emplace_back(u, v);
    const auto key = [&](const Pair& pair) {
        return std::tuple(pair.first, hits.is_positive(pair.first, pair.second), pair.second);
    };
    std::sort(found.begin(), found.end(),
              [&](const Pair& a, const Pair& b) { return key(a) < key(b); });
    return found;
}

/// The random pairs of a generator, in both directions: per cloud 0.3 times as many as listed ones.
std::set<Pair> naive_random(const SortedHits& sorted, const std::set<Pair>& all,
                            const impl::Random& random) {
    std::set<Pair> drawn;
    int64_t i = 0;
    for (size_t c = 0; c + 1 < sorted.cloud_begin.size(); ++c) {
        const int64_t first = sorted.cloud_begin[c], end = sorted.cloud_begin[c + 1];
        const auto n_listed = std::count_if(all.begin(), all.end(), [&](const Pair& pair) {
            return pair.first >= first && pair.first < end;
        });
        for (int k = 0; k < static_cast<int>(0.3 * static_cast<double>(n_listed)); ++k) {
            const auto u = static_cast<int32_t>(first + random.below(end - first, i++));
            const auto v = static_cast<int32_t>(first + random.below(end - first, i++));
            drawn.insert(Pair(u, v)), drawn.insert(Pair(v, u));
        }
    }
    return drawn;
}

std::vector<int32_t> points_of(const std::vector<PlaneTree::Neighbor>& neighbors) {
    std::vector<int32_t> points;
    for (const auto& neighbor : neighbors) points.push_back(neighbor.point);
    return points;
}

TEST(PlaneTree, FindsTheNearestInTheOrderOfDistanceAndIndex) {
    // Points of a grid have many equal distances; every third point is equal to another one.
    std::vector<double> x, y;
    for (int i = 0; i < 300; ++i) {
        x.push_back(i % 3 == 2 ? x[static_cast<size_t>(i) - 1] : i * 7 % 23);
        y.push_back(i % 3 == 2 ? y[static_cast<size_t>(i) - 1] : i * 5 % 17);
    }
    PlaneTree tree;
    for (const size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{17}, x.size()}) {
        tree.build(std::span(x).first(n), std::span(y).first(n));
        for (const double radius : {0.5, 1.0, 2.5, 1e9}) {
            for (const size_t k : {1, 7, 400}) {
                for (size_t i = 0; i < n; ++i) {
                    std::vector<PlaneTree::Neighbor> expected, found(2 * k);
                    for (size_t j = 0; j < n; ++j) {
                        const double square =
                            (x[j] - x[i]) * (x[j] - x[i]) + (y[j] - y[i]) * (y[j] - y[i]);
                        if (j != i && square < radius * radius)
                            expected.push_back({square, static_cast<int32_t>(j)});
                    }
                    std::sort(expected.begin(), expected.end());
                    expected.resize(std::min(expected.size(), k));
                    found.resize(static_cast<size_t>(tree.find(static_cast<int32_t>(i), radius,
                                                               static_cast<int64_t>(k), found)));
                    std::sort(found.begin(), found.end());
                    ASSERT_EQ(points_of(found), points_of(expected))
                        << n << " " << radius << " " << k << " " << i;
                }
            }
        }
    }
}

/// Points on a line. The radius excludes distance 1 itself; with two neighbors per point, 1 and 3
/// are not neighbors.
TEST(Pairs, OfAFewPointsAreThoseOfTheDefinition) {
    Hits hits;
    hits.x = {0, 0.5, 0.75, 1.125, 1.25, 5, 6};
    hits.y.assign(7, 0);
    hits.id = {4, 4, -100, 9, 9, 2, 2};
    hits.weight.assign(7, 1);
    hits.cloud.assign(7, 0);
    const SortedHits sorted(hits);
    impl::Pairs pairs(1, 2, 0, queue(1));
    pairs.list(sorted.points());
    // Neighbors of 0: 1, 2. Of 1: 2, 0. Of 2: 1, 3. Of 3: 4, 2. Of 4: 3, 2. Of 5 and 6: none.
    const std::vector<Pair> expected = {{0, 2}, {0, 1},                  // particle 4
                                        {1, 2}, {1, 0},                  //
                                        {2, 0}, {2, 1}, {2, 3}, {2, 4},  // no particle
                                        {3, 2}, {3, 4},                  // particle 9
                                        {4, 2}, {4, 3},                  //
                                        {5, 6}, {6, 5}};                 // particle 2
    EXPECT_EQ(listed(pairs.listed()), expected);
    EXPECT_EQ(pairs.listed().n_positive(0), 1);
    EXPECT_EQ(pairs.listed().n_positive(2), 0);
}

TEST(Pairs, AreThoseOfLoopsOverAllPoints) {
    struct Case {
        double radius;
        size_t n_neighbor;
        int64_t n_cloud;
    };
    const uint64_t stream = uint64_t{6} << 32;
    for (const Case& c : {Case{1, 256, 1}, {1, 6, 1}, {0.2, 3, 1}, {1, 256, 4}, {1, 6, 4}}) {
        Hits hits = hits_of(230, c.n_cloud);
        std::sort(hits.cloud.begin(), hits.cloud.end());
        const SortedHits sorted(hits);
        const std::set<Pair> all = naive_pairs(hits, c.radius, c.n_neighbor);
        const std::set<Pair> drawn = naive_random(sorted, all, impl::Random(17, stream));
        std::vector<Pair> expected(all.begin(), all.end());
        const std::vector<Pair> expected_listed = in_rows(hits, expected);
        expected.insert(expected.end(), drawn.begin(), drawn.end());
        for (const int n_thread : {1, 3}) {
            impl::Pairs pairs(c.radius, static_cast<int64_t>(c.n_neighbor), 0.3, queue(n_thread));
            pairs.list(sorted.points());
            EXPECT_EQ(listed(pairs.listed()), expected_listed);
            pairs.add_random(sorted.points(), impl::Random(17, stream));
            EXPECT_EQ(listed(pairs.all()), in_rows(hits, expected));
            EXPECT_TRUE(kernels::losses::is_symmetric(pairs.all()));
            pairs.add_random(sorted.points(), impl::Random(18, stream));
            EXPECT_NE(listed(pairs.all()), in_rows(hits, expected));
            EXPECT_EQ(listed(pairs.listed()), expected_listed);
        }
    }
}

TEST(Pairs, MemoryOfALargerSampleServesASmallerOne) {
    const SortedHits large(hits_of(200, 1)), small(hits_of(90, 1));
    impl::Pairs pairs(1, 20, 0.1, queue(1)), fresh(1, 20, 0.1, queue(1));
    const auto make = [](impl::Pairs& of, const SortedHits& hits) {
        of.list(hits.points());
        of.add_random(hits.points(), impl::Random(1, 2));
    };
    make(pairs, large);
    const int64_t bytes = pairs.bytes();
    make(pairs, small);
    make(fresh, small);
    EXPECT_EQ(pairs.bytes(), bytes);
    EXPECT_EQ(listed(pairs.all()), listed(fresh.all()));
}

/// A domain of the hits, and a loss with its points.
struct HitLoss {
    HitLoss(const Hits& of, const impl::Recipe& recipe, const kernels::Queue& on)
        : hits(of), domain(make()), loss(make_pair_loss(recipe, outputs(), on)) {
        loss->set_points(dynamic_cast<const impl::PointDomain&>(*domain.get()->domain), {0, 1},
                         false);
        for (int i = 0; i < hits.n(); ++i)
            for (int c = 0; c < n_channel; ++c)
                embedding.push_back(0.8 * std::sin(0.9 * (3 * i + c) + 0.3));
        prediction.resize(embedding.size());
        for (size_t i = 0; i < static_cast<size_t>(hits.n()); ++i)
            for (size_t c = 0; c < n_channel; ++c)
                prediction[c * static_cast<size_t>(hits.n()) + i] = embedding[i * n_channel + c];
    }
    static constexpr int n_channel = 3;
    static constexpr double deviation = 2;  ///< of the outputs
    static std::vector<impl::FieldCard> outputs() {
        std::vector<impl::FieldCard> fields(n_channel);
        for (impl::FieldCard& field : fields) field.std = deviation;
        return fields;
    }
    Domain make() {
        for (size_t i = 0; i < hits.x.size(); ++i) {
            points.push_back(hits.x[i]);
            points.push_back(hits.y[i]);
        }
        surrogate_points given{matrix(points.data(), hits.n(), 2), nullptr, hits.cloud.data(),
                               nullptr};
        return Domain(context, given);
    }
    impl::Sample sample() const {
        return {prediction.data(), nullptr, hits.weight.data(), hits.n(), hits.id.data()};
    }
    double value(std::optional<int64_t> number = {}) {
        loss->prepare(sample(), number);
        EXPECT_EQ(
            loss->measure(context.get()->context->comm(), sample(), hits.n(), SampleOutcome::good),
            SampleOutcome::good);
        return loss->value();
    }
    std::vector<double> gradient() const {
        std::vector<double> found(prediction.size());
        loss->gradient(sample(), found.data());
        return found;
    }

    Context context;
    Hits hits;
    std::vector<double> points, embedding, prediction;
    Domain domain;
    std::unique_ptr<impl::PairLoss> loss;
};

using kernels::losses::Likeness;

/// Results of the authors' loss and pairs in PyTorch, in double, for 60 hits.
struct Golden {
    Likeness similarity;
    int64_t n_neighbor;
    double value, sum;      ///< sum: of the absolute values of the gradient
    double gradient[2][3];  ///< with respect to the embeddings of points 2 and 13
};
const Golden golden[] = {
    {Likeness::l2_rbf,
     5,
     12.913602067534207,
     23.598478986806917,
     {{0.2721575795912312, 0.39992856895845164, 0.22504159053036515},
      {0.0003144854442077081, 5.1995110962325516e-05, -0.0002498440856566599}}},
    {Likeness::l2_inverse,
     5,
     10.561770950043213,
     22.401359666076857,
     {{0.30249611220528033, 0.40320179286418184, 0.1987723951326842},
      {0.00046999696762542616, 9.0196812350833e-05, -0.00035786249229838394}}},
    {Likeness::cosine,
     256,
     23.28506268060234,
     23.01524549595686,
     {{0.0757756535249118, 0.07633993374678108, 0.019131674063327796},
      {0.005025822463439635, -0.0008511761459583761, -0.0060840216176033645}}}};

TEST(PairLosses, AreThoseOfPyTorch) {
    Hits hits = hits_of(60, 1);
    for (size_t i = 0; i < hits.id.size(); ++i)
        if (hits.id[i] != -100) hits.id[i] = static_cast<int64_t>(i * i % 17);
    for (const Golden& expected : golden) {
        impl::Recipe recipe;
        recipe.pair_neighbors = expected.n_neighbor;
        recipe.similarity.likeness = expected.similarity;
        for (const auto backend : {kernels::Backend::ref, kernels::Backend::simd}) {
            const double tolerance = backend == kernels::Backend::ref ? 1e-13 : 2e-5;
            HitLoss run(hits, recipe, queue(2, backend));
            EXPECT_NEAR(run.value(), expected.value, tolerance * expected.value);
            EXPECT_TRUE(std::isnan(run.loss->error(0)));
            const std::vector<double> gradient = run.gradient();
            double sum = 0;
            for (const double g : gradient) sum += std::abs(g) / HitLoss::deviation;
            EXPECT_NEAR(sum, expected.sum, tolerance * expected.sum);
            for (const auto& [row, point] : {std::pair(0, 2), std::pair(1, 13)})
                for (int c = 0; c < 3; ++c)
                    EXPECT_NEAR(gradient[static_cast<size_t>(c * 60 + point)] / HitLoss::deviation,
                                expected.gradient[row][c], tolerance);
        }
    }
}

/// Central differences, with random pairs and in clouds that alternate.
TEST(PairLosses, GradientIsThatOfDifferences) {
    impl::Recipe recipe;
    recipe.pair_random = 0.5;
    HitLoss run(hits_of(80, 3), recipe, queue(1, kernels::Backend::ref));
    const double plain = run.value();
    EXPECT_NE(run.value(3), plain);
    const std::vector<double> gradient = run.gradient(), center = run.prediction;
    const auto direction = [](size_t i) { return std::sin(0.7 * static_cast<double>(i)); };
    const auto at = [&](double step) {
        for (size_t i = 0; i < center.size(); ++i)
            run.prediction[i] = center[i] + step * direction(i);
        return run.value(3);
    };
    double expected = 0;
    for (size_t i = 0; i < center.size(); ++i)
        expected += gradient[i] / HitLoss::deviation * direction(i);
    const double h = 1e-6, found = (at(h) - at(-h)) / (2 * h);
    EXPECT_NEAR(found, expected, 1e-6 * std::abs(expected));
}

TEST(PairLosses, FollowLabelsAndWeightsAndHaveTheSameBitsOnAnyThreads) {
    HitLoss run(hits_of(150, 2), {}, queue(1)), threads(hits_of(150, 2), {}, queue(3));
    const double before = run.value(5);
    EXPECT_EQ(threads.value(5), before);
    EXPECT_EQ(threads.gradient(), run.gradient());
    EXPECT_EQ(run.value(5), before);
    EXPECT_NE(run.value(6), before);
    run.hits.weight[3] = 1;
    const double with_weight = run.value(5);
    EXPECT_NE(with_weight, before);
    run.hits.id[6] = 0;
    EXPECT_NE(run.value(5), with_weight);
    run.hits.weight[3] = 0;
    run.hits.id[6] = -100;
    EXPECT_EQ(run.value(5), before);
}

TEST(PairLosses, AreUndefinedWithoutTwoPointsOfAParticle) {
    Hits hits = hits_of(30, 1);
    for (size_t i = 0; i < hits.id.size(); ++i) hits.id[i] = static_cast<int64_t>(i);
    HitLoss run(hits, {}, queue(1));
    for (int i = 0; i < 2; ++i) {
        const Refusal found = refusal([&] { run.value(); });
        EXPECT_EQ(found.status, kernels::Status::not_finite);
        EXPECT_TRUE(found.says("no particle has two points of weight 1")) << found.text;
        run.hits.id[4] = run.hits.id[8] = 99;  // but point 8 has weight 0
    }
    run.hits.weight[8] = 1;
    EXPECT_GT(run.value(), 0);
}

}  // namespace
}  // namespace surrogate::test
