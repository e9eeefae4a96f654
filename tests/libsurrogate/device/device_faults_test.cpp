// SPDX-License-Identifier: Apache-2.0
// Plans on an emulated device that runs out of memory, fails at any call, or is slow; what they
// leave behind, and what they do not wait for.
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"

namespace surrogate::test {
namespace {

const Options by_cuda{{"backend", "cuda"}};

/// Handles that exist on the device.
std::vector<int64_t> alive(const EmulatedDevice& device) {
    const EmulatedDevice::Counts c = device.counts();
    return {c.allocations, c.bytes, c.pinned_allocations, c.streams, c.events, c.graphs, c.n_wrong};
}

class DeviceFaults : public testing::Test {
protected:
    /// A new device, and everything on it.
    void begin(const kernels::DeviceProperties& properties = EmulatedDevice::default_properties()) {
        emulated_device() = EmulatedDevice(properties);
        device = std::make_unique<EmulatedDevice>(emulated_device());
        context =
            std::make_unique<Context>(device_context(emulated_kind, impl::self_communicator()));
        model = std::make_unique<Model>(*context, small_darcy_model());
    }
    /// A plan is made and goes.
    Answer make_plan(const Domain& domain, const Options& options = by_cuda) {
        surrogate_plan* plan = nullptr;
        const Answer found = answer(
            surrogate_plan_create(model->get(), domain.get(), nullptr, options.get(), &plan));
        EXPECT_EQ(plan == nullptr, found.status != SURROGATE_SUCCESS);
        surrogate_plan_destroy(&plan);
        return found;
    }

    std::unique_ptr<EmulatedDevice> device;
    std::unique_ptr<Context> context;
    std::unique_ptr<Model> model;
};

TEST_F(DeviceFaults, OutOfMemoryAtPlanningLeaksNothingAndASmallerPlanWorks) {
    kernels::DeviceProperties small = EmulatedDevice::default_properties();
    small.memory_bytes = int64_t{2} << 20;
    begin(small);
    DarcyCase points(first_rows(20)), many(first_rows(100000));
    const Domain domain = points.domain(*context), large = many.domain(*context);
    EXPECT_EQ(make_plan(domain).status, SURROGATE_SUCCESS);
    const std::vector<int64_t> before = alive(*device);
    for (const char* reproducible : {"false", "true"}) {
        const Answer refused =
            make_plan(large, {{"backend", "cuda"}, {"reproducible", reproducible}});
        EXPECT_EQ(refused.status, SURROGATE_NO_MEMORY) << refused;
        EXPECT_EQ(alive(*device), before);
    }
    Plan plan(*model, domain, by_cuda);
    points.bind(plan);
    plan.run();
    EXPECT_FALSE(std::isnan(points.pressure[0]));
}

// A3 of the page on reliability, while a plan is made.
TEST_F(DeviceFaults, AnyCallThatFailsAtPlanningIsToldAndLeaksNothing) {
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"reproducible", reproducible}};
        bool has_failed = true;
        for (int64_t n = 1; has_failed; ++n) {
            begin();
            const DarcyCase points(first_rows(7));
            const Domain domain = points.domain(*context);
            const std::vector<int64_t> before = alive(*device);

            device->fail_at(n, kernels::Status::no_memory);
            const Answer memory = make_plan(domain, options);
            has_failed = device->fail_at(0, kernels::Status::success) >= n;
            // A launch says "failed", whatever the runtime's reason was.
            const surrogate_status expected = !has_failed                ? SURROGATE_SUCCESS
                                              : memory.says("launch of") ? SURROGATE_DEVICE
                                                                         : SURROGATE_NO_MEMORY;
            EXPECT_EQ(memory.status, expected) << "call " << n << ": " << memory;
            EXPECT_EQ(alive(*device), before) << "call " << n;
            EXPECT_EQ(make_plan(domain, options).status, SURROGATE_SUCCESS) << "after call " << n;
            EXPECT_EQ(alive(*device), before) << "after call " << n;
            if (!has_failed) break;

            device->fail_at(n, kernels::Status::device);
            const Answer broken = make_plan(domain, options);
            // Polling makes the number of calls vary by a few from time to time.
            if (device->fail_at(0, kernels::Status::success) < n) continue;
            EXPECT_EQ(broken.status, SURROGATE_DEVICE) << "call " << n << ": " << broken;
            EXPECT_EQ(make_plan(domain, options).status, SURROGATE_BROKEN) << "after call " << n;
            EXPECT_EQ(alive(*device), before) << "call " << n;
        }
    }
}

/// Memory spaces of the fields of a run.
struct Place {
    const char* name;
    bool is_there, is_on_stream;
    const char* reproducible;
};

class DeviceRunFaults : public DeviceFaults, public testing::WithParamInterface<Place> {
protected:
    /// Begins again: a plan with bound fields.
    void begin_run() {
        pressure.reset();
        mobility.reset();
        plan.reset();
        domain.reset();
        begin();
        points = DarcyCase(first_rows(7));
        domain = std::make_unique<Domain>(points.domain(*context));
        plan = std::make_unique<Plan>(
            *model, *domain,
            Options{{"backend", "cuda"}, {"reproducible", GetParam().reproducible}});
        points.bind(*plan);
        mobility = std::make_unique<DeviceArray<double>>(*device, points.mobility);
        pressure = std::make_unique<DeviceArray<double>>(*device, points.pressure);
        if (GetParam().is_there) {
            plan->bind_input("mobility", mobility->column(7));
            plan->bind_output("pressure", pressure->column(7));
        }
        stream = impl::DeviceStream(*device, device->create_stream());
        if (GetParam().is_on_stream) plan->set_stream(stream.get());
    }
    Answer run_and_wait() {
        const Answer run = answer(surrogate_plan_run(plan->get()));
        if (run.status != SURROGATE_SUCCESS) return run;
        return answer(surrogate_plan_wait(plan->get()));
    }
    std::vector<double> result() const {
        return GetParam().is_there ? pressure->get() : points.pressure;
    }

    DarcyCase points{{}};
    std::unique_ptr<Domain> domain;
    std::unique_ptr<Plan> plan;
    std::unique_ptr<DeviceArray<double>> mobility, pressure;
    impl::DeviceStream stream;
};

TEST_P(DeviceRunFaults, AnyCallThatFailsInARunIsToldAndTheNextRunIsExact) {
    begin_run();
    EXPECT_EQ(run_and_wait().status, SURROGATE_SUCCESS);
    const std::vector<double> expected = result();
    int64_t n_call = 0;
    for (int64_t n = 1; n_call == 0 || n <= n_call; ++n) {
        device->fail_at(n, kernels::Status::no_memory);
        const Answer found = run_and_wait();
        const int64_t called = device->fail_at(0, kernels::Status::success);
        if (called < n) {
            // Polling makes the number of calls vary by a few from run to run.
            EXPECT_EQ(found.status, SURROGATE_SUCCESS) << found;
            EXPECT_GT(n, 4) << "nothing was called";
            return;
        }
        EXPECT_EQ(found.status, SURROGATE_NO_MEMORY) << "call " << n << ": " << found;
        EXPECT_EQ(run_and_wait().status, SURROGATE_SUCCESS) << "after call " << n;
        EXPECT_EQ(result(), expected) << "after call " << n;
        n_call = 12;  // what follows is polling
    }
}

TEST_P(DeviceRunFaults, ABrokenDeviceIsToldOnceAndGivesEverythingBack) {
    for (int64_t n : {1, 2, 3, 4, 5, 6}) {
        begin_run();
        device->fail_at(n, kernels::Status::device);
        const Answer found = run_and_wait();
        device->fail_at(0, kernels::Status::success);
        EXPECT_EQ(found.status, SURROGATE_DEVICE) << "call " << n << ": " << found;
        for (int i = 0; i < 2; ++i) {
            const Answer later = answer(surrogate_plan_run(plan->get()));
            EXPECT_EQ(later.status, SURROGATE_BROKEN) << "call " << n << ": " << later;
        }
        plan.reset();
        model.reset();
        context.reset();
        domain.reset();
        mobility.reset();
        pressure.reset();
        stream = {};
        EXPECT_EQ(alive(*device), std::vector<int64_t>(7, 0)) << "call " << n;
    }
}

INSTANTIATE_TEST_SUITE_P(Fields, DeviceRunFaults,
                         testing::Values(Place{"OnTheHost", false, false, "false"},
                                         Place{"OnTheDevice", true, false, "false"},
                                         Place{"OnAStream", true, true, "false"},
                                         Place{"ReproducibleOnTheDevice", true, false, "true"}),
                         [](const auto& place) { return std::string(place.param.name); });

// ---- no hidden waiting ----

TEST_F(DeviceFaults, SlowProducerBeforeAndConsumerAfterARunWithoutAnyWaitOnTheHost) {
    begin();
    DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    const std::vector<double> expected = predict(*model, *context, points, by_cuda);
    Plan plan(*model, domain, by_cuda);
    DeviceArray<double> mobility(*device, std::vector<double>(7, NAN));
    DeviceArray<double> pressure(*device, std::vector<double>(7, NAN));
    plan.bind_input("mobility", mobility.column(7));
    plan.bind_output("pressure", pressure.column(7));
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());

    const EmulatedDevice::Counts before = device->counts();
    std::atomic<bool> is_produced{false};
    std::vector<double> seen(7);
    device->enqueue(stream.get(), [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::copy(points.mobility.begin(), points.mobility.end(), mobility.data());
        is_produced = true;
    });
    plan.run();
    EXPECT_FALSE(is_produced) << "the run waited for its input";
    device->enqueue(stream.get(),
                    [&] { std::copy(pressure.data(), pressure.data() + 7, seen.begin()); });
    plan.run();
    EXPECT_FALSE(is_produced);
    const EmulatedDevice::Counts after = device->counts();
    EXPECT_EQ(after.n_synchronize, before.n_synchronize);
    EXPECT_LE(after.n_query, before.n_query + 1)
        << "the second run asks once for news of the first";
    EXPECT_EQ(after.n_graph_launch, before.n_graph_launch + 2);
    EXPECT_EQ(after.n_allocation, before.n_allocation);
    EXPECT_EQ(after.n_pinned_allocation, before.n_pinned_allocation);
    device->synchronize(stream.get());
    EXPECT_LE(relative_difference(seen, expected), 1e-14);
    EXPECT_EQ(surrogate_plan_wait(plan.get()), SURROGATE_SUCCESS);
}

TEST_F(DeviceFaults, WorkGoesOnInOrderWhenTheStreamChanges) {
    begin();
    DarcyCase points(first_rows(7)), other(first_rows(7));
    for (double& m : other.mobility) m += 0.5;
    const Domain domain = points.domain(*context);
    Plan plan(*model, domain, by_cuda);
    DeviceArray<double> a(*device, points.mobility), b(*device, other.mobility);
    DeviceArray<double> p(*device, points.pressure), q(*device, points.pressure);
    const impl::DeviceStream first(*device, device->create_stream());
    const impl::DeviceStream second(*device, device->create_stream());
    plan.set_stream(first.get());
    device->enqueue(first.get(),
                    [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });
    plan.bind_input("mobility", a.column(7));
    plan.bind_output("pressure", p.column(7));
    plan.run();
    plan.set_stream(second.get());
    plan.bind_input("mobility", b.column(7));
    plan.bind_output("pressure", q.column(7));
    plan.run();
    plan.wait();
    EXPECT_LE(relative_difference(p.get(), predict(*model, *context, points, by_cuda)), 1e-14);
    EXPECT_LE(relative_difference(q.get(), predict(*model, *context, other, by_cuda)), 1e-14);
}

/// Steps of a training and checkpoints do this. Two streams: no order between them is implied.
TEST_F(DeviceFaults, RunsThatAreEnqueuedReadTheWeightsFromBeforeARefresh) {
    begin();
    DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    const std::vector<double> before = predict(*model, *context, points, by_cuda);
    Plan slow(*model, domain, by_cuda), quick(*model, domain, by_cuda);
    DeviceArray<double> mobility(*device, points.mobility);
    DeviceArray<double> p(*device, points.pressure), q(*device, points.pressure);
    const impl::DeviceStream first(*device, device->create_stream());
    const impl::DeviceStream second(*device, device->create_stream());
    slow.bind_input("mobility", mobility.column(7));
    slow.bind_output("pressure", p.column(7));
    quick.bind_input("mobility", mobility.column(7));
    quick.bind_output("pressure", q.column(7));
    slow.set_stream(first.get());
    quick.set_stream(second.get());
    device->enqueue(first.get(),
                    [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
    slow.run();
    quick.run();
    const std::shared_ptr<impl::MasterWeights>& weights = model->get()->model->weights();
    for (float& value : weights->values()) value *= 0.75F;
    weights->refresh();
    slow.wait();
    quick.wait();
    EXPECT_LE(relative_difference(p.get(), before), 1e-14);
    EXPECT_LE(relative_difference(q.get(), before), 1e-14);
    slow.run();
    slow.wait();
    const std::vector<double> after = predict(*model, *context, points, by_cuda);
    EXPECT_LE(relative_difference(p.get(), after), 1e-14);
    EXPECT_GT(relative_difference(after, before), 1e-6);
}

TEST_F(DeviceFaults, AStreamThatIsBeingCapturedIsRefusedAndItsCaptureStaysValid) {
    begin();
    DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    const std::vector<double> expected = predict(*model, *context, points, by_cuda);
    Plan plan(*model, domain, by_cuda);
    DeviceArray<double> mobility(*device, points.mobility), pressure(*device, points.pressure);
    plan.bind_input("mobility", mobility.column(7));
    plan.bind_output("pressure", pressure.column(7));
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());
    plan.run();  // still pending when the capture begins
    int n_done = 0;
    device->begin_capture(stream.get());
    device->enqueue(stream.get(), [&] { ++n_done; });
    for (int i = 0; i < 70; ++i) {  // more than may be ahead of the host
        const Answer found = answer(surrogate_plan_run(plan.get()));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says("is being captured")) << found;
    }
    EXPECT_EQ(surrogate_plan_run_with_error(plan.get(), SURROGATE_IO, "no file"), SURROGATE_IO);
    EXPECT_EQ(surrogate_plan_wait(plan.get()), SURROGATE_SUCCESS);
    const Answer set = answer(surrogate_plan_set_stream(plan.get(), stream.get()));
    EXPECT_EQ(set.status, SURROGATE_NOT_SUPPORTED) << set;
    const impl::DeviceGraph graph(*device, device->end_capture(stream.get()));
    device->launch(graph.get(), stream.get());
    device->synchronize(stream.get());
    EXPECT_EQ(n_done, 1);
    EXPECT_LE(relative_difference(pressure.get(), expected), 1e-14);
    pressure.put(std::vector<double>(7, 0));
    plan.run();
    plan.wait();
    EXPECT_LE(relative_difference(pressure.get(), expected), 1e-14);
    EXPECT_EQ(device->counts().n_wrong, 0);
}

TEST_F(DeviceFaults, APlanMayGoWhileItsRunIsUnderWay) {
    begin();
    DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    const impl::DeviceStream stream(*device, device->create_stream());
    DeviceArray<double> mobility(*device, points.mobility), pressure(*device, points.pressure);
    const std::vector<int64_t> before = alive(*device);
    {
        Plan plan(*model, domain, by_cuda);
        plan.bind_input("mobility", mobility.column(7));
        plan.bind_output("pressure", pressure.column(7));
        plan.set_stream(stream.get());
        device->enqueue(stream.get(),
                        [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
        plan.run();
    }
    EXPECT_EQ(alive(*device), before);
    EXPECT_LE(relative_difference(pressure.get(), predict(*model, *context, points, by_cuda)),
              1e-14);
}

TEST_F(DeviceFaults, AWaitEndsAfterTheTimeLimit) {
    emulated_device() = EmulatedDevice();
    device = std::make_unique<EmulatedDevice>(emulated_device());
    impl::Options options;
    options.set("timeout_s", "1");
    context = std::make_unique<Context>(
        device_context(emulated_kind, impl::self_communicator(), options));
    model = std::make_unique<Model>(*context, small_darcy_model());
    DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    Plan plan(*model, domain, by_cuda);
    points.bind(plan);
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());
    std::atomic<bool> may_end{false};
    device->enqueue(stream.get(), [&] {
        while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    const Answer late = answer(surrogate_plan_run(plan.get()));
    may_end = true;
    EXPECT_EQ(late.status, SURROGATE_DEVICE);
    EXPECT_TRUE(late.says("timeout_s")) << late;
}

// ---- devices that are not there ----

const impl::DevicePlugin& no_plugin() {
    throw kernels::Error(kernels::Status::not_supported, "libx.so: cannot open shared object file");
}

/// Device code of other families only.
const impl::DevicePlugin& plugin_without_kernels() {
    static const impl::DevicePlugin plugin = [] {
        impl::DevicePlugin made = emulated_plugin();
        made.tables = {};
        return made;
    }();
    return plugin;
}

TEST_F(DeviceFaults, AFamilyWithoutKernelsInThePluginIsRefusedByName) {
    const Context without =
        device_context({"WithoutKernels", plugin_without_kernels}, impl::self_communicator());
    const Model its_model(without, small_darcy_model());
    const Domain domain = DarcyCase(first_rows(7)).domain(without);
    surrogate_plan* plan = nullptr;
    const Answer refused =
        answer(surrogate_plan_create(its_model.get(), domain.get(), nullptr, by_cuda.get(), &plan));
    EXPECT_EQ(refused.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(refused.says("the plug-in has no kernels of family 'flare'")) << refused;
}

TEST_F(DeviceFaults, WithoutADeviceOnlyBackendCudaIsRefused) {
    const DeviceKind none{"None", no_plugin};
    const Context without = device_context(none, impl::self_communicator());
    EXPECT_NE(without.describe().find("ref, simd; not cuda: libx.so: cannot open"),
              std::string::npos)
        << without.describe();
    const Model its_model(without, small_darcy_model());
    DarcyCase points(first_rows(7));
    const Domain domain = points.domain(without);
    surrogate_plan* plan = nullptr;
    const Answer refused =
        answer(surrogate_plan_create(its_model.get(), domain.get(), nullptr, by_cuda.get(), &plan));
    EXPECT_EQ(refused.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(refused.says("libx.so: cannot open")) << refused;
    EXPECT_EQ(Plan(its_model, domain).option("backend"), "simd");

    impl::Options wanted;
    wanted.set("backend", "cuda");
    try {
        device_context(none, impl::self_communicator(), wanted);
        ADD_FAILURE() << "a context without its device";
    } catch (const kernels::Error& error) {
        EXPECT_EQ(error.status(), kernels::Status::not_supported) << error.what();
    }
}

TEST_F(DeviceFaults, AContextHasOneDeviceAndSaysSo) {
    begin();
    const DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    EXPECT_EQ(make_plan(domain, {{"backend", "cuda"}, {"device", "1"}}).status,
              SURROGATE_NOT_SUPPORTED)
        << "there is one emulated device";
    EXPECT_EQ(make_plan(domain, {{"backend", "cuda"}, {"device", "0"}}).status, SURROGATE_SUCCESS);
    const Answer other = make_plan(domain, {{"backend", "cuda"}, {"device", "1"}});
    EXPECT_EQ(other.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(other.says("'device' is 1") && other.says("device 0")) << other;
}

TEST_F(DeviceFaults, WhatFp16CannotHoldIsNamed) {
    const GoldenFile file(small_darcy_model());
    ModelWriter writer;
    for (const std::string& name : file.names()) {
        const GoldenTensor tensor = file.tensor(name);
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        if (name == "blocks.1.mlp.fc2.weight") values[3] = 70000;
        writer.tensors.push_back(float_tensor(name, tensor.shape, values));
    }
    writer.card = file.card();
    const std::string path = testing::TempDir() + "/heavy.safetensors";
    std::ofstream(path, std::ios::binary) << writer.bytes();
    begin();
    model = std::make_unique<Model>(*context, path);
    const DarcyCase points(first_rows(7));
    const Domain domain = points.domain(*context);
    const Answer half = make_plan(domain, {{"backend", "cuda"}, {"precision", "fp16"}});
    EXPECT_EQ(half.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(half.says("70000") && half.says("blocks.1.mlp")) << half;
    EXPECT_EQ(make_plan(domain, {{"backend", "cuda"}, {"precision", "bf16"}}).status,
              SURROGATE_SUCCESS);
}

}  // namespace
}  // namespace surrogate::test
