// SPDX-License-Identifier: Apache-2.0
// The loss l1_w11 of grids on the sphere, alone and in a training.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/train/loss.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::SampleOutcome;

constexpr size_t n_output = 2;
constexpr double scales[n_output] = {2, 0.5};
const char* const partitions[] = {"contiguous", "uneven", "scattered"};

surrogate_domain_info grid_of(int64_t n_lat, int64_t n_lon) {
    surrogate_domain_info info{};
    info.grid = "equiangular";
    info.n_lat = n_lat;
    info.n_lon = n_lon;
    return info;
}

/// The points of this rank, in the order of the solver. All numbers follow from the index r in the
/// model's grid.
struct Points {
    explicit Points(const SphereBlock& block) {
        for (int64_t i = 0; i < block.n_lat(); ++i)
            for (int64_t j = 0; j < block.n_lon(); ++j) index.push_back(block.model_index(i, j));
        for (size_t o = 0; o < n_output; ++o) {
            const auto output = static_cast<double>(o);
            for (const int64_t at : index) {
                const auto r = static_cast<double>(at);
                prediction.push_back(3 * std::sin(1.3 * r + 0.6 + output));
                target.push_back(2 * std::cos(0.7 * r + 0.2 + 2 * output));
            }
        }
        for (const int64_t at : index)
            weight.push_back(at % 7 == 3 ? 0 : 1.5 + std::sin(2 * static_cast<double>(at)));
    }
    impl::Sample sample() const {
        return {prediction.data(), target.data(), weight.data(), std::ssize(index)};
    }
    size_t n() const { return index.size(); }

    std::vector<int64_t> index;
    std::vector<double> prediction, target, weight;
};

/// Loss and derivatives on the blocks of some ranks.
struct Case {
    Case(const Context& context, int64_t n_lat, int64_t n_lon, const SphereLayout& layout,
         int n_thread = 1)
        : block(grid_of(n_lat, n_lon), layout, context.rank(), context.size()),
          domain(context, block.sphere()),
          points(block),
          comm(context.get()->context->comm()),
          queue(kernels::Backend::simd, kernels::best_vector_level(), n_thread),
          derivatives(dynamic_cast<const impl::SphereDomain&>(*domain.get()->domain), n_output,
                      queue),
          loss(recipe(), outputs(), queue) {
        loss.set_derivatives(&derivatives);
        for (size_t o = 0; o < n_output; ++o) loss.set_scale(o, scales[o]);
    }
    static impl::Recipe recipe() {
        impl::Recipe recipe;
        recipe.loss = impl::LossKind::l1_w11;
        return recipe;
    }
    static std::vector<impl::FieldCard> outputs() {
        return {{"p", "", false, -1, false, 0, 1, -INFINITY, INFINITY},
                {"q", "", false, -1, false, 0, 1, -INFINITY, INFINITY}};
    }
    double value() {
        EXPECT_EQ(loss.measure(comm, points.sample(), domain.get()->domain->n_global(),
                               SampleOutcome::good),
                  SampleOutcome::good);
        return loss.value();
    }
    std::vector<double> gradient() const {
        std::vector<double> g(points.prediction.size());
        loss.gradient(points.sample(), g.data());
        return g;
    }

    SphereBlock block;
    Domain domain;
    Points points;
    impl::Communicator& comm;
    kernels::Queue queue;
    impl::SphereDerivatives derivatives;
    impl::FieldLoss loss;
};

/// Computed with torch.fft.fft2 and ifft2 in double precision, as the official code; gradients by
/// autograd.
struct Golden {
    int64_t n_lat, n_lon;
    double value;
    double square[n_output], wave[n_output];  ///< sums of g^2 and of g cos(r)
    int64_t at[4];
    double gradient[n_output][4];
};

const Golden golden[] = {
    {12,
     24,
     5.391046089415883,
     {0.000787620618865311, 0.014491340488779647},
     {0.01578362716667675, -0.023524942526252937},
     {0, 3, 144, 287},
     {{-0.0008506689340374628, -0.0005216631706254077, -0.0028323111384760736,
       -0.002948981840469509},
      {0.01452333107755533, -0.004026820517215099, 0.009777599146956601, -0.010553909139106449}}},
    {9,
     18,
     4.9136468707967715,
     {0.0013397391794247172, 0.02262293505396872},
     {-0.003640315042821858, -0.03761993559001028},
     {0, 3, 81, 161},
     {{0.0008239231057899027, -0.0012882463585400675, -0.0010539609024840008,
       -0.001433317252024131},
      {0.010048326101242353, -0.0030313657802302873, 0.001612430208679315, -0.012776847209802497}}},
    {8,
     15,
     4.614910350043871,
     {0.001298028124920142, 0.02631316270975079},
     {-0.0204519247737834, -0.03518579058857162},
     {0, 3, 60, 119},
     {{-0.0040165293780757, -0.0005945795837770061, 0.0034394756233371753, -0.0042076533651413655},
      {0.02163420643357345, -0.003694678482073802, -0.02247149630070548, 0.0005760884560294301}}}};

class SphereLoss : public testing::Test {
protected:
    const Context self, context = mpi_context(world);
};

TEST_F(SphereLoss, IsThatOfPyTorchOnAnyRanks) {
    for (const Golden& expected : golden) {
        for (const char* partition : partitions) {
            Case found(context, expected.n_lat, expected.n_lon,
                       {.name = "", .partition = partition});
            EXPECT_NEAR(found.value() / expected.value, 1, 1e-13) << partition;
            const std::vector<double> g = found.gradient();
            for (size_t o = 0; o < n_output; ++o) {
                double sums[2] = {};
                for (size_t i = 0; i < found.points.n(); ++i) {
                    const double slope = g[o * found.points.n() + i];
                    const int64_t r = found.points.index[i];
                    sums[0] += slope * slope;
                    sums[1] += slope * std::cos(static_cast<double>(r));
                    for (size_t k = 0; k < 4; ++k) {
                        if (expected.at[k] != r) continue;
                        EXPECT_NEAR(slope, expected.gradient[o][k], 1e-15) << k;
                    }
                }
                found.comm.all_reduce_sum(std::span(sums));
                EXPECT_NEAR(sums[0] / expected.square[o], 1, 1e-12);
                EXPECT_NEAR(sums[1] / expected.wave[o], 1, 1e-12);
            }
        }
    }
}

TEST_F(SphereLoss, HasTheSameBitsOnAnyRanksAndThreads) {
    Case one(self, 12, 24, {.name = ""}, 1);
    const double value = one.value();
    const std::vector<double> g = one.gradient();
    for (const char* partition : partitions) {
        for (const bool is_turned : {false, true}) {
            const SphereLayout layout{.name = "",
                                      .partition = partition,
                                      .south_first = is_turned,
                                      .shift = is_turned ? 5 : 0};
            Case many(context, 12, 24, layout, 3);
            EXPECT_EQ(many.value(), value) << partition;
            const std::vector<double> own = many.gradient();
            for (size_t o = 0; o < n_output; ++o)
                for (size_t i = 0; i < many.points.n(); ++i)
                    ASSERT_EQ(own[o * many.points.n() + i],
                              g[o * 288 + static_cast<size_t>(many.points.index[i])]);
        }
    }
}

/// The sum of the signs changes at zeros of the terms; a small step passes none.
TEST_F(SphereLoss, GradientIsThatOfDifferences) {
    Case here(context, 12, 24, {.name = "", .partition = "scattered"});
    here.value();
    const std::vector<double> g = here.gradient();
    const Points at = here.points;
    double along = 0;
    const auto direction = [&](size_t i) {
        return std::cos(0.3 * static_cast<double>(at.index[i % at.n()]));
    };
    for (size_t i = 0; i < g.size(); ++i) along += g[i] * direction(i);
    here.comm.all_reduce_sum(std::span(&along, 1));
    const auto moved = [&](double h) {
        for (size_t i = 0; i < g.size(); ++i)
            here.points.prediction[i] = at.prediction[i] + h * direction(i);
        return here.value();
    };
    EXPECT_NEAR(along / ((moved(1e-5) - moved(-1e-5)) / 2e-5), 1, 1e-8);
}

/// Errors that are constant along a direction have no derivative along it, without rounding.
TEST_F(SphereLoss, ConstantErrorsHaveTheLossL1AndTrapNothing) {
    for (const double error : {0.0, 0.3}) {
        Case found(context, 9, 18, {.name = "", .partition = "uneven"});
        for (size_t i = 0; i < found.points.prediction.size(); ++i) {
            found.points.target[i] = 1;
            found.points.prediction[i] = 1 + error;
        }
        const TrapGuard traps;
        const double e = 1 + error - 1;
        EXPECT_NEAR(found.value(), (e / scales[0] + e / scales[1]) / 2, 1e-15);
        double sum = 0;
        for (const double slope : found.gradient()) sum += slope;
        found.comm.all_reduce_sum(std::span(&sum, 1));
        EXPECT_NEAR(sum, error == 0 ? 0 : (1 / scales[0] + 1 / scales[1]) / 2, 1e-14);
    }
}

TEST_F(SphereLoss, BadRanksAreKnownToAll) {
    Case found(context, 9, 18, {.name = "", .partition = "scattered"});
    const int64_t n = 9 * 18;
    const bool is_last = context.rank() == context.size() - 1;
    EXPECT_EQ(found.loss.measure(found.comm, found.points.sample(), n,
                                 is_last ? SampleOutcome::failed : SampleOutcome::good),
              SampleOutcome::failed);
    Points bad = found.points;
    if (is_last && bad.n() > 0) bad.prediction[0] = NAN;
    EXPECT_EQ(found.loss.measure(found.comm, bad.sample(), n, SampleOutcome::good),
              SampleOutcome::not_finite);
    EXPECT_GT(found.value(), 0);
}

// ---- in a training ----

/// The small Transformer, which learns a wave. Weights of points: areas, 0 in one column.
class SphereLearner {
public:
    SphereLearner(const Context& context, const std::string& path, const SphereLayout& layout)
        : model_(context, path),
          run_(context, model_, layout,
               {{"gradients", "true"},
                {"reproducible", "true"},
                {"backend", "simd"},
                {"threads", "1"}}),
          target_(run_.out_block, 3),
          trainer_(run_.plan,
                   {{"loss", "l1_w11"}, {"w11_weight", "0.2"}, {"learning_rate", "1e-2"}}) {
        run_.fill(wave_inputs(model_));
        target_.fill(wave(3 * run_.out_block.n_model_point(), 0.2));
        run_.bind();
        for (int64_t c = 0; c < 3; ++c)
            trainer_.bind_target("v" + std::to_string(c), target_.channel(c));
        const Points points(run_.out_block);
        trainer_.set_point_weights(column(points.weight.data(), std::ssize(points.weight)));
        trainer_.set_scale("v0", 2);
    }
    Trainer& trainer() { return trainer_; }
    std::vector<double> losses(int n_step) {
        std::vector<double> list;
        for (int i = 0; i < n_step; ++i) list.push_back(trainer_.step().loss);
        return list;
    }

private:
    const Model model_;
    SphereRun run_;
    BlockFields<float> target_;
    Trainer trainer_;
};

TEST_F(SphereLoss, TrainsWithTheBitsOfOneRankAndTakesNoMemory) {
    const ModelOnDisk disk{small_transformer(), 3, 3};
    const std::vector<double> expected = SphereLearner(self, disk.path(), {.name = ""}).losses(5);
    EXPECT_LT(expected[4], expected[0]);
    for (const char* partition : partitions) {
        SphereLearner many(context, disk.path(), {.name = "", .partition = partition});
        EXPECT_EQ(many.losses(5), expected) << partition;
        const MemoryMeter meter;
        many.trainer().step();
        EXPECT_EQ(meter.n_allocation(), 0);
        EXPECT_GT(many.trainer().counter("bytes"), 0);
    }
}

}  // namespace
}  // namespace surrogate::test
