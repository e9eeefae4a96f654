// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sphere_attention_problem.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

class SphereAttentionOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereAttentionOn);

/// Errors of the scores (d products), of the weights and of the sums (n terms).
double bound(const NeighborhoodProblem& p, double score_size) {
    const double n = static_cast<double>(p.n_neighbor());
    const double d = static_cast<double>(p.heads.n_key_dim);
    return epsilon<float> * (4 * std::sqrt(n) + 2 * std::sqrt(d) * score_size) * 4;
}

template <class T>
void expect_answer(const NeighborhoodProblem& p, Tile<const T> y, double factor) {
    double size = 0;
    const std::vector<double> want = p.answer(size);
    const Tile<const double> view{
        want.data(), {p.heads.n_value_channel(), p.n_column}, {p.n_column, 1}};
    expect_close<T>(y, view, bound(p, size) * factor);
}

const std::vector<Heads> head_sizes = {{1, 1, 1},   {1, 7, 13},  {2, 3, 5},    {4, 8, 8},
                                       {3, 16, 17}, {1, 64, 32}, {1, 128, 128}};

TEST(SphereAttentionReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        const NeighborhoodProblem p(heads, 20, 7, 5, some_strips(7, 20, random), random);
        NeighborhoodMemory<double> memory(p);
        TileBox<double> y(TileBox<double>::output, heads.n_value_channel(), p.n_column);
        memory.run_row(Queue(Backend::ref, VectorLevel::scalar, 1), y.view());
        expect_answer<double>(p, y.view(), 1e-8);
    }
}

TEST_P(SphereAttentionOn, AgreesWithDoubleOnAwkwardRows) {
    auto random = generator();
    for (int64_t n_column : {12, 20, 31, 64, 90}) {
        for (const Heads& heads : head_sizes) {
            const NeighborhoodProblem p(heads, n_column, 3, 5, some_strips(3, n_column, random),
                                        random);
            NeighborhoodMemory<float> memory(p);
            TileBox<float> y(TileBox<float>::output, heads.n_value_channel(), n_column);
            memory.run_row(queue(), y.view());
            y.expect_kept_inside("y");
            expect_answer<float>(p, y.view(), 1);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
