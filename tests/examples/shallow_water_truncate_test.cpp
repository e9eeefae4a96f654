// SPDX-License-Identifier: Apache-2.0
// Effect of -truncate on an emulated hour.
#include <gtest/gtest.h>

#include "measure.hpp"
#include "tests/examples/shallow_water_support.hpp"
#include "truncate.hpp"

namespace {

using shallow_water::Fields;
using shallow_water::Layout;
using shallow_water::n_field;
using shallow_water::Resolution;
using shallow_water::Solver;
using shallow_water::State;
using surrogate::test::distance;

class ShallowWaterTruncate : public testing::Test {
protected:
    ShallowWaterTruncate() : before_(solver_.new_fields()) {
        State state = solver_.new_state();
        shallow_water::perturbed_jet(solver_, 3, &state);
        solver_.to_grid(state, &before_);
    }
    /// A field that an emulator might predict: short waves, and other means.
    Fields emulated() const {
        Fields fields = before_;
        const auto n = static_cast<std::size_t>(layout_.n_point());
        for (std::size_t f = 0; f < n_field; ++f)
            for (std::size_t i = 0; i < n; ++i)
                fields[f * n + i] += size_[f] * (1 + (i % 2 == 0 ? 1 : -1));
        return fields;
    }

    Layout layout_{MPI_COMM_WORLD, Resolution{}};
    Solver solver_{layout_, 150, false};
    const double size_[n_field] = {100, 1e-6, 1e-7};
    Fields before_;
};

TEST_F(ShallowWaterTruncate, PutsBackWhatTheSolverCouldHaveMade) {
    Fields fields = emulated();
    ASSERT_GT(distance(layout_, fields, before_, shallow_water::vorticity), 1e-3);
    truncate(solver_, before_, &fields);
    for (int64_t f = 0; f < n_field; ++f)
        EXPECT_LE(distance(layout_, fields, before_, f), 1e-10) << f;
}

TEST_F(ShallowWaterTruncate, KeepsMassAndLongWavesAndIsDoneOnce) {
    // An hour of the solver is what it may have made: nothing but rounding changes.
    State state = solver_.new_state();
    solver_.to_state(before_, &state);
    solver_.step(24, &state);
    Fields later = solver_.new_fields();
    solver_.to_grid(state, &later);
    Fields fields = later;
    truncate(solver_, before_, &fields);
    for (int64_t f = 0; f < n_field; ++f) EXPECT_LE(distance(layout_, fields, later, f), 1e-9) << f;
    EXPECT_NEAR(budget_of(solver_, fields).depth_m, budget_of(solver_, before_).depth_m, 1e-8);
}

}  // namespace
