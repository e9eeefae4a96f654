// SPDX-License-Identifier: Apache-2.0
// Points that move under plans with backend cuda, on emulated devices: results are bitwise
// identical to a new plan, on the caller's stream as before.
#include <cmath>
#include <vector>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class DeviceMoves : public testing::Test {
protected:
    static Context ranks_context(int64_t memory_bytes = int64_t{1} << 30) {
        kernels::DeviceProperties properties = EmulatedDevice::default_properties();
        properties.memory_bytes = memory_bytes;
        properties.uuid = {9, static_cast<uint8_t>(1 + rank_of(world))};
        emulated_device() = EmulatedDevice(properties);
        return device_context(emulated_kind, impl::mpi_communicator(world));
    }
    static DarcyCase pushed(std::vector<int64_t> rows, double by) {
        DarcyCase points(std::move(rows));
        for (size_t i = 0; i < points.x.size(); i += 2)
            points.x[i] = std::fmod(points.x[i] + by, 1.0);
        return points;
    }

    const Context context = ranks_context();
    const Model model{context, small_darcy_model()};
    DarcyCase first{own_rows("contiguous", 40, world)};
    Domain domain = first.domain(context);
};

TEST_F(DeviceMoves, GiveTheBitsOfAPlanMadeAnew) {
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"reproducible", reproducible}};
        Plan plan(model, domain, options);
        double by = 0;
        for (const auto& [partition, n] :
             std::vector<std::pair<const char*, int64_t>>{{"contiguous", 40},
                                                          {"uneven", 90},
                                                          {"scattered", 7},
                                                          {"contiguous", 0},
                                                          {"scattered", 70}}) {
            DarcyCase points = pushed(own_rows(partition, n, world), by += 0.25);
            domain.update_points(points.points());
            const std::vector<double> anew = predict(model, context, points, options);
            points.bind(plan);
            plan.run();
            EXPECT_EQ(points.pressure, anew) << reproducible << " " << partition << " " << n;
        }
    }
}

TEST_F(DeviceMoves, KeepTheStreamAndWhatWasFoundOnIt) {
    const std::unique_ptr<kernels::Device> device = emulated_plugin().open(-1);
    Plan plan(model, domain, {{"backend", "cuda"}});
    const impl::DeviceStream stream(*device, device->create_stream());
    plan.set_stream(stream.get());
    const DeviceArray<double> good(*device, first.mobility);
    std::vector<double> with_nan = first.mobility;
    with_nan.front() = NAN;
    const DeviceArray<double> bad(*device, with_nan);
    DeviceArray<double> pressure(*device, first.pressure);
    plan.bind_input("mobility", good.column(first.n()));
    plan.bind_output("pressure", pressure.column(first.n()));
    for (int run = 0; run < 70; ++run) plan.run();  // more than are kept
    plan.wait();
    const std::vector<double> expected = pressure.get();
    plan.bind_input("mobility", bad.column(first.n()));
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS) << "only enqueued";

    domain.update_points(pushed(first.ids, 0.5).points());
    domain.update_points(first.points());
    plan.bind_input("mobility", good.column(first.n()));
    const Answer late = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(late.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(late.says("run 71 ") && late.says("local point 0 before the points moved")) << late;
    plan.wait();
    EXPECT_EQ(pressure.get(), expected);

    plan.bind_input("mobility", bad.column(first.n()));
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS) << "only enqueued, as before";
    const Answer waited = answer(surrogate_plan_wait(plan.get()));
    EXPECT_TRUE(waited.says("run 73 ") && waited.says("id " + std::to_string(first.ids[0])))
        << waited;
}

TEST_F(DeviceMoves, BeyondTheMemoryOfADeviceAreErrorsUntilThereIsRoom) {
    const Context small_context = ranks_context(int64_t{2} << 20);
    const Model small_model(small_context, small_darcy_model());
    Domain small_domain = first.domain(small_context);
    Plan plan(small_model, small_domain, {{"backend", "cuda"}});
    const DarcyCase many(own_rows("contiguous", 400000, world));
    small_domain.update_points(many.points());
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Answer found = answer(surrogate_plan_run(plan.get()));
        EXPECT_EQ(found.status, SURROGATE_NO_MEMORY) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_NE(plan.describe().find("the next run tries again"), std::string::npos);
        EXPECT_EQ(plan.counter("workspace_bytes"), 0);
        EXPECT_EQ(surrogate_plan_wait(plan.get()), SURROGATE_SUCCESS);
    }
    small_domain.update_points(first.points());
    first.bind(plan);
    plan.run();
    EXPECT_EQ(first.pressure, predict(small_model, small_context, first, {{"backend", "cuda"}}));
    EXPECT_GT(plan.counter("workspace_bytes"), 0);
}

TEST_F(DeviceMoves, RefuseBlocks) {
    Plan plan(model, domain, {{"backend", "cuda"}});
    const surrogate_block some = block(first.mobility.data(), {first.n()}, {1});
    const Answer found =
        answer(surrogate_plan_bind_input_block(plan.get(), "mobility", nullptr, &some));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("backend=cuda") && found.says("backend=simd")) << found;
}

}  // namespace
}  // namespace surrogate::test
