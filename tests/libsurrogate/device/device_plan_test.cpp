// SPDX-License-Identifier: Apache-2.0
// Plans with backend cuda on one rank: golden files in every precision, arrays on host and device,
// streams. On an emulated device, and on a real one where there is one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "libsurrogate/src/plan/device/array_memory.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::test {
namespace {

const Options by_cuda{{"backend", "cuda"}};
constexpr int32_t mobility_input = 1;  // of the small model's card

class DeviceTest : public OnDevice {
protected:
    /// y of the case's network on arrays on the host.
    std::vector<double> run(const FlareCase& golden, const Options& options) {
        const Model model(*context, golden.path);
        const std::vector<int64_t> rows = first_rows(golden.n);
        const Domain domain = rows_domain(*context, rows);
        Plan plan(model, domain, options);
        std::vector<float> x = golden.rows_of_x(rows);
        std::vector<float> y(static_cast<size_t>(golden.n * golden.n_out), NAN);
        plan.run_network({{"x", matrix(x.data(), golden.n, golden.n_in)}},
                         {{"y", matrix(y.data(), golden.n, golden.n_out)}});
        return {y.begin(), y.end()};
    }
};

INSTANTIATE_TEST_SUITE_P(On, DeviceTest, testing::Values(emulated_kind, real_kind), name_of_device);

// ---- numbers ----

TEST_P(DeviceTest, GoldenFilesWithinTheBoundOfTheirPrecision) {
    for (const std::string file : {"tiny", "tiny_options", "layers", "odd", "mid"}) {
        const FlareCase golden(file);
        for (const char* precision : {"fp32", "tf32", "fp16", "bf16"}) {
            for (const char* reproducible : {"false", "true"}) {
                if (file == "mid" && reproducible[0] == 't') continue;  // 1500 points: slow
                const Options options{
                    {"backend", "cuda"}, {"precision", precision}, {"reproducible", reproducible}};
                EXPECT_LE(relative_l2(run(golden, options), golden.y64), golden.bound(precision))
                    << file << " " << precision << " reproducible=" << reproducible;
            }
        }
    }
}

TEST_P(DeviceTest, NarrowOperandsAreReallyUsed) {
    const FlareCase golden("odd");
    const auto error = [&](const char* precision) {
        return relative_l2(run(golden, {{"backend", "cuda"}, {"precision", precision}}),
                           golden.y64);
    };
    const double fp32 = error("fp32"), fp16 = error("fp16"), bf16 = error("bf16");
    EXPECT_GT(fp16, 10 * fp32);
    EXPECT_GT(bf16, 2 * fp16);
}

TEST_P(DeviceTest, ReproducibleBitsDoNotDependOnTheOrderOfPoints) {
    const Model model(*context, small_darcy_model());
    const Options options{{"backend", "cuda"}, {"reproducible", "true"}, {"precision", "fp16"}};
    std::vector<int64_t> rows = first_rows(70);
    const std::vector<double> ordered = predict(model, *context, DarcyCase(rows), options);
    std::reverse(rows.begin(), rows.end());
    std::vector<double> reversed = predict(model, *context, DarcyCase(rows), options);
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(ordered, reversed);
}

TEST_P(DeviceTest, FieldsOfTheCardAgreeWithTheHost) {
    const Model model(*context, darcy_model);
    for (const int64_t n : {0, 1, 17}) {
        const DarcyCase points(first_rows(n));
        const std::vector<double> host = predict(model, *context, points);
        const std::vector<double> there = predict(model, *context, points, by_cuda);
        EXPECT_EQ(there.size(), host.size());
        EXPECT_LE(relative_difference(there, host), order_tolerance) << n << " points";
    }
}

TEST_P(DeviceTest, NumbersPerCloudAgreeWithTheSameNumbersAtPoints) {
    ModelParts<float> parts(darcy_model);
    parts.card["inputs"][2]["role"] = "cloud";
    parts.card.erase("pooled");
    const Model by_point(*context, darcy_model),
        by_cloud(*context, parts.card.dump(), parts.tensors());
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"reproducible", reproducible}};
        DarcyCase points(first_rows(70));
        const Domain domain = points.domain(*context);
        Plan plan(by_cloud, domain, options);
        double mobility = 0;
        plan.bind_input("mobility", mobility);
        plan.bind_output("pressure", column(points.pressure.data(), points.n()));
        for (const double value : {5.0, 9.0}) {
            DarcyCase same = points;
            std::ranges::fill(same.mobility, mobility = value);
            plan.run();
            EXPECT_EQ(points.pressure, predict(by_point, *context, same, options));
        }
        const surrogate_array there = on_device(column(&mobility, 1));
        const Answer found =
            answer(surrogate_plan_bind_input(plan.get(), "mobility", nullptr, &there));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
        EXPECT_TRUE(found.says("'mobility'")) << found;
    }
}

// ---- arrays ----

TEST_P(DeviceTest, ArraysOnHostAndDeviceMixAsTheyCome) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(37));
    const Domain domain = points.domain(*context);
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"reproducible", reproducible}};
        const std::vector<double> expected = predict(model, *context, points, options);
        const DeviceArray<double> mobility(*device, points.mobility);
        DeviceArray<double> pressure(*device, points.pressure);
        Plan plan(model, domain, options);
        for (const bool in_there : {true, false}) {
            for (const bool out_there : {true, false}) {
                pressure.put(std::vector<double>(37, -1));
                points.pressure.assign(37, -1);
                points.bind(plan);
                if (in_there) plan.bind_input("mobility", mobility.column(37));
                if (out_there) plan.bind_output("pressure", pressure.column(37));
                plan.run();
                // Denormalization may end in a fused multiply-add there.
                EXPECT_LE(
                    relative_difference(out_there ? pressure.get() : points.pressure, expected),
                    1e-14)
                    << reproducible << in_there << out_there;
                const std::vector<double> untouched(37, -1);
                EXPECT_EQ(out_there ? points.pressure : pressure.get(), untouched);
            }
        }
    }
}

TEST_P(DeviceTest, StridesTypesAndSharedMemoryOfDeviceArrays) {
    const FlareCase golden("odd");
    const Model model(*context, golden.path);
    const std::vector<int64_t> rows = first_rows(golden.n);
    const Domain domain = rows_domain(*context, rows);
    const std::vector<float> x = golden.rows_of_x(rows);
    // Rows of 5 numbers (x in the first 3), from the last point to the first, in double.
    std::vector<double> wide(static_cast<size_t>(golden.n) * 5, -7);
    for (int64_t i = 0; i < golden.n; ++i)
        for (int64_t c = 0; c < 3; ++c)
            wide[static_cast<size_t>((golden.n - 1 - i) * 5 + c)] =
                static_cast<double>(x[static_cast<size_t>(i * 3 + c)]);
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"reproducible", reproducible}};
        const std::vector<double> expected = run(golden, options);
        const DeviceArray<double> there(*device, wide);
        DeviceArray<double> y(*device, std::vector<double>(expected.size(), -7));
        surrogate_array in = there.matrix(golden.n, 3);
        in.data = there.data() + (golden.n - 1) * 5;
        in.stride[0] = -5;
        Plan plan(model, domain, options);
        plan.run_network({{"x", in}}, {{"y", y.matrix(golden.n, 2)}});
        EXPECT_EQ(y.get(), expected) << reproducible;
    }
}

TEST_P(DeviceTest, ReproducibleOutputsWithGapsAreRefusedAndLeftAlone) {
    const FlareCase golden("tiny");
    const Model model(*context, golden.path);
    const std::vector<int64_t> rows = first_rows(golden.n);
    const Domain domain = rows_domain(*context, rows);
    Plan plan(model, domain, {{"backend", "cuda"}, {"reproducible", "true"}});
    std::vector<float> x = golden.rows_of_x(rows);
    const DeviceArray<float> y(*device, std::vector<float>(10, -7));
    const surrogate_named_array in{"x", matrix(x.data(), 5, 2)}, out{"y", y.column(5, 0, 2)};
    const Answer refused = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    EXPECT_EQ(refused.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(refused.says("stride 2") && refused.says("no gaps")) << refused;
    EXPECT_EQ(y.get(), std::vector<float>(10, -7));
}

TEST_P(DeviceTest, DeviceArraysAreRefusedWhereTheyCannotBe) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(3));
    const Domain domain = points.domain(*context);
    const DeviceArray<double> mobility(*device, points.mobility);
    const surrogate_array there = mobility.column(3);

    const Plan on_host(model, domain);
    const Answer host =
        answer(surrogate_plan_bind_input(on_host.get(), "mobility", nullptr, &there));
    EXPECT_EQ(host.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(host.says("'mobility'") && host.says("backend=cuda")) << host;

    surrogate_domain* none = nullptr;
    const surrogate_points given{mobility.matrix(3, 1), nullptr, nullptr, nullptr};
    EXPECT_EQ(surrogate_domain_create_points(context->get(), &given, &none),
              SURROGATE_NOT_SUPPORTED);

    const Plan plan(model, domain, by_cuda);
    surrogate_array askew = there;
    askew.data = reinterpret_cast<char*>(mobility.data()) + 4;
    const Answer aligned =
        answer(surrogate_plan_bind_input(plan.get(), "mobility", nullptr, &askew));
    EXPECT_EQ(aligned.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(aligned.says("not a multiple of 8")) << aligned;
    surrogate_array elsewhere = there;
    elsewhere.space = 7;
    EXPECT_EQ(surrogate_plan_bind_input(plan.get(), "mobility", nullptr, &elsewhere),
              SURROGATE_INVALID_ARGUMENT);
}

// ---- values that are not finite ----

TEST_P(DeviceTest, BadInputIsNamedWhereverItLiesAndLeavesNoTrace) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(33));
    const Domain domain = points.domain(*context);
    for (const char* reproducible : {"false", "true"}) {
        Plan plan(model, domain, {{"backend", "cuda"}, {"reproducible", reproducible}});
        points.bind(plan);
        plan.run();
        const std::vector<double> expected = points.pressure;
        for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), 1e300}) {
            DarcyCase wrong = points;
            wrong.mobility[19] = bad;
            DeviceArray<double> mobility(*device, wrong.mobility);
            DeviceArray<double> pressure(*device, wrong.pressure);
            for (const bool is_there : {false, true}) {
                wrong.bind(plan);
                if (is_there) {
                    plan.bind_input("mobility", mobility.column(33));
                    plan.bind_output("pressure", pressure.column(33));
                }
                const Answer refused = answer(surrogate_plan_run(plan.get()));
                EXPECT_EQ(refused.status, SURROGATE_NOT_FINITE) << is_there;
                EXPECT_TRUE(refused.says("'mobility'") && refused.says("id 19")) << refused;
                for (const double p : is_there ? pressure.get() : wrong.pressure)
                    EXPECT_TRUE(std::isnan(p));
            }
            points.bind(plan);
            plan.run();
            EXPECT_EQ(points.pressure, expected);
        }
    }
}

TEST_P(DeviceTest, UnboundFieldsAreToldAndTheNextRunIsExact) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(20));
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, by_cuda);
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_INVALID_ARGUMENT);
    points.bind(plan);
    plan.run();
    EXPECT_EQ(points.pressure, predict(model, *context, points, by_cuda));
}

// ---- streams ----

/// Fields of a case on the device, bound.
struct FieldsThere {
    FieldsThere(kernels::Device& device, const DarcyCase& points, Plan& plan)
        : mobility(device, points.mobility), pressure(device, points.pressure) {
        plan.bind_input("mobility", mobility.column(points.n()));
        plan.bind_output("pressure", pressure.column(points.n()));
    }
    DeviceArray<double> mobility, pressure;
};

TEST_P(DeviceTest, TwoPlansOnTwoStreams) {
    const Model model(*context, small_darcy_model());
    const DarcyCase a(first_rows(40)), b(first_rows(21));
    const Domain domain_a = a.domain(*context), domain_b = b.domain(*context);
    Plan plan_a(model, domain_a, by_cuda), plan_b(model, domain_b, by_cuda);
    FieldsThere there_a(*device, a, plan_a), there_b(*device, b, plan_b);
    const impl::DeviceStream first(*device, device->create_stream());
    const impl::DeviceStream second(*device, device->create_stream());
    plan_a.set_stream(first.get());
    plan_b.set_stream(second.get());
    for (int step = 0; step < 3; ++step) {
        plan_a.run();
        plan_b.run();
    }
    plan_a.wait();
    plan_b.wait();
    EXPECT_LE(relative_difference(there_a.pressure.get(), predict(model, *context, a, by_cuda)),
              1e-14);
    EXPECT_LE(relative_difference(there_b.pressure.get(), predict(model, *context, b, by_cuda)),
              1e-14);
}

TEST_P(DeviceTest, FindingsOfEnqueuedRunsComeWithWaitOrALaterRun) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(20));
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, by_cuda);
    FieldsThere there(*device, points, plan);
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());
    plan.run();
    plan.wait();
    const std::vector<double> expected = there.pressure.get();

    std::vector<double> bad = points.mobility;
    bad[7] = NAN;
    there.mobility.put(bad);
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS) << "only enqueued";
    const Answer waited = answer(surrogate_plan_wait(plan.get()));
    EXPECT_EQ(waited.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(waited.says("run 2 ") && waited.says("'mobility'") && waited.says("id 7"))
        << waited;
    EXPECT_EQ(surrogate_plan_wait(plan.get()), SURROGATE_SUCCESS) << "told once";

    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);
    device->synchronize(stream.get());
    there.mobility.put(points.mobility);
    const Answer later = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(later.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(later.says("run 3 ") && later.says("id 7")) << later;
    EXPECT_EQ(surrogate_plan_wait(plan.get()), SURROGATE_SUCCESS) << "the later run is good";
    EXPECT_EQ(there.pressure.get(), expected);
}

TEST_P(DeviceTest, AgreedRunsOnAStreamReturnWhatTheyFind) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(20));
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, {{"backend", "cuda"}, {"agree", "true"}});
    FieldsThere there(*device, points, plan);
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());
    plan.run();
    const std::vector<double> expected = there.pressure.get();  // no wait before
    std::vector<double> bad = points.mobility;
    bad[7] = NAN;
    there.mobility.put(bad);
    const Answer found = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("'mobility'") && found.says("id 7")) << found;
    EXPECT_EQ(surrogate_plan_wait(plan.get()), SURROGATE_SUCCESS) << "told once";
    there.mobility.put(points.mobility);
    plan.run();
    EXPECT_EQ(there.pressure.get(), expected);
}

TEST_P(DeviceTest, EnqueuedRunsTellOfValuesOutsideTheRange) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(20));
    const Domain domain = points.domain(*context);
    for (const char* range : {"count", "error"}) {
        Plan plan(model, domain, {{"backend", "cuda"}, {"range", range}});
        FieldsThere there(*device, points, plan);
        const impl::DeviceStream stream(*device, device->create_stream());
        plan.set_stream(stream.get());
        plan.run();
        device->synchronize(stream.get());
        std::vector<double> far = points.mobility;
        far[7] = 40;
        there.mobility.put(far);
        EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS) << "only enqueued";
        const Answer waited = answer(surrogate_plan_wait(plan.get()));
        EXPECT_EQ(plan.range(mobility_input).n_outside, 1);
        EXPECT_EQ(plan.range(mobility_input).worst, 40);
        for (const double p : there.pressure.get()) EXPECT_TRUE(std::isfinite(p));
        if (range == std::string("count")) {
            EXPECT_EQ(waited.status, SURROGATE_SUCCESS) << waited;
        } else {
            EXPECT_EQ(waited.status, SURROGATE_OUT_OF_RANGE);
            EXPECT_TRUE(waited.says("run 2 ") && waited.says("'mobility'") &&
                        waited.says("1 of 20 points, farthest 40"))
                << waited;
        }
        there.mobility.put(points.mobility);
        plan.run();
        plan.wait();
        EXPECT_EQ(plan.range(mobility_input).n_outside, 0);
    }
}

TEST_P(DeviceTest, ManyRunsAheadOfTheHostKeepTheirFindings) {
    const FlareCase golden("tiny");
    const Model model(*context, golden.path);
    const std::vector<int64_t> rows = first_rows(golden.n);
    const Domain domain = rows_domain(*context, rows);
    Plan plan(model, domain, by_cuda);
    std::vector<float> x = golden.rows_of_x(rows), bad = x;
    bad[3] = INFINITY;
    const DeviceArray<float> good_x(*device, x), bad_x(*device, bad), y(*device, {0, 0, 0, 0, 0});
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());
    const surrogate_named_array out{"y", y.matrix(5, 1)};
    for (int i = 0; i < 66; ++i) {
        const surrogate_named_array in{"x", (i == 4 ? bad_x : good_x).matrix(5, 2)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        // The 65th waits for those before it; the news comes then or earlier.
        if (found.status != SURROGATE_SUCCESS) {
            EXPECT_GT(i, 4);
            EXPECT_TRUE(found.says("run 5 ") && found.says("'x', channel 1") && found.says("id 1"))
                << found;
            x.clear();
        }
    }
    EXPECT_TRUE(x.empty()) << "never told";
    plan.wait();
}

TEST_P(DeviceTest, StreamsAreOfDevicesOnly) {
    const Model model(*context, small_darcy_model());
    const DarcyCase points(first_rows(3));
    const Domain domain = points.domain(*context);
    Plan plan(model, domain);
    const Answer refused = answer(surrogate_plan_set_stream(plan.get(), nullptr));
    EXPECT_EQ(refused.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(refused.says("backend=cuda")) << refused;
    plan.wait();
    EXPECT_EQ(surrogate_plan_set_stream(nullptr, nullptr), SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(surrogate_plan_wait(nullptr), SURROGATE_INVALID_ARGUMENT);
}

/// Recorded runs too: the weights are packed again into the memory that the graph reads.
TEST_P(DeviceTest, PlansFollowTheirModelsWeightsAfterRefresh) {
    const FlareCase golden("tiny_options");
    const std::vector<int64_t> rows = first_rows(golden.n);
    const Domain domain = rows_domain(*context, rows);
    const auto alter = [](const Model& model) {
        const std::shared_ptr<impl::MasterWeights>& weights = model.get()->model->weights();
        for (float& value : weights->values()) value *= 0.75F;
        weights->refresh();
    };
    const auto predict = [&](Plan& plan) {
        std::vector<float> x = golden.rows_of_x(rows);
        std::vector<float> y(static_cast<size_t>(golden.n * golden.n_out), NAN);
        plan.run_network({{"x", matrix(x.data(), golden.n, golden.n_in)}},
                         {{"y", matrix(y.data(), golden.n, golden.n_out)}});
        return y;
    };
    const Model model(*context, golden.path), altered(*context, golden.path);
    Plan plan(model, domain, by_cuda);
    const std::vector<float> before = predict(plan);
    alter(model);
    alter(altered);
    Plan planned_later(altered, domain, by_cuda);
    const std::vector<float> after = predict(plan);
    EXPECT_EQ(after, predict(planned_later));
    EXPECT_NE(after, before);
}

// ---- memory of arrays ----

TEST_P(DeviceTest, ArraysMustLieWhereTheirSpaceSays) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(20));
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, by_cuda);
    FieldsThere there(*device, points, plan);
    const auto expect = [&](const surrogate_array& array, const char* found, const char* remedy) {
        const Answer refused =
            answer(surrogate_plan_bind_input(plan.get(), "mobility", nullptr, &array));
        EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT) << refused;
        EXPECT_TRUE(refused.says("'mobility'") && refused.says(found) && refused.says(remedy))
            << refused;
    };
    expect(on_device(column(points.mobility.data(), 20)), "data is in memory of the host",
           "bind memory of the host with space SURROGATE_HOST");
    const impl::PinnedMemory pinned = impl::pinned_memory(*device, 20 * 8);
    expect(on_device(column(static_cast<double*>(pinned.get()), 20)),
           "data is in pinned memory of the host", "space SURROGATE_HOST");
    surrogate_array on_host = there.mobility.column(20);
    on_host.space = SURROGATE_HOST;
    expect(on_host, "data is in memory of device ", "space SURROGATE_CUDA");
    // Nothing of this has touched what is bound.
    plan.run();
    EXPECT_LE(relative_difference(there.pressure.get(), predict(model, *context, points, by_cuda)),
              1e-14);
}

TEST_P(DeviceTest, ArraysOfNetworkPortsMustLieWhereTheirSpaceSays) {
    const FlareCase golden("tiny");
    const Model model(*context, golden.path);
    const std::vector<int64_t> rows = first_rows(golden.n);
    const Domain domain = rows_domain(*context, rows);
    Plan plan(model, domain, by_cuda);
    std::vector<float> x = golden.rows_of_x(rows), y(rows.size(), 0);
    const surrogate_named_array in{"x", on_device(matrix(x.data(), golden.n, golden.n_in))};
    const surrogate_named_array out{"y", matrix(y.data(), golden.n, golden.n_out)};
    const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    EXPECT_TRUE(found.says("network input 'x': data is in memory of the host")) << found;
}

/// A device that says of all memory that it is at `places`, in turn.
class DeviceThatKnows : public EmulatedDevice {
public:
    explicit DeviceThatKnows(std::vector<kernels::MemoryPlace> places)
        : places_(std::move(places)) {}
    kernels::MemoryPlace where_is(const void*) override {
        return places_[n_asked_++ % places_.size()];
    }

private:
    std::vector<kernels::MemoryPlace> places_;
    size_t n_asked_ = 0;
};

TEST(ArrayMemory, OfAnotherDeviceBeyondTheEndAndManaged) {
    using Kind = kernels::MemoryPlace::Kind;
    const kernels::MemoryPlace own{Kind::device, 0}, other{Kind::device, 1}, none{},
        managed{Kind::managed};
    double data[8] = {};
    surrogate_array array = on_device(column(data, 4, -2));
    const auto refused = [&](std::vector<kernels::MemoryPlace> places) {
        DeviceThatKnows device(std::move(places));
        const Refusal found = refusal([&] { impl::check_memory(device, array, "input 'x'"); });
        EXPECT_EQ(found.status, kernels::Status::invalid_argument) << found.text;
        return found.text;
    };
    EXPECT_EQ(refused({other}),
              "input 'x': data is in memory of device 1, expected memory of device 0 (emulated "
              "device), the plan's device (space SURROGATE_CUDA); copy it there, or create the "
              "plan with option device=1");
    EXPECT_EQ(refused({own, none}),
              "input 'x': the last element is in memory of the host, expected memory of device 0 "
              "(emulated device), the plan's device (space SURROGATE_CUDA); check shape and "
              "strides");
    DeviceThatKnows shared({managed}), here({own});
    impl::check_memory(shared, array, "");
    impl::check_memory(here, array, "");
    array.space = SURROGATE_HOST;
    impl::check_memory(shared, array, "");
    array.stride[0] = INT64_MAX / 2;
    const Refusal far = refusal([&] { impl::check_memory(shared, array, "input 'x'"); });
    EXPECT_EQ(far.status, kernels::Status::shape) << far.text;
}

// ---- what a plan says ----

TEST_P(DeviceTest, PlanAndContextDescribeTheDevice) {
    const Model model(*context, small_darcy_model());
    const DarcyCase points(first_rows(100));
    const Domain domain = points.domain(*context);
    const Plan plan(model, domain, {{"backend", "cuda"}, {"precision", "bf16"}});
    const std::string text = plan.describe(), own = context->describe();
    const std::string name = device->properties().name;
    EXPECT_EQ(plan.option("backend"), "cuda");
    EXPECT_EQ(plan.option("precision"), "bf16");
    EXPECT_EQ(plan.option("device"), std::to_string(device->properties().index));
    for (const std::string& part :
         {name, std::string("one rank"), std::string("a run is one graph"),
          std::string("bytes a point"), std::string("3e-3 to 9e-3")})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
    EXPECT_NE(own.find("backends   ref, simd, cuda\n"), std::string::npos) << own;
    EXPECT_NE(own.find(name), std::string::npos) << own;
}

TEST_P(DeviceTest, InferenceInSixteenBitsTakesAtMost512BytesAPoint) {
    const Model model(*context, darcy_model);  // 64 channels
    constexpr int64_t n = 200000;
    const DarcyCase points(first_rows(n));
    const Domain domain = points.domain(*context);
    for (const char* precision : {"fp16", "bf16"}) {
        const Plan plan(model, domain, {{"backend", "cuda"}, {"precision", precision}});
        EXPECT_LE(plan.counter("workspace_bytes"), 512 * n) << precision;
    }
}

TEST_P(DeviceTest, SendsWhatTheFormulaSays) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(30));
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, by_cuda);
    points.bind(plan);
    plan.run();
    EXPECT_EQ(plan.counter("bytes_sent"), 2 * 4 * 3 * (8 + 2 * 2));  // blocks, 4 M (C + 2 H)
    EXPECT_EQ(plan.counter("collectives"), 2 * 2);
    EXPECT_EQ(plan.counter("points_local"), 30);
}

}  // namespace
}  // namespace surrogate::test
