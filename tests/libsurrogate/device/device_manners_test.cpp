// SPDX-License-Identifier: Apache-2.0
// Runs on a device inside a time loop that counts host allocations and traps invalid
// floating-point operations. The device does nothing, so that only the library's own work is seen.
#include <algorithm>
#include <cmath>

#include "tests/support/bsa_models.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/null_device.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

const DeviceKind null_kind{"Null", null_plugin};

TEST(DeviceManners, RunsTakeNoMemoryOnTheHostWhereverFieldsLie) {
    const Context context = device_context(null_kind, impl::self_communicator());
    const Model model(context, darcy_model);
    DarcyCase points(first_rows(5000));
    const Domain domain = points.domain(context);
    for (const char* reproducible : {"false", "true"}) {
        for (const bool is_there : {false, true}) {
            for (const bool has_stream : {false, true}) {
                Plan plan(model, domain,
                          {{"backend", "cuda"}, {"reproducible", reproducible}, {"threads", "1"}});
                points.bind(plan);
                if (is_there) {
                    // This device's memory is the host's.
                    plan.bind_input("mobility",
                                    on_device(column(points.mobility.data(), points.n())));
                    plan.bind_output("pressure",
                                     on_device(column(points.pressure.data(), points.n())));
                }
                if (has_stream) plan.set_stream(nullptr);
                plan.run();
                const TrapGuard traps;
                const MemoryMeter meter;
                for (int step = 0; step < 200; ++step) plan.run();
                surrogate_plan_wait(plan.get());
                const int64_t n_allocation = meter.n_allocation();
                EXPECT_EQ(n_allocation, 0) << reproducible << is_there << has_stream;
                EXPECT_EQ(plan.counter("runs"), 201);
            }
        }
    }
}

TEST(DeviceManners, RunsOnTheSphereTakeNoMemoryOnTheHost) {
    const Context context = device_context(null_kind, impl::self_communicator());
    for (const json& network :
         {small_transformer(), changed(small_transformer(), {{"attention_mode", "global"}}),
          changed(small_segformer(), {{"in_chans", 3}, {"out_chans", 3}})}) {
        const ModelOnDisk disk(network, 3, 3);
        const Model model(context, disk.path());
        SphereRun plan(context, model, {}, {{"backend", "cuda"}, {"threads", "1"}});
        plan.fill(wave_inputs(model));
        plan.bind();
        check(plan.run());
        const TrapGuard traps;
        const MemoryMeter meter;
        for (int step = 0; step < 20; ++step) plan.run();
        const int64_t n_allocation = meter.n_allocation();
        EXPECT_EQ(n_allocation, 0) << network;
        EXPECT_EQ(plan.plan.counter("runs"), 21);
    }
}

TEST(DeviceManners, RunsOfFamiliesOnTreesTakeNoMemoryOnTheHost) {
    const Context context = device_context(null_kind, impl::self_communicator());
    for (const std::string& bytes :
         {sequoia_model(small_sequoia()), bsa_network(small_bsa()).bytes()}) {
        const ModelOnDisk disk(bytes);
        const Model model(context, disk.path());
        const SequoiaCase points = SequoiaCase::wave(500);
        const Domain domain = points.domain(context);
        Plan plan(model, domain, {{"backend", "cuda"}, {"threads", "1"}});
        std::vector<double> y(500);
        const surrogate_named_array out{"y", matrix(y.data(), 500, 1)};
        check(surrogate_plan_run_network(plan.get(), 0, nullptr, 1, &out));
        const TrapGuard traps;
        const MemoryMeter meter;
        for (int step = 0; step < 20; ++step)
            surrogate_plan_run_network(plan.get(), 0, nullptr, 1, &out);
        const int64_t n_allocation = meter.n_allocation();
        EXPECT_EQ(n_allocation, 0) << model.describe();
        EXPECT_EQ(plan.counter("runs"), 21);
    }
}

// The kernels do nothing, and with its input on the device nothing is packed: the zeros of the
// memory come back in the card's unit, all of them, whatever thread unpacks.
TEST(DeviceManners, HostFieldsAreWrittenInTheirUnit) {
    const Context context = device_context(null_kind, impl::self_communicator());
    const Model model(context, small_darcy_model());
    DarcyCase points(first_rows(9000));
    const Domain domain = points.domain(context);
    for (const char* threads : {"1", "3"}) {
        Plan plan(model, domain, {{"backend", "cuda"}, {"threads", threads}});
        points.pressure.assign(points.pressure.size(), NAN);
        std::vector<float> first(points.mobility.begin(), points.mobility.end());
        plan.bind_output("pressure", column(points.pressure.data(), points.n()));
        plan.bind_input("mobility", on_device(column(first.data(), points.n())));
        plan.run();
        EXPECT_EQ(std::ranges::count(points.pressure, 0.01), points.n()) << threads;
    }
}

TEST(DeviceManners, LayersOfTheSphereAreRefused) {
    const Context context = device_context(null_kind, impl::self_communicator());
    const Model model(context, SURROGATE_TEST_DATA "/sphere/operators/resample_0.safetensors");
    const surrogate_domain_info in = model.input_domain(), out = model.output_domain();
    const auto whole = [&](const surrogate_domain_info& grid) {
        surrogate_sphere sphere{};
        sphere.grid = grid.grid;
        sphere.n_lat = sphere.n_lat_local = grid.n_lat;
        sphere.n_lon = sphere.n_lon_local = grid.n_lon;
        return Domain(context, sphere);
    };
    const Domain from = whole(in), to = whole(out);
    const Options options{{"backend", "cuda"}};
    surrogate_plan* plan = nullptr;
    EXPECT_EQ(surrogate_plan_create(model.get(), from.get(), to.get(), options.get(), &plan),
              SURROGATE_NOT_SUPPORTED);
    EXPECT_NE(std::string(surrogate_error(context.get())).find("not built for backend 'cuda'"),
              std::string::npos)
        << surrogate_error(context.get());
}

TEST(DeviceManners, WeightsOfPointsAreRefused) {
    const Context context = device_context(null_kind, impl::self_communicator());
    ModelParts<float> parts(SURROGATE_TEST_DATA "/flare/tiny.safetensors");
    parts.card["network"]["point_weights"] = true;
    const Model model(context, parts.card.dump(), parts.tensors());
    const double x[] = {0, 1}, weights[] = {1, 2};
    const Domain domain(context, surrogate_points{matrix(x, 2, 1), nullptr, nullptr, weights});
    for (const char* gradients : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"gradients", gradients}};
        surrogate_plan* plan = nullptr;
        EXPECT_EQ(
            surrogate_plan_create(model.get(), domain.get(), domain.get(), options.get(), &plan),
            SURROGATE_NOT_SUPPORTED);
        EXPECT_NE(std::string(surrogate_error(context.get())).find("network.point_weights"),
                  std::string::npos)
            << surrogate_error(context.get());
    }
}

/// A family that mixes the points it is given: when planned and when points move.
TEST(DeviceManners, SeveralCloudsAreRefused) {
    const Context context = device_context(null_kind, impl::self_communicator());
    const Model model(context, SURROGATE_TEST_DATA "/flare/tiny.safetensors");
    const double x[] = {0, 1};
    const int64_t clouds[] = {0, 0}, two_clouds[] = {0, 1};
    const auto points = [&](const int64_t* of_points) {
        return surrogate_points{matrix(x, 2, 1), nullptr, of_points, nullptr};
    };
    const auto expect_refused = [&](surrogate_status status) {
        EXPECT_EQ(status, SURROGATE_NOT_SUPPORTED);
        const std::string text = surrogate_error(context.get());
        EXPECT_NE(text.find("2 clouds, which backend 'cuda' does not compute"), std::string::npos)
            << text;
    };
    const Options options{{"backend", "cuda"}};
    surrogate_plan* none = nullptr;
    const Domain two(context, points(two_clouds));
    expect_refused(surrogate_plan_create(model.get(), two.get(), nullptr, options.get(), &none));
    Domain domain(context, points(clouds));
    Plan plan(model, domain, options);
    domain.update_points(points(two_clouds));
    for (int run = 0; run < 2; ++run) expect_refused(surrogate_plan_run(plan.get()));
}

}  // namespace
}  // namespace surrogate::test
