// SPDX-License-Identifier: Apache-2.0
// Messages longer than one MPI call carries go in pieces. Here a call carries a few bytes: what a
// run sends is cut as messages above 1 GiB are.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// A context whose messages are cut into pieces of so many bytes.
Context context_of(int64_t longest_piece) {
    auto handle = std::make_unique<surrogate_context>();
    handle->context = std::make_shared<impl::Context>(impl::mpi_communicator(world, longest_piece),
                                                      impl::Options{}, impl::Placement{});
    handle->context->open();
    return Context(handle.release());
}

/// The first run of a plan, which no warm-up has made room for.
void expect_first_run_takes_no_memory(const Plan& plan) {
    const MemoryMeter meter;
    const surrogate_status status = surrogate_plan_run(plan.get());
    const int64_t n_allocation = meter.n_allocation();
    EXPECT_EQ(status, SURROGATE_SUCCESS);
    EXPECT_EQ(n_allocation, 0);
}

class Pieces : public testing::TestWithParam<int64_t> {};

TEST_P(Pieces, InReproducibleModeTakeNoMemoryInARun) {
    const auto predictions = [](const Context& context) {
        const Model model(context, darcy_model);
        DarcyCase points(own_rows("scattered", 3000, world));
        const Domain domain = points.domain(context);
        Plan plan(model, domain, {{"reproducible", "true"}, {"threads", "1"}});
        points.bind(plan);
        expect_first_run_takes_no_memory(plan);
        return points.pressure;
    };
    EXPECT_EQ(predictions(context_of(GetParam())), predictions(mpi_context(world)));
}

TEST_P(Pieces, OfRowsWiderThanTheirKeysTakeNoMemoryInARun) {
    constexpr int64_t width = 40;  // numbers a row: far more than planning exchanges
    const auto context = std::make_shared<impl::Context>(impl::mpi_communicator(world, GetParam()),
                                                         impl::Options{}, impl::Placement{});
    const DarcyCase points(own_rows("scattered", 300, world));
    const surrogate_points given = points.points();
    const impl::PointDomain domain(context, &given);
    impl::RowExchange<double> rows(context->comm(), impl::canonical_route(domain, 16), width);
    const auto value = [&](int64_t i, int64_t c) {
        return static_cast<double>(points.ids[static_cast<size_t>(i)] * width + c);
    };
    for (int64_t i = 0; i < points.n() * width; ++i) rows.solver()[i] = value(i / width, i % width);
    {
        const MemoryMeter meter;
        rows.to_canonical(width);
        std::fill_n(rows.solver(), points.n() * width, -1.0);
        rows.to_solver(width);
        EXPECT_EQ(meter.n_allocation(), 0);
    }
    for (int64_t i = 0; i < points.n() * width; ++i)
        ASSERT_EQ(rows.solver()[i], value(i / width, i % width));
}

TEST_P(Pieces, OfHalosOnTheSphereTakeNoMemoryInARun) {
    const ModelOnDisk file(
        changed(small_attention(), {{"in_shape", {13, 24}}, {"out_shape", {13, 24}}}), 4, 4);
    const auto predictions = [&](const Context& context) {
        const Model model(context, file.path());
        SphereRun run(context, model, {.name = "", .partition = "scattered"}, {{"threads", "1"}});
        run.fill(wave_inputs(model));
        run.bind();
        expect_first_run_takes_no_memory(run.plan);
        return run.result().points();
    };
    EXPECT_EQ(predictions(context_of(GetParam())), predictions(mpi_context(world)));
}

// Pieces that cut numbers in half, and the last of a message is short.
INSTANTIATE_TEST_SUITE_P(Bytes, Pieces, testing::Values(5, 100),
                         [](const auto& n) { return std::to_string(n.param); });

}  // namespace
}  // namespace surrogate::test
