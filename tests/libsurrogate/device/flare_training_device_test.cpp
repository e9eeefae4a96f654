// SPDX-License-Identifier: Apache-2.0
// Training FLARE on one device, emulated or real: gradients and losses are equal to the host's.
#include <cmath>
#include <numeric>

#include "tests/libsurrogate/flare/flare_gradients.hpp"
#include "tests/libsurrogate/train/golden_training.hpp"
#include "tests/support/device_case.hpp"

namespace surrogate::test {
namespace {

class FlareTrainingOnDevice : public OnDevice {
protected:
    Context own_context() const { return device_context(GetParam(), impl::self_communicator()); }
};

/// Gradients of sum dy y, all weights in one vector. Narrow operands: the error allowed for a
/// prediction, and as much again for the backward pass.
TEST_P(FlareTrainingOnDevice, GradientsAreThoseOfTheHost) {
    for (const auto& [file, n] :
         {std::pair<std::string, int64_t>{"tiny_options", 50}, {"odd", 70}}) {
        const Model model(*context, SURROGATE_TEST_DATA "/flare/" + file + ".safetensors");
        std::vector<int64_t> rows(static_cast<size_t>(n));
        std::iota(rows.begin(), rows.end(), int64_t{0});
        FlareGradients host(*context, model, rows, {});
        ASSERT_TRUE(host.run());
        for (const std::string precision : {"fp32", "tf32", "bf16"}) {
            const double bound = precision == "fp32" ? 2e-5 : 2 * FlareCase(file).bound(precision);
            FlareGradients found(*context, model, rows,
                                 {.precision = precision,
                                  .queue = simd(),
                                  .order = impl::GradientOrder::single,
                                  .device = &context->get()->context->open_device({})});
            ASSERT_TRUE(found.run());
            EXPECT_LE(relative_l2(found.total(), host.total()), bound) << file << " " << precision;
            EXPECT_LE(relative_l2(found.dx, host.dx), bound) << file << " " << precision;
            const std::vector<double> again = found.total();
            ASSERT_TRUE(found.run());
            EXPECT_EQ(found.total(), again) << file << " " << precision;
        }
    }
}

TEST_P(FlareTrainingOnDevice, PredictionsAreThoseOfPlansWithoutGradients) {
    for (const char* file : {"tiny_options", "odd"}) {
        const FlareCase golden(file);
        const Model model(*context, golden.path);
        std::vector<int64_t> rows(static_cast<size_t>(golden.n));
        std::iota(rows.begin(), rows.end(), int64_t{0});
        const Domain domain = rows_domain(*context, rows);
        std::vector<float> x = golden.rows_of_x(rows);
        for (const char* precision : {"fp32", "bf16"}) {
            const auto predict = [&](const char* gradients) {
                Plan plan(
                    model, domain,
                    {{"backend", "cuda"}, {"precision", precision}, {"gradients", gradients}});
                std::vector<float> y(static_cast<size_t>(golden.n * golden.n_out), NAN);
                plan.run_network({{"x", matrix(x.data(), golden.n, golden.n_in)}},
                                 {{"y", matrix(y.data(), golden.n, golden.n_out)}});
                return y;
            };
            EXPECT_EQ(predict("true"), predict("false")) << file << " " << precision;
        }
    }
}

TEST_P(FlareTrainingOnDevice, ArraysOnTheDeviceAreRefusedByName) {
    GoldenRun run(own_context(), {}, GoldenRun::all_rows(), {{"backend", "cuda"}},
                  golden_settings());
    const DeviceArray<double> a(*device, run.a);
    const surrogate_array array = a.column(run.n());
    const Answer found = answer(surrogate_plan_bind_input(run.plan.get(), "a", "", &array));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    EXPECT_TRUE(found.says("without gradients")) << found;
}

TEST_P(FlareTrainingOnDevice, LossesFollowTheGoldenTrace) {
    const std::vector<double> losses = golden_training().tensor("check/trace64/loss").values;
    GoldenRun run(own_context(), {}, GoldenRun::all_rows(), {{"backend", "cuda"}},
                  golden_settings());
    for (int64_t j = 0; j < 5; ++j)
        EXPECT_NEAR(run.golden_step(j).loss, losses[static_cast<size_t>(j)], 1e-5) << j;
}

INSTANTIATE_TEST_SUITE_P(, FlareTrainingOnDevice, testing::Values(emulated_kind, real_kind),
                         name_of_device);

}  // namespace
}  // namespace surrogate::test
