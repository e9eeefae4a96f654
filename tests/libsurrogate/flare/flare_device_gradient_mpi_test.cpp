// SPDX-License-Identifier: Apache-2.0
// Gradients of FLARE on devices: equal to the published implementation's on any ranks, bitwise
// identical when repeated, failed ranks, memory and traffic; and trainings with them. Devices are
// emulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "libsurrogate/src/model/families.hpp"
#include "libsurrogate/src/model/flare/device_gradient_program.hpp"
#include "tests/libsurrogate/flare/flare_gradients.hpp"
#include "tests/libsurrogate/train/golden_training.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

double largest(const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
}

/// Collective.
GradientWay on_device(const Context& context, const std::string& precision = "fp32") {
    return {.precision = precision,
            .queue = simd(),
            .order = impl::GradientOrder::single,
            .device = &context.get()->context->open_device({})};
}

/// A model of a golden file, and gradients of the mean over its samples of |y - target| / |target|,
/// on this rank's rows.
struct Golden {
    Golden(const Context& of, const std::string& name, const char* partition,
           const GradientWay& way)
        : context(of),
          file(stored_case("flare/" + name)),
          model(context, stored_case("flare/" + name)),
          own(context, model, own_rows(partition, file.tensor("check/input/x").shape[1], world),
              way) {}

    std::vector<double> part(const std::vector<double>& all, int64_t n_channel) const {
        std::vector<double> rows;
        for (int64_t i = 0; i < own.n(); ++i)
            rows.insert(rows.end(), all.begin() + own.row(i) * n_channel,
                        all.begin() + (own.row(i) + 1) * n_channel);
        return rows;
    }

    bool run() {
        const GoldenTensor x = file.tensor("check/input/x");
        const GoldenTensor target = file.tensor("check/input/target");
        const int64_t n_sample = x.shape[0];
        own.sums.clear();
        dx.clear();
        for (int64_t sample = 0; sample < n_sample; ++sample) {
            own.x = part(x.part(sample), own.n_in());
            if (!own.evaluate()) return false;
            const std::vector<double> wanted = part(target.part(sample), own.n_out());
            double norms[2] = {0, 0};
            for (size_t i = 0; i < wanted.size(); ++i) {
                norms[0] += std::pow(own.y[i] - wanted[i], 2);
                norms[1] += std::pow(wanted[i], 2);
            }
            context.reduce(SURROGATE_SUM, 2, norms);
            const double scale = 1 / std::sqrt(norms[0] * norms[1]) / static_cast<double>(n_sample);
            for (size_t i = 0; i < wanted.size(); ++i) own.dy[i] = (own.y[i] - wanted[i]) * scale;
            if (!own.backward()) return false;
            dx.push_back(own.dx);
        }
        return own.reduce();
    }

    /// The largest error in the metric of the golden files: relative to the largest entry of a
    /// tensor and to a thousandth of the largest of all gradients.
    double error() const {
        const std::string prefix = "check/grad64/";
        double of_all = 0, worst = 0;
        for (const std::string& name : file.names())
            if (name.starts_with(prefix))
                of_all = std::max(of_all, largest(file.tensor(name).values));
        const auto compare = [&](const std::vector<double>& expected, double size,
                                 const double* values) {
            for (size_t i = 0; i < expected.size(); ++i) {
                const double err = std::abs(values[i] - expected[i]) / (size + 1e-3 * of_all);
                worst = err <= worst ? worst : err;
            }
        };
        for (const auto& entry : model.get()->model->weights()->entries()) {
            const std::vector<double> expected = file.tensor(prefix + entry.name).values;
            compare(expected, largest(expected), own.sums.total().data() + entry.first);
        }
        const GoldenTensor all = file.tensor(prefix + "input_x");
        for (size_t sample = 0; sample < dx.size(); ++sample)
            compare(part(all.part(static_cast<int64_t>(sample)), own.n_in()), largest(all.values),
                    dx[sample].data());
        return worst;
    }

    /// |g - g64| / |g64| of all weights as one vector.
    double relative_error() const {
        std::vector<double> found, expected;
        for (const auto& entry : model.get()->model->weights()->entries()) {
            const std::vector<double> one = file.tensor("check/grad64/" + entry.name).values;
            expected.insert(expected.end(), one.begin(), one.end());
            const double* const first = own.sums.total().data() + entry.first;
            found.insert(found.end(), first, first + entry.size);
        }
        return relative_l2(found, expected);
    }
    /// The least |y64 - target| / |y64| of a sample.
    double misfit() const {
        const GoldenTensor y = file.tensor("check/output64/y"),
                           target = file.tensor("check/input/target");
        double least = 1;
        for (int64_t sample = 0; sample < y.shape[0]; ++sample)
            least = std::min(least, relative_l2(target.part(sample), y.part(sample)));
        return least;
    }

    const Context& context;
    const GoldenFile file;
    const Model model;
    FlareGradients own;
    std::vector<std::vector<double>> dx;  // (n_sample)
};

const char* const files[] = {"tiny", "tiny_options", "layers", "odd", "mid"};

/// The bound of the host's gradients in single precision: five times the error of the published
/// implementation in it.
TEST(FlareDeviceGradient, InSingleIsThePublishedOne) {
    const Context context = ranks_context(false);
    for (const char* file : files) {
        Golden golden(context, file, "scattered", on_device(context));
        ASSERT_TRUE(golden.run()) << file;
        EXPECT_LE(golden.error(), 1e-4) << file;
    }
    for (const char* partition : {"contiguous", "uneven"}) {
        Golden golden(context, "tiny_options", partition, on_device(context));
        ASSERT_TRUE(golden.run());
        EXPECT_LE(golden.error(), 1e-4) << partition;
    }
}

/// All weights in one vector: entries that nearly cancel have no scale of their own. An error of
/// the predictions is an error of y - target, which is smaller than y; the backward pass then runs
/// through as many products again.
TEST(FlareDeviceGradient, OfNarrowOperandsIsWithinTheirRounding) {
    const Context context = ranks_context(false);
    for (const char* file : {"tiny", "tiny_options", "odd"}) {
        for (const char* precision : {"tf32", "fp16", "bf16"}) {
            Golden golden(context, file, "contiguous", on_device(context, precision));
            ASSERT_TRUE(golden.run()) << file;
            const double amplified = 1 + 1 / golden.misfit();
            EXPECT_LE(golden.relative_error(), 2 * amplified * FlareCase(file).bound(precision))
                << file << " " << precision;
            EXPECT_GT(golden.relative_error(), 1e-5) << "narrow operands round";
        }
    }
}

/// A network of one block with weights of its own.
std::string network_of(int64_t width, int64_t n_head, int64_t n_latent) {
    ModelWriter writer = writer_of(GoldenFile(stored_case("flare/tiny")));
    writer.tensors.clear();
    writer.card["network"].update({{"channel_dim", width},
                                   {"num_heads", n_head},
                                   {"num_latents", n_latent},
                                   {"num_blocks", 1},
                                   {"qk_norm", true}});
    int64_t number = 0;
    for (const impl::TensorSpec& spec :
         impl::required_tensors(impl::parse_card(writer.card.dump()), 1 << 20)) {
        int64_t n = 1;
        for (const int64_t size : spec.shape) n *= size;
        const double scale =
            spec.shape.size() > 1 ? 1 / std::sqrt(static_cast<double>(spec.shape.back())) : 0.2;
        const bool is_norm = spec.name.find("norm") != std::string::npos;
        const bool is_factor = is_norm && spec.name.ends_with("weight");
        std::vector<float> values;
        for (int64_t i = 0; i < n; ++i)
            values.push_back(static_cast<float>(
                (is_factor ? 1 : 0) + scale * std::sin(0.37 * static_cast<double>(++number))));
        writer.tensors.push_back(float_tensor(spec.name, spec.shape, values));
    }
    return written(writer, "network");
}

/// Heads of each kind of pass, more latents than a block of threads has, points in several slabs
/// and sums in several parts.
TEST(FlareDeviceGradient, OfAnySizesIsThatOfTheHostInDouble) {
    const Context context = ranks_context(false);
    const GradientWay way = on_device(context);
    for (const auto& [width, n_head, n_latent] :
         {std::array<int64_t, 3>{30, 3, 33}, {24, 2, 70}, {40, 2, 130}, {9, 3, 5}}) {
        const Model model(context, network_of(width, n_head, n_latent));
        const std::vector<int64_t> rows = own_rows("uneven", 70, world);
        const impl::flare::Config config =
            impl::flare::parse_config(*model.get()->model->card().network);
        const impl::flare::Layers<float> layers(config, model.get()->model->weights());
        const auto weights = std::make_shared<const impl::flare::DeviceWeights>(
            *way.device, kernels::Operand::fp32, config, layers);
        GradientWay cut = way;
        cut.program = [&](const impl::PlanRequest& request) {
            return impl::flare::make_device_gradient_program(
                config, layers, weights, dynamic_cast<const impl::PointDomain&>(request.input),
                request, {.slab_points = 32, .part_points = 12});
        };
        FlareGradients found(context, model, rows, cut), host(context, model, rows, {});
        ASSERT_TRUE(found.run());
        ASSERT_TRUE(host.run());
        EXPECT_LE(relative_l2(found.total(), host.total()), 2e-5) << width;
        const double size = largest(host.dx);
        for (size_t i = 0; i < host.dx.size(); ++i)
            EXPECT_NEAR(found.dx[i], host.dx[i], 1e-4 * size) << width;
    }
}

TEST(FlareDeviceGradient, HasTheSameBitsAgain) {
    const Context context = ranks_context(false);
    Golden golden(context, "odd", "scattered", on_device(context));
    ASSERT_TRUE(golden.run());
    const std::vector<double> total = golden.own.total();
    const std::vector<std::vector<double>> dx = golden.dx;
    ASSERT_TRUE(golden.run());
    EXPECT_EQ(golden.own.total(), total);
    EXPECT_EQ(golden.dx, dx);
}

/// Along one direction in the space of all weights.
TEST(FlareDeviceGradient, IsTheSlopeOfTheHostsPredictionsInDouble) {
    const Context context = ranks_context(false);
    const Model model(context, stored_case("flare/odd"));
    const std::vector<int64_t> rows = own_rows("scattered", 37, world);
    FlareGradients own(context, model, rows, on_device(context));
    ASSERT_TRUE(own.run());
    impl::MasterWeights& weights = *model.get()->model->weights();
    const auto direction = [](size_t i) { return std::sin(1.3 * static_cast<double>(i)); };
    double slope = 0;
    for (size_t i = 0; i < own.total().size(); ++i) slope += own.sums.total()[i] * direction(i);

    FlareGradients host(context, model, rows, {});
    const std::vector<double> at(weights.precise().begin(), weights.precise().end());
    const auto value = [&](double step) {
        for (size_t i = 0; i < at.size(); ++i) weights.precise()[i] = at[i] + step * direction(i);
        weights.refresh();
        EXPECT_TRUE(host.evaluate());
        double sum = 0;
        for (size_t i = 0; i < host.y.size(); ++i) sum += host.dy[i] * host.y[i];
        return context.reduce(SURROGATE_SUM, sum);
    };
    const double h = 1e-5, difference = (value(h) - value(-h)) / (2 * h);
    EXPECT_NEAR(slope, difference, 1e-4 * std::abs(difference));
}

TEST(FlareDeviceGradient, RanksAtFaultPoisonAllAndTheNextIsExact) {
    for (const bool is_shared : {false, true}) {
        const Context context = ranks_context(is_shared);
        Golden golden(context, "tiny_options", "scattered", on_device(context));
        ASSERT_TRUE(golden.run());
        const std::vector<double> total = golden.own.total();
        FlareGradients& own = golden.own;
        const bool is_bad = rank_of(world) == size_of(world) - 1;
        const auto expect_poisoned = [&](bool alive, const char* what) {
            own.sums.clear();
            EXPECT_FALSE(own.backward(alive)) << what;
            EXPECT_FALSE(own.reduce()) << what;
            for (const double value : own.dx) EXPECT_TRUE(std::isnan(value)) << what;
        };
        expect_poisoned(true, "nothing waits");
        ASSERT_TRUE(own.evaluate());
        expect_poisoned(!is_bad, "one rank is bad");
        ASSERT_TRUE(own.evaluate());
        const std::vector<double> dy = own.dy;
        if (is_bad) own.dy.back() = std::numeric_limits<double>::quiet_NaN();
        expect_poisoned(true, "a gradient is NaN");
        own.dy = dy;
        if (is_bad) own.x.back() = std::numeric_limits<double>::infinity();
        EXPECT_FALSE(own.evaluate());
        for (const double value : own.y) EXPECT_TRUE(std::isnan(value));
        expect_poisoned(true, "an input is infinite");
        ASSERT_TRUE(golden.run());
        EXPECT_EQ(golden.own.total(), total);
    }
}

TEST(FlareDeviceGradient, TakesNoDeviceMemoryAndSendsWhatTheFormulaSays) {
    const Context context = ranks_context(true);  // staged: the communicator counts
    Golden golden(context, "odd", "scattered", on_device(context));
    ASSERT_TRUE(golden.run());
    const auto counts = emulated_device().counts();
    impl::Communicator& comm = golden.own.comm();
    const auto network = golden.file.card().at("network");
    const int64_t n_block = network.at("num_blocks"), n_latent = network.at("num_latents"),
                  width = network.at("channel_dim"), n_head = network.at("num_heads");
    const int64_t flag = 4;  // of staged reductions: whether a device has failed
    int64_t before = comm.bytes_sent();
    golden.own.sums.clear();
    ASSERT_TRUE(golden.own.evaluate());
    if (size_of(world) > 1) {
        EXPECT_EQ(comm.bytes_sent() - before,
                  n_block * (4 * n_latent * (width + 2 * n_head) + 2 * flag));
    }
    before = comm.bytes_sent();
    ASSERT_TRUE(golden.own.backward());
    if (size_of(world) > 1) {
        EXPECT_EQ(comm.bytes_sent() - before, n_block * (4 * n_latent * width + flag));
    }
    golden.model.get()->model->weights()->refresh();
    const auto once = emulated_device().counts();  // the first refresh keeps its room
    golden.model.get()->model->weights()->refresh();
    const auto after = emulated_device().counts();
    EXPECT_EQ(once.n_allocation, counts.n_allocation);
    EXPECT_LE(once.n_pinned_allocation, counts.n_pinned_allocation + 1);
    EXPECT_EQ(after.n_pinned_allocation, once.n_pinned_allocation);
    EXPECT_EQ(after.streams, once.streams);
}

TEST(FlareDeviceGradient, MeetsThroughNccl) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank reduces nothing";
    FakeNccl nccl;
    pretended = &nccl;
    {
        const Context context = ranks_context(false, pretended_nccl);
        Golden golden(context, "tiny_options", "scattered", on_device(context));
        ASSERT_TRUE(golden.run());
        EXPECT_LE(golden.error(), 1e-4);
        EXPECT_GT(nccl.n_call("all_reduce"), 0);
    }
    {
        const auto traffic_of = [](Context context, int64_t per_call) {
            GoldenRun run(std::move(context), {}, own_rows("scattered", n_golden_point, world),
                          {{"backend", "cuda"}}, golden_settings());
            run.golden_step(0);
            const int64_t collectives = 2 * 2 * 3;  // samples, blocks, reductions of a block
            return std::pair(run.trainer.counter("bytes_sent") - collectives * per_call,
                             run.trainer.counter("collectives"));
        };
        // Staged reductions carry 4 bytes more each.
        EXPECT_EQ(traffic_of(ranks_context(false, pretended_nccl), 0),
                  traffic_of(ranks_context(true), 4));
    }
    EXPECT_EQ(nccl.misuse(), "");
}

TEST(FlareDeviceGradient, RefusesWhatIsNotBuiltByName) {
    const Context context = ranks_context(false);
    const auto refusal = [&](const std::string& file, Options options) {
        const Model model(context, file);
        const Domain domain = rows_domain(context, own_rows("contiguous", 64, world));
        options.set("backend", "cuda");
        options.set("gradients", "true");
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        surrogate_plan_destroy(&plan);
        return found;
    };
    EXPECT_TRUE(refusal(stored_case("flare/tiny"), {{"reproducible", "true"}}).says("exact sums"));
    EXPECT_TRUE(refusal(stored_case("flare/ablation_shared"), {}).says("BigFLAREModel"));
    EXPECT_TRUE(refusal(stored_case("flare/physicsnemo_small"), {}).says("'FLARE' of PhysicsNeMo"));
}

// ---- training ----

TEST(FlareDeviceTraining, FollowsTheGoldenTrace) {
    const std::vector<double> losses = golden_training().tensor("check/trace64/loss").values;
    GoldenRun run(ranks_context(false), {}, own_rows("scattered", n_golden_point, world),
                  {{"backend", "cuda"}}, golden_settings());
    for (int64_t j = 0; j < 6; ++j) {
        const surrogate_step_report report = run.golden_step(j);
        EXPECT_EQ(report.was_skipped, 0);
        EXPECT_NEAR(report.loss, losses[static_cast<size_t>(j)], 1e-5) << j;  // as the host's
    }
}

TEST(FlareDeviceTraining, ABadSampleLeavesTheStepAsItWas) {
    const std::vector<int64_t> rows = own_rows("scattered", n_golden_point, world);
    GoldenRun good(ranks_context(false), {}, rows, {{"backend", "cuda"}}, golden_settings());
    GoldenRun run(ranks_context(false), {}, rows, {{"backend", "cuda"}}, golden_settings());
    good.golden_step(0);
    const double expected = good.golden_step(1).loss;
    run.golden_step(0);
    run.load(GoldenRun::golden_sample(1, 0));
    if (rank_of(world) == 0) run.a[0] = std::numeric_limits<double>::quiet_NaN();
    double loss = 0;
    const Answer found = answer(surrogate_trainer_accumulate(run.trainer.get(), &loss));
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
    EXPECT_EQ(run.golden_step(1).loss, expected);
    EXPECT_EQ(run.weights(), good.weights());
}

/// Every 97th call to the device, the last rank's.
TEST(FlareDeviceTraining, ADeviceThatFailsInAStepIsAnErrorOfAllRanks) {
    const int culprit = size_of(world) - 1;
    int has_failed = 1, n_reached = 0;
    for (int64_t n = 1; has_failed; n += 97) {
        GoldenRun run(ranks_context(true), {}, own_rows("uneven", n_golden_point, world),
                      {{"backend", "cuda"}}, golden_settings());
        const auto step = [&](int64_t sample) {
            run.load(GoldenRun::golden_sample(0, sample));
            return answer(surrogate_trainer_step(run.trainer.get(), nullptr));
        };
        EmulatedDevice device(emulated_device());
        const bool is_culprit = rank_of(world) == culprit;
        if (is_culprit) device.fail_at(n, kernels::Status::device);
        Answer found = step(0);
        if (found.status == SURROGATE_SUCCESS) found = step(1);
        has_failed = is_culprit ? device.fail_at(0, kernels::Status::success) >= n : 0;
        MPI_Bcast(&has_failed, 1, MPI_INT, culprit, world);
        EXPECT_TRUE(ranks_still_talk(world)) << "call " << n;
        EXPECT_EQ(found.status == SURROGATE_SUCCESS, !has_failed) << "call " << n << ": " << found;
        const Answer next = step(0);
        EXPECT_EQ(next.status == SURROGATE_SUCCESS, !has_failed) << "after " << n << ": " << next;
        n_reached += has_failed;
    }
    EXPECT_GT(n_reached, 3);
}

TEST(FlareDeviceTraining, StepsTakeNoDeviceMemory) {
    GoldenRun run(ranks_context(false), {}, own_rows("scattered", n_golden_point, world),
                  {{"backend", "cuda"}}, golden_settings());
    run.golden_step(0);
    const auto before = emulated_device().counts();
    run.golden_step(1);
    run.golden_step(2);
    const auto after = emulated_device().counts();
    EXPECT_EQ(after.n_allocation, before.n_allocation);
    EXPECT_EQ(after.n_pinned_allocation, before.n_pinned_allocation);
    EXPECT_EQ(after.streams, before.streams);
}

}  // namespace
}  // namespace surrogate::test
