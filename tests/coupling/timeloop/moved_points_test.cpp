// SPDX-License-Identifier: Apache-2.0
// Points that move under a loop.
#include <surrogate/surrogate_train.hpp>

#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

TEST(TimeLoopMovedPoints, AreRefusedUntilFieldsAreBoundAgain) {
    HeightLoop c;
    Points fewer(own_rows("contiguous", 15, c.comm));
    c.domain.update_points(fewer.points());
    const Answer found = answer(surrogate_timeloop_step(c.loop.get(), 1, nullptr));
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("rebind it")) << found;
    EXPECT_EQ(found, answer_of_rank_0(found, c.comm));
    c.loop.bind("height", column(fewer.height.data(), fewer.n()));
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
}

/// Steps of an Erwin model, whose card has the number of neighbors, on points that move: the same
/// on any ranks, and on a loop that begins at the second place.
TEST(TimeLoopMovedPoints, HaveOtherNeighbors) {
    const nlohmann::json card = {
        {"format", 1},
        {"family", "erwin"},
        {"network",
         {{"dimensionality", 1},
          {"c_in", 1},
          {"c_out", 1},
          {"neighbors", 3},
          {"mp_steps", 2},
          {"c_hidden", {4, 4}},
          {"ball_sizes", {8, 4}},
          {"enc_num_heads", {1, 1}},
          {"enc_depths", {1, 1}},
          {"dec_num_heads", {1}},
          {"dec_depths", {1}},
          {"strides", {2}}}},
        {"inputs", {coordinate_entry(), input_entry("height", 10, 2, 4, 16)}},
        {"outputs", {field_entry("height", 10, 2)}}};
    constexpr int64_t n_row = 24;
    const auto stepped = [&](MPI_Comm comm, bool is_moved) {
        const Context context = mpi_context(comm, {{"threads", "1"}});
        const Model model = initialized_model(context, card.dump(), 3);
        Points own(own_rows("scattered", n_row, comm));
        const auto move = [&] {
            for (double& x : own.x) x = std::fmod(7 * x, 1.0);
        };
        if (is_moved) move();
        Domain domain(context, own.points());
        Plan plan(model, domain);
        TimeLoop loop(plan);
        loop.bind("height", column(own.height.data(), own.n()), "m");
        if (!is_moved) {
            EXPECT_EQ(loop.step(1), StepOutcome::accepted);
            const Points begin(own.rows);
            move();
            own.height = begin.height;
            domain.update_points(own.points());
            loop.bind("height", column(own.height.data(), own.n()), "m");
        }
        for (int i = 0; i < 3; ++i) EXPECT_EQ(loop.step(1), StepOutcome::accepted);
        std::vector<double> ordered(n_row);
        const std::vector<int64_t> rows = gathered(own.rows, comm);
        const std::vector<double> found = gathered(own.height, comm);
        for (size_t i = 0; i < rows.size(); ++i) ordered[static_cast<size_t>(rows[i])] = found[i];
        return ordered;
    };
    const std::vector<double> moved = stepped(MPI_COMM_WORLD, false);
    EXPECT_EQ(moved, stepped(MPI_COMM_WORLD, true));
    EXPECT_EQ(moved, stepped(MPI_COMM_SELF, true));
    EXPECT_NE(moved, Points(own_rows("contiguous", n_row, MPI_COMM_SELF)).height);
}

}  // namespace
}  // namespace surrogate::test
