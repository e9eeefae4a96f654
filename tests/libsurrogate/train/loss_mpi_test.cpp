// SPDX-License-Identifier: Apache-2.0
// Losses of samples that are spread over ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/train/loss.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::LossKind;
using impl::SampleOutcome;

impl::FieldCard output(const char* name, double std) {
    return {name, "", false, -1, false, 0, std, -INFINITY, INFINITY};
}

impl::Recipe recipe_of(LossKind kind) {
    impl::Recipe recipe;
    recipe.loss = kind;
    return recipe;
}

constexpr LossKind all_kinds[] = {LossKind::relative_l2, LossKind::mse, LossKind::weighted_mse,
                                  LossKind::l1, LossKind::huber};

kernels::Queue queue(int n_thread) {
    return {kernels::Backend::simd, kernels::best_vector_level(), n_thread};
}

/// Rows of some rank of a sample with two outputs; all numbers follow from the row.
struct Rows {
    explicit Rows(std::vector<int64_t> own) : rows(std::move(own)) {
        for (int o = 0; o < 2; ++o) {
            for (const int64_t row : rows) {
                const auto r = static_cast<double>(row);
                target.push_back(std::sin(r + o) * (o == 0 ? 100 : 0.01));
                prediction.push_back(target.back() * (1 + 0.1 * std::cos(3 * r)) + 1e-3);
            }
        }
        for (const int64_t row : rows)
            weight.push_back(1.5 + std::sin(2.0 * static_cast<double>(row)));
    }
    impl::Sample sample(bool weighted) const {
        return {prediction.data(), target.data(), weighted ? weight.data() : nullptr,
                std::ssize(rows)};
    }
    std::vector<int64_t> rows;
    std::vector<double> prediction, target, weight;
};

class Losses : public testing::Test {
protected:
    static constexpr int64_t n = 2500;
    Context context = mpi_context(world);
    impl::Communicator& comm = context.get()->context->comm();
    const std::vector<impl::FieldCard> outputs = {output("p", 50), output("q", 0.02)};
    const Rows own{own_rows("scattered", n, world)};

    std::vector<int64_t> all_rows() const {
        std::vector<int64_t> rows;
        for (int64_t i = 0; i < n; ++i) rows.push_back(i);
        return rows;
    }
};

TEST_F(Losses, HaveTheSameBitsOnAnyRanksAndThreads) {
    const Rows all(all_rows());
    const auto alone = impl::self_communicator();
    for (const LossKind kind : all_kinds) {
        impl::FieldLoss one(recipe_of(kind), outputs, queue(1));
        ASSERT_EQ(one.measure(*alone, all.sample(true), n, SampleOutcome::good),
                  SampleOutcome::good);
        impl::FieldLoss many(recipe_of(kind), outputs, queue(3));
        ASSERT_EQ(many.measure(comm, own.sample(true), n, SampleOutcome::good),
                  SampleOutcome::good);
        EXPECT_EQ(one.value(), many.value());
        for (size_t o = 0; o < 2; ++o) EXPECT_EQ(one.error(o), many.error(o));
        std::vector<double> g(2 * n), own_g(own.prediction.size());
        one.gradient(all.sample(true), g.data());
        many.gradient(own.sample(true), own_g.data());
        for (size_t o = 0; o < 2; ++o) {
            for (size_t i = 0; i < own.rows.size(); ++i)
                ASSERT_EQ(own_g[o * own.rows.size() + i],
                          g[o * n + static_cast<size_t>(own.rows[i])]);
        }
    }
}

TEST_F(Losses, AreWhatTheFormulasSay) {
    const Rows all(all_rows());
    double e2 = 0, t2 = 0, normal = 0, weighted = 0, weights = 0;
    for (size_t o = 0; o < 2; ++o) {
        for (size_t i = 0; i < n; ++i) {
            const double e = all.prediction[o * n + i] - all.target[o * n + i], w = all.weight[i];
            const double scale = o == 0 ? 7 : 0.02;
            e2 += w * e * e;
            t2 += w * all.target[o * n + i] * all.target[o * n + i];
            normal += std::pow(e / outputs[o].std, 2);
            weighted += w * std::pow(e / scale, 2);
            weights += o == 0 ? w : 0;
        }
    }
    const auto value = [&](LossKind kind) {
        impl::FieldLoss loss(recipe_of(kind), outputs, queue(2));
        loss.set_scale(0, 7);
        EXPECT_EQ(loss.measure(comm, own.sample(true), n, SampleOutcome::good),
                  SampleOutcome::good);
        return loss.value();
    };
    EXPECT_NEAR(value(LossKind::relative_l2), std::sqrt(e2 / t2), 1e-12);
    EXPECT_NEAR(value(LossKind::mse) / (normal / (2 * n)), 1, 1e-12);
    EXPECT_NEAR(value(LossKind::weighted_mse) / (weighted / weights / 2), 1, 1e-12);
}

/// Values and derivatives of torch.nn.functional.l1_loss and huber_loss (delta = 0.5), weighted.
TEST_F(Losses, L1AndHuberAreThoseOfPyTorch) {
    const Rows all(all_rows());
    constexpr double delta = 0.5;
    for (const LossKind kind : {LossKind::l1, LossKind::huber}) {
        impl::Recipe recipe = recipe_of(kind);
        recipe.huber_delta = delta;
        impl::FieldLoss loss(recipe, outputs, queue(2));
        const double scales[] = {3, outputs[1].std};
        loss.set_scale(0, scales[0]);
        ASSERT_EQ(loss.measure(comm, own.sample(true), n, SampleOutcome::good),
                  SampleOutcome::good);
        double sum = 0, weights = 0;
        for (size_t i = 0; i < n; ++i) weights += all.weight[i];
        const auto error = [&](const Rows& rows, size_t o, size_t i) {
            const size_t at = o * rows.rows.size() + i;
            return (rows.prediction[at] - rows.target[at]) / scales[o];
        };
        int n_beyond = 0;
        for (size_t o = 0; o < 2; ++o) {
            for (size_t i = 0; i < n; ++i) {
                const double x = std::abs(error(all, o, i));
                const double rho = x < delta ? x * x / 2 : delta * (x - delta / 2);
                n_beyond += x > delta ? 1 : 0;
                sum += all.weight[i] * (kind == LossKind::l1 ? x : rho);
            }
        }
        ASSERT_GT(n_beyond, 100);
        EXPECT_NEAR(loss.value() / (sum / weights / 2), 1, 1e-12);
        std::vector<double> g(own.prediction.size());
        loss.gradient(own.sample(true), g.data());
        for (size_t o = 0; o < 2; ++o) {
            for (size_t i = 0; i < own.rows.size(); ++i) {
                const double x = error(own, o, i);
                const double slope =
                    kind == LossKind::l1 ? std::copysign(1.0, x) : std::clamp(x, -delta, delta);
                const double expected =
                    own.weight[i] * slope / scales[o] / weights / 2 * outputs[o].std;
                ASSERT_NEAR(g[o * own.rows.size() + i], expected, 1e-12 * std::abs(expected));
            }
        }
    }
}

TEST_F(Losses, GradientsAreThoseOfDifferences) {
    // l1 has no derivative where prediction and target agree; its formula is tested above.
    for (const LossKind kind :
         {LossKind::relative_l2, LossKind::mse, LossKind::weighted_mse, LossKind::huber}) {
        impl::FieldLoss loss(recipe_of(kind), outputs, queue(2));
        Rows rows = own;
        loss.measure(comm, rows.sample(true), n, SampleOutcome::good);
        std::vector<double> g(rows.prediction.size());
        loss.gradient(rows.sample(true), g.data());
        // Along a direction: all predictions move by h times it.
        double along = 0, scale = 1e-6;
        const auto moved = [&](double h) {
            Rows there = own;
            for (size_t i = 0; i < g.size(); ++i) {
                const size_t o = i / own.rows.size();
                const double d = std::cos(0.3 * static_cast<double>(own.rows[i % own.rows.size()]));
                there.prediction[i] += h * d * outputs[o].std;
            }
            loss.measure(comm, there.sample(true), n, SampleOutcome::good);
            return loss.value();
        };
        for (size_t i = 0; i < g.size(); ++i)
            along += g[i] * std::cos(0.3 * static_cast<double>(own.rows[i % own.rows.size()]));
        comm.all_reduce_sum(std::span(&along, 1));
        const double difference = (moved(scale) - moved(-scale)) / (2 * scale);
        EXPECT_NEAR(along / difference, 1, 1e-6) << static_cast<int>(kind);
    }
}

TEST_F(Losses, AgreeingPredictionsHaveNoGradientAndTrapNothing) {
    TrapGuard traps;
    for (const LossKind kind : all_kinds) {
        impl::FieldLoss loss(recipe_of(kind), outputs, queue(1));
        Rows same = own;
        same.prediction = same.target;
        EXPECT_EQ(loss.measure(comm, same.sample(false), n, SampleOutcome::good),
                  SampleOutcome::good);
        EXPECT_EQ(loss.value(), 0);
        std::vector<double> g(same.prediction.size(), NAN);
        loss.gradient(same.sample(false), g.data());
        for (const double value : g) ASSERT_EQ(value, 0);
    }
}

TEST_F(Losses, ZeroTargetsAreRefusedByRelativeOnes) {
    Rows zero = own;
    for (double& t : zero.target) t = 0;
    impl::FieldLoss loss(recipe_of(LossKind::relative_l2), outputs, queue(1));
    EXPECT_EQ(loss.measure(comm, zero.sample(false), n, SampleOutcome::good), SampleOutcome::good);
    const Refusal found = refusal([&] { loss.value(); });
    EXPECT_EQ(found.status, kernels::Status::not_finite);
    EXPECT_TRUE(found.says("target is zero everywhere")) << found.text;
}

TEST_F(Losses, TheWorstVerdictIsThatOfAllRanks) {
    impl::FieldLoss loss(recipe_of(LossKind::relative_l2), outputs, queue(1));
    const bool is_last = comm.rank() == comm.size() - 1;
    EXPECT_EQ(loss.measure(comm, own.sample(false), n,
                           is_last ? SampleOutcome::failed : SampleOutcome::good),
              SampleOutcome::failed);
    Rows bad = own;
    if (is_last && !bad.rows.empty()) bad.prediction[0] = NAN;
    EXPECT_EQ(loss.measure(comm, bad.sample(false), n, SampleOutcome::good),
              SampleOutcome::not_finite);
    EXPECT_EQ(loss.measure(comm, own.sample(false), n, SampleOutcome::good), SampleOutcome::good);
}

/// The official Darcy loss of two samples on 85 x 85 points.
TEST_F(Losses, GradientL2IsTheGoldenDarcyLoss) {
    const GoldenFile file(SURROGATE_TEST_DATA "/flare/darcy_loss.safetensors");
    const auto values = [&](const char* name) { return file.tensor(name).values; };
    const std::vector<double> prediction = values("check/input/pred"),
                              target = values("check/input/target"),
                              gradient = values("check/grad64/pred");
    constexpr int64_t n_side = 85, n_point = n_side * n_side;
    const std::vector<impl::FieldCard> field = {output("p", 1)};
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        const std::vector<int64_t> rows = own_rows(partition, n_point, world);
        const std::vector<double> x(rows.begin(), rows.end());
        const Domain domain(context, column(x.data(), std::ssize(rows)), rows.data());
        const auto& points = dynamic_cast<const impl::PointDomain&>(*domain.get()->domain);
        impl::LatticeLoss lattice(points, n_side, n_side, 1);
        impl::FieldLoss loss(recipe_of(LossKind::gradient_l2), field, queue(2));
        loss.set_lattice(&lattice);
        double mean = 0, worst = 0;
        for (int64_t s = 0; s < 2; ++s) {
            std::vector<double> p, t, g(rows.size());
            for (const int64_t row : rows) {
                p.push_back(prediction[static_cast<size_t>(s * n_point + row)]);
                t.push_back(target[static_cast<size_t>(s * n_point + row)]);
            }
            const impl::Sample sample{p.data(), t.data(), nullptr, std::ssize(rows)};
            ASSERT_EQ(loss.measure(comm, sample, n_point, SampleOutcome::good),
                      SampleOutcome::good);
            mean += loss.value() / 2;
            loss.gradient(sample, g.data());
            for (size_t i = 0; i < rows.size(); ++i) {
                const double golden = gradient[static_cast<size_t>(s * n_point + rows[i])];
                worst = std::max(worst, std::abs(g[i] / 2 - golden));
            }
        }
        EXPECT_NEAR(mean, values("check/output64/loss")[0], 1e-12);
        double largest = 0;
        for (const double value : gradient) largest = std::max(largest, std::abs(value));
        EXPECT_LE(worst / largest, 1e-7) << partition;  // stored in single precision
    }
}

}  // namespace
}  // namespace surrogate::test
