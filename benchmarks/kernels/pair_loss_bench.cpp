// SPDX-License-Identifier: Apache-2.0
// InfoNCE over 20 million symmetric pairs of 60,000 points with 12 channels, with the number of
// pairs per point of particles with 10 hits: value, and value with gradient, on every SIMD
// instruction set. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/pair_loss_bench. Before
// timing, results are compared with the reference in double on every 64th particle. Second points
// are at arbitrary indices, as in clouds whose points are permuted.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/losses/pair_loss.hpp"

namespace {

using namespace surrogate::kernels;
using namespace surrogate::kernels::losses;

constexpr int64_t n_hit = 10, n_neighbor = 166;

/// Particles of n_hit hits; all hits of a particle form pairs with n_neighbor other points.
struct Cloud {
    explicit Cloud(int64_t n_particle) : n_point(n_particle * n_hit) {
        std::mt19937 random(20240);
        std::vector<int32_t> place(static_cast<size_t>(n_point)), first, second;
        for (int64_t i = 0; i < n_point; ++i)
            place[static_cast<size_t>(i)] = static_cast<int32_t>(i);
        std::shuffle(place.begin(), place.end(), random);
        std::uniform_int_distribution<int64_t> any(0, n_point - 1);
        label.resize(place.size());
        for (int64_t p = 0; p < n_particle; ++p) {
            std::vector<int32_t> others;
            for (int64_t j = 0; j < n_neighbor; ++j) {
                const int64_t other = any(random);
                if (other / n_hit != p) others.push_back(place[static_cast<size_t>(other)]);
            }
            for (int64_t i = p * n_hit; i < (p + 1) * n_hit; ++i) {
                const int32_t u = place[static_cast<size_t>(i)];
                label[static_cast<size_t>(u)] = static_cast<int32_t>(p);
                for (int64_t j = p * n_hit; j < (p + 1) * n_hit; ++j) {
                    if (j == i) continue;
                    first.push_back(u);
                    second.push_back(place[static_cast<size_t>(j)]);
                }
                for (int32_t v : others) {
                    first.insert(first.end(), {u, v});
                    second.insert(second.end(), {v, u});
                }
            }
        }
        table = PairTable(n_point, label, first, second);
        std::vector<int64_t> counts(static_cast<size_t>(n_particle));
        count_positive(table.rows(), label, counts);
        weight.resize(label.size());
        pair_weights<double>(counts, label, weight);
        std::normal_distribution<float> normal;
        for (int64_t i = 0; i < n_point * n_channel; ++i) e.push_back(2 * normal(random));
    }

    static constexpr int64_t n_channel = 12;
    int64_t n_point;
    std::vector<int32_t> label;
    std::vector<float> e;
    std::vector<double> weight;
    PairTable table;
};

template <class T>
class Loss {
public:
    explicit Loss(const Cloud& cloud)
        : cloud_(cloud),
          n_(cloud.n_point),
          e_(n_ * lane_count),
          de_(n_ * lane_count),
          weight_(n_),
          negative_(n_),
          slope_(n_),
          losses_(n_) {
        for (int64_t i = 0; i < n_; ++i) {
            weight_[i] = static_cast<T>(cloud.weight[static_cast<size_t>(i)]);
            for (int64_t c = 0; c < Cloud::n_channel; ++c)
                e_[i * lane_count + c] = cloud.e[static_cast<size_t>(i * Cloud::n_channel + c)];
        }
    }
    double value(const Queue& queue) {
        pair_sums<T>(queue, {}, rows(e_), cloud_.table.rows(), m(), sums(), losses_.data());
        return sum_in_order(losses_.data(), n_);
    }
    double value_and_gradient(const Queue& queue) {
        const double loss = value(queue);
        std::fill(de_.begin(), de_.end(), T(0));
        pair_gradient<T>(queue, {}, rows(e_), cloud_.table.rows(), PairSide::both, m(), sums(),
                         rows(de_));
        return loss;
    }
    const Buffer<T>& gradient() const { return de_; }

private:
    T m() const { return static_cast<T>(similarity_bound({})); }
    Embedding<T> rows(Buffer<T>& of) {
        return {of.data(), {n_, Cloud::n_channel}, {lane_count, 1}};
    }
    PairSums<T> sums() { return {weight_.data(), negative_.data(), slope_.data()}; }

    const Cloud& cloud_;
    int64_t n_;
    Buffer<T> e_, de_, weight_, negative_, slope_;
    Buffer<double> losses_;
};

bool agrees(const Queue& queue) {
    const Cloud cloud(6000 / 64);
    Loss<float> loss(cloud);
    Loss<double> exact(cloud);
    const double got = loss.value_and_gradient(queue), want = exact.value_and_gradient(Queue());
    double largest = 0, error = 0;
    for (int64_t i = 0; i < exact.gradient().size(); ++i) {
        const double slope = exact.gradient()[i];
        error = std::max(error, std::abs(static_cast<double>(loss.gradient()[i]) - slope));
        largest = std::max(largest, std::abs(slope));
    }
    return std::abs(got - want) <= 1e-5 * want && error <= 1e-5 * largest;
}

void pair_loss(benchmark::State& state, double (Loss<float>::*pass)(const Queue&)) {
    const auto level = static_cast<VectorLevel>(state.range(1));
    if (level > best_vector_level()) {
        state.SkipWithError("not supported by this machine");
        return;
    }
    const Queue queue(Backend::simd, level, static_cast<int>(state.range(0)));
    if (!agrees(queue)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const Cloud cloud(6000);
    Loss<float> loss(cloud);
    for (auto _ : state) benchmark::DoNotOptimize((loss.*pass)(queue));
    state.SetLabel(name(level));
    state.counters["pairs/s"] = benchmark::Counter(static_cast<double>(cloud.table.rows().n_pair()),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

void levels(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"threads", "level"})->Unit(benchmark::kMillisecond)->UseRealTime();
    bench->MeasureProcessCPUTime();
    for (int threads : {1, 2}) {
        for (VectorLevel level : {VectorLevel::avx2, VectorLevel::avx512})
            bench->Args({threads, static_cast<int64_t>(level)});
    }
}

BENCHMARK_CAPTURE(pair_loss, value, &Loss<float>::value)->Apply(levels);
BENCHMARK_CAPTURE(pair_loss, gradient, &Loss<float>::value_and_gradient)->Apply(levels);

}  // namespace
