// SPDX-License-Identifier: Apache-2.0
// FLARE with weights of points on any ranks: equal weights, weights 0, repeated points, gradients,
// errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/libsurrogate/flare/flare_gradients.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using Weight = std::function<double(int64_t row)>;

Model weighted_model(const Context& context, const std::string& name) {
    ModelParts<float> parts(stored_case("flare/" + name));
    parts.card["network"]["point_weights"] = true;
    return Model(context, parts.card.dump(), parts.tensors());
}

std::vector<double> weights_of(const std::vector<int64_t>& rows, const Weight& weight) {
    std::vector<double> weights;
    for (const int64_t row : rows) weights.push_back(weight(row));
    if (weights.empty()) weights.reserve(1);  // not NULL, although a rank has no points
    return weights;
}

double uneven(int64_t row) {
    return 1e-3 + std::abs(std::sin(1.3 * static_cast<double>(row)));
}

/// Every third point has weight 0.
double with_zeros(int64_t row) {
    return row % 3 == 1 ? 0 : uneven(row);
}

const GradientWay fast{.precision = "fp32", .queue = simd()};
const GradientWay exact{.precision = "fp32",
                        .reproducible = true,
                        .queue = simd(),
                        .order = impl::GradientOrder::exact};

class FlareWeights : public testing::TestWithParam<std::string> {
protected:
    /// The results of all ranks, in the order of rows.
    std::vector<double> by_row(const FlareGradients& own, const std::vector<double>& values) const {
        std::vector<int64_t> rows;
        for (int64_t i = 0; i < own.n(); ++i) rows.push_back(own.row(i));
        const std::vector<int64_t> all_rows = gathered(rows, world);
        const std::vector<double> all = gathered(values, world);
        std::vector<size_t> order(all_rows.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::sort(order, {}, [&](size_t i) { return all_rows[i]; });
        std::vector<double> sorted;
        const size_t n_channel = all_rows.empty() ? 0 : all.size() / all_rows.size();
        for (const size_t i : order)
            sorted.insert(sorted.end(), all.begin() + static_cast<ptrdiff_t>(i * n_channel),
                          all.begin() + static_cast<ptrdiff_t>((i + 1) * n_channel));
        return sorted;
    }
    std::vector<double> predictions(const Model& of, const std::vector<int64_t>& rows,
                                    const GradientWay& way, const Weight& weight) const {
        FlareGradients own(context, of, rows, way,
                           weight ? weights_of(rows, weight) : std::vector<double>());
        EXPECT_TRUE(own.evaluate());
        EXPECT_EQ(own.prediction_without_gradients(way), own.y);
        return by_row(own, own.y);
    }
    /// More than two chunks of the reproducible mode.
    static constexpr int64_t n_point = 2100;

    const Context context = mpi_context(world), self;
    const Model model = weighted_model(context, GetParam());
    const Model plain{context, stored_case("flare/" + GetParam())};
};

TEST_P(FlareWeights, EqualOnesHaveTheBitsOfNone) {
    const auto rows = own_rows("scattered", n_point, world);
    for (const GradientWay& way : {fast, exact, GradientWay{}}) {
        const auto want = predictions(plain, rows, way, {});
        EXPECT_EQ(predictions(model, rows, way, [](int64_t) { return 0.37; }), want);
        // A domain may have weights for other purposes.
        EXPECT_EQ(predictions(plain, rows, way, uneven), want);
        EXPECT_NE(predictions(model, rows, way, uneven), want);
    }
}

/// A point of weight 3 counts as three points. Copies have other ids and equal values.
TEST_P(FlareWeights, CountRepeatedPoints) {
    const int64_t n = 50;
    const auto times = [](int64_t row) { return 1 + row % 3; };
    std::vector<int64_t> rows = own_rows("scattered", n, world), copies;
    for (const int64_t row : rows)
        for (int64_t i = 0; i < times(row); ++i) copies.push_back(row + i * n);
    const auto as_row = [&](FlareGradients& own) {
        for (int64_t i = 0; i < own.n(); ++i)
            for (int64_t c = 0; c < own.n_in(); ++c)
                own.x[static_cast<size_t>(i * own.n_in() + c)] =
                    std::sin(static_cast<double>(own.row(i) % n) + static_cast<double>(c));
    };
    for (const bool reproducible : {false, true}) {
        const GradientWay way{.reproducible = reproducible};
        FlareGradients weighted(context, model, rows, way, weights_of(rows, [&](int64_t row) {
                                    return 0.1 * static_cast<double>(times(row));
                                }));
        FlareGradients repeated(context, plain, copies, way);
        as_row(weighted);
        as_row(repeated);
        ASSERT_TRUE(weighted.evaluate());
        ASSERT_TRUE(repeated.evaluate());
        const auto want = by_row(repeated, repeated.y), got = by_row(weighted, weighted.y);
        for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-11);
    }
}

TEST_P(FlareWeights, OfZeroDoNotInfluenceOthers) {
    // Rows of weight 0 lie between the others, or behind them.
    const auto is_probe = [](int64_t row) { return row % 3 == 1 || row >= n_point - 600; };
    const auto rows = own_rows("scattered", n_point, world);
    std::vector<int64_t> kept, probes;
    for (const int64_t row : rows) (is_probe(row) ? probes : kept).push_back(row);
    const auto among = [&](const GradientWay& way, const std::vector<int64_t>& all) {
        FlareGradients own(context, model, all, way, weights_of(all, [&](int64_t row) {
                               return is_probe(row) ? 0 : uneven(row);
                           }));
        for (int64_t i = 0; i < own.n(); ++i)
            for (int64_t c = 0; is_probe(own.row(i)) && c < own.n_in(); ++c)
                own.x[static_cast<size_t>(i * own.n_in() + c)] *= 50;
        EXPECT_TRUE(own.evaluate());
        const auto y = by_row(own, own.y);
        std::vector<double> of_kept;
        for (int64_t row = 0; row < n_point; ++row)
            for (int64_t c = 0; !is_probe(row) && c < own.n_out(); ++c)
                of_kept.push_back(y[static_cast<size_t>(row * own.n_out() + c)]);
        return of_kept;
    };
    std::vector<int64_t> probes_last = kept;
    probes_last.insert(probes_last.end(), probes.begin(), probes.end());
    EXPECT_EQ(among(fast, probes_last), predictions(model, kept, fast, uneven));
    const auto alone = predictions(model, kept, exact, uneven);
    EXPECT_EQ(among(exact, probes_last), alone);
    EXPECT_EQ(among(exact, rows), alone);
}

TEST_P(FlareWeights, HaveTheSameBitsOnAnyRanks) {
    const auto rows = own_rows("scattered", n_point, world);
    std::vector<int64_t> all(static_cast<size_t>(n_point));
    std::iota(all.begin(), all.end(), int64_t{0});
    const Model alone = weighted_model(self, GetParam());
    FlareGradients one(self, alone, all, exact, weights_of(all, with_zeros));
    ASSERT_TRUE(one.run());
    for (const bool saves_less : {false, true}) {
        GradientWay way = exact;
        way.saves_less = saves_less;
        FlareGradients own(context, model, rows, way, weights_of(rows, with_zeros));
        ASSERT_TRUE(own.run());
        EXPECT_EQ(by_row(own, own.y), one.y);
        EXPECT_EQ(by_row(own, own.dx), one.dx);
        EXPECT_EQ(own.total(), one.total());
    }
}

TEST_P(FlareWeights, HaveTheirSlopes) {
    const auto rows = own_rows("scattered", 70, world);
    for (const bool saves_less : {false, true}) {
        FlareGradients own(context, model, rows, {.saves_less = saves_less},
                           weights_of(rows, with_zeros));
        ASSERT_TRUE(own.run());
        const auto value = [&] {
            own.evaluate();
            return context.reduce(SURROGATE_SUM, std::inner_product(own.dy.begin(), own.dy.end(),
                                                                    own.y.begin(), 0.0));
        };
        const auto direction = [](size_t i) { return std::sin(0.7 * static_cast<double>(i)); };
        impl::MasterWeights& weights = *model.get()->model->weights();
        const std::vector<double> center(weights.precise().begin(), weights.precise().end());
        const std::vector<double> x = own.x, dx = own.dx;
        double of_weights = 0, of_inputs = 0;
        for (size_t i = 0; i < own.sums.total().size(); ++i)
            of_weights += own.sums.total()[i] * direction(i);
        for (size_t i = 0; i < x.size(); ++i) of_inputs += dx[i] * direction(i);
        of_inputs = context.reduce(SURROGATE_SUM, of_inputs);
        const double h = 1e-5;
        const auto at_weights = [&](double step) {
            for (const auto& entry : weights.entries())
                for (int64_t j = entry.first; j < entry.first + entry.size; ++j)
                    weights.precise()[static_cast<size_t>(j)] =
                        center[static_cast<size_t>(j)] + step * direction(static_cast<size_t>(j));
            weights.refresh();
            return value();
        };
        const double found = (at_weights(h) - at_weights(-h)) / (2 * h);
        at_weights(0);
        EXPECT_NEAR(found, of_weights, 1e-6 * std::abs(of_weights));
        const auto at_inputs = [&](double step) {
            for (size_t i = 0; i < x.size(); ++i) own.x[i] = x[i] + step * direction(i);
            return value();
        };
        const double found_inputs = (at_inputs(h) - at_inputs(-h)) / (2 * h);
        EXPECT_NEAR(found_inputs, of_inputs, 1e-6 * std::abs(of_inputs));
    }
}

INSTANTIATE_TEST_SUITE_P(Files, FlareWeights,
                         testing::Values("tiny", "tiny_options", "ablation_latent_blocks"),
                         [](const auto& name) { return name.param; });

// ---- plans ----

/// A plan of the bare network tiny on points of this rank, whose row i has id i.
struct WeightedPlan {
    WeightedPlan(const Context& context, const Model& model, const std::vector<int64_t>& rows,
                 const double* weight, const int64_t* cloud = nullptr)
        : ids(rows),
          domain(context, points(weight, cloud)),
          plan(model, domain, {{"reproducible", "true"}}) {}

    surrogate_points points(const double* weight, const int64_t* cloud = nullptr) {
        return {matrix(&nothing, std::ssize(ids), 0), ids.data(), cloud, weight};
    }
    std::vector<double> run(const Model& model) {
        const auto n = std::ssize(ids);
        const int64_t n_in = model.get()->model->network().inputs().front().n_channel;
        const int64_t n_out = model.get()->model->network().outputs().front().n_channel;
        std::vector<double> x(static_cast<size_t>(n * n_in)), y(static_cast<size_t>(n * n_out));
        for (size_t i = 0; i < x.size(); ++i)
            x[i] = std::sin(static_cast<double>(ids[i / static_cast<size_t>(n_in)]) +
                            static_cast<double>(i % static_cast<size_t>(n_in)));
        plan.run_network({{"x", matrix(x.data(), n, n_in)}}, {{"y", matrix(y.data(), n, n_out)}});
        return y;
    }

    const double nothing = 0;
    std::vector<int64_t> ids;
    Domain domain;
    Plan plan;
};

TEST(FlareWeightedPlan, FollowsWeightsThatChange) {
    const Context context = mpi_context(world);
    const Model model = weighted_model(context, "tiny");
    const auto rows = own_rows("contiguous", 40, world);
    const auto first = weights_of(rows, uneven), second = weights_of(rows, with_zeros);
    WeightedPlan moved(context, model, rows, first.data()),
        other(context, model, rows, second.data());
    const auto before = moved.run(model);
    moved.domain.update_points(moved.points(second.data()));
    const auto after = moved.run(model);
    EXPECT_EQ(after, other.run(model));
    EXPECT_NE(after, before);
}

TEST(FlareWeightedPlan, KeepsTheWeightsOfCloudsApart) {
    const Context context = mpi_context(world), self;
    const Model model = weighted_model(context, "tiny"), alone = weighted_model(self, "tiny");
    const auto rows = own_rows("scattered", 90, world);
    // Cloud 0 has equal weights, cloud 1 small ones, cloud 2 zeros among others.
    const auto weight = [](int64_t row) {
        return row % 3 == 0 ? 7 : row % 3 == 1 ? 1e-6 * uneven(row) : with_zeros(row / 3);
    };
    std::vector<int64_t> clouds;
    for (const int64_t row : rows) clouds.push_back(row % 3);
    const auto weights = weights_of(rows, weight);
    WeightedPlan all(context, model, rows, weights.data(), clouds.data());
    const auto found = all.run(model);
    const size_t n_out = rows.empty() ? 0 : found.size() / rows.size();
    for (int64_t cloud = 0; cloud < 3; ++cloud) {
        std::vector<int64_t> members;
        for (int64_t row = cloud; row < 90; row += 3) members.push_back(row);
        const auto own = weights_of(members, weight);
        WeightedPlan one(self, alone, members, own.data());
        const auto want = one.run(alone);
        for (size_t i = 0; i < rows.size(); ++i)
            for (size_t c = 0; c < n_out && rows[i] % 3 == cloud; ++c)
                EXPECT_EQ(found[i * n_out + c], want[static_cast<size_t>(rows[i] / 3) * n_out + c]);
    }
}

TEST(FlareWeightedPlan, RejectsWhatItCannotUse) {
    const Context context = mpi_context(world);
    const Model model = weighted_model(context, "tiny");
    const auto rows = own_rows("contiguous", 40, world);
    const std::vector<double> zeros(rows.size() + 1);
    const auto text = [&](const auto& work) -> std::string {
        try {
            work();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), SURROGATE_INVALID_ARGUMENT);
            return error.what();
        }
        return "";
    };
    EXPECT_NE(text([&] {
                  WeightedPlan(context, model, rows, nullptr);
              }).find("the points of the domain have no weights, expected one per point"),
              std::string::npos);
    EXPECT_NE(text([&] {
                  WeightedPlan(context, model, rows, zeros.data());
              }).find("all weights of the points are 0, expected one above 0"),
              std::string::npos);
    EXPECT_TRUE(ranks_still_talk(world));
    try {
        weighted_model(context, "lra_mean_sin");
        FAIL() << "a sequence has no weights";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("point_weights"), std::string::npos);
    }
}

}  // namespace
}  // namespace surrogate::test
