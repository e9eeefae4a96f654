// SPDX-License-Identifier: Apache-2.0
// Training sets of the shallow water: the stored run, hourly states, files.
#include <gtest/gtest.h>

#include <cmath>

#include "data.hpp"
#include "stop.hpp"
#include "tests/examples/shallow_water_support.hpp"
#include "tests/support/found_dataset.hpp"
#include "tests/support/shared_folder.hpp"

namespace {

using shallow_water::Layout;
using shallow_water::Settings;
using shallow_water::Solver;
using surrogate::test::bytes_of;
using surrogate::test::FoundDataset;
using surrogate::test::GoldenTensor;
using surrogate::test::rank_of;
using surrogate::test::read_golden;
using surrogate::test::SharedFolder;

constexpr const char* names[] = {"geopotential", "vorticity", "divergence"};

void make(MPI_Comm comm, const std::vector<std::string>& arguments) {
    const Settings settings = Settings::read(arguments);
    Solver solver(Layout(comm, settings.resolution), settings.dt_s, settings.official_rounding);
    shallow_water::make_data(settings, solver);
}

class ShallowWaterData : public testing::Test {
protected:
    /// A set of three hours on a small grid.
    std::string small(MPI_Comm comm, const std::string& name, const char* seed = "4") {
        const std::string path = folder_ / name;
        make(comm, {"-data", path, "-runs", "2", "-days", "0.125", "-seed", seed, "-nlat", "32",
                    "-nlon", "64", "-L", "11"});
        return path;
    }
    const SharedFolder folder_{MPI_COMM_WORLD};
};

/// The published solver in single precision, from the same state: hour 1 and hour 24.
TEST_F(ShallowWaterData, GoesOnAsTheStoredRun) {
    const std::string stored = SURROGATE_TEST_DATA "/shallow_water/states.safetensors";
    const GoldenTensor states = read_golden(stored, "run/states");
    const std::vector<double> start = states.part(0);
    if (rank_of(MPI_COMM_WORLD) == 0)
        surrogate::test::write_bytes(folder_ / "start",
                                     std::string(reinterpret_cast<const char*>(start.data()),
                                                 start.size() * sizeof(double)));
    MPI_Barrier(MPI_COMM_WORLD);
    make(MPI_COMM_WORLD, {"-data", folder_ / "run.h5", "-runs", "1", "-days", "1", "-initial",
                          folder_ / "start", "-official_rounding"});
    const FoundDataset found(folder_ / "run.h5");
    constexpr size_t n = 64 * 128;
    const struct {
        int64_t stored;
        size_t hour;
        double bound[3];
    } cases[] = {
        {0, 0, {1e-6, 1e-5, 1e-4}}, {1, 1, {1e-5, 1e-4, 1e-3}}, {2, 24, {1e-4, 1e-3, 1e-2}}};
    for (const auto& c : cases) {
        const std::vector<double> expected = states.part(c.stored);
        for (size_t f = 0; f < 3; ++f) {
            const std::vector<double> all = found.numbers(names[f]);
            ASSERT_EQ(all.size(), 25 * n);
            double error = 0, size = 0;
            for (size_t i = 0; i < n; ++i) {
                const double d = all[c.hour * n + i] - expected[f * n + i];
                error += d * d;
                size += expected[f * n + i] * expected[f * n + i];
            }
            EXPECT_LE(std::sqrt(error / size), c.bound[f]) << names[f] << ", hour " << c.hour;
        }
    }
}

TEST_F(ShallowWaterData, HasTheStatesOfItsRuns) {
    const FoundDataset found(small(MPI_COMM_WORLD, "set.h5"));
    constexpr size_t n = 32 * 64;
    Solver alone(Layout(MPI_COMM_SELF, {32, 64, 11}), 150, false);
    shallow_water::State state = alone.new_state();
    shallow_water::Fields fields = alone.new_fields();
    for (size_t run = 0; run < 2; ++run) {
        shallow_water::perturbed_jet(alone, 4 + run, &state);
        alone.step(24, &state);
        alone.step(24, &state);
        alone.to_grid(state, &fields);
        for (size_t f = 0; f < 3; ++f) {
            const std::vector<double> all = found.numbers(names[f]);
            ASSERT_EQ(all.size(), 2 * 4 * n);
            for (size_t i = 0; i < n; ++i)
                ASSERT_EQ(all[(run * 4 + 2) * n + i],
                          static_cast<double>(static_cast<float>(fields[f * n + i])));
        }
    }
    EXPECT_EQ(found.numbers("time"), (std::vector<double>{0, 3600, 7200, 10800}));
    EXPECT_EQ(found.axes("vorticity"), (std::vector<std::string>{"sample", "time", "lat", "lon"}));
    EXPECT_EQ(found.text("lat", "units"), "degrees_north");
    EXPECT_EQ(found.text("", "grid"), "legendre-gauss");
    EXPECT_GT(found.numbers("lat").front(), 80);
}

TEST_F(ShallowWaterData, HasTheSameBytesOnAnyRanks) {
    const std::string together = small(MPI_COMM_WORLD, "set.h5");
    const std::string alone =
        small(MPI_COMM_SELF, "rank_" + std::to_string(rank_of(MPI_COMM_WORLD)) + ".h5");
    EXPECT_TRUE(bytes_of(together) == bytes_of(alone));
    EXPECT_FALSE(bytes_of(small(MPI_COMM_WORLD, "other.h5", "5")) == bytes_of(alone));
}

TEST_F(ShallowWaterData, ThatCannotBeWrittenStopsAllRanks) {
    EXPECT_THROW(small(MPI_COMM_WORLD, "none/set.h5"), shallow_water::Stop);
    EXPECT_TRUE(folder_.names().empty());
}

TEST(ShallowWaterDataSettings, AreThoseOfTheTrainedModelUnlessGiven) {
    const Settings s = Settings::read({"-data", "x.h5"});
    EXPECT_EQ(s.n_hour, 144);
    EXPECT_EQ(s.n_run, 20);
    EXPECT_EQ(s.initial, "perturbed");
    EXPECT_EQ(Settings::read({"-data", "x.h5", "-days", "1"}).n_hour, 24);
    EXPECT_EQ(Settings::read({"-data", "x.h5", "-initial", "random"}).initial, "random");
    for (const std::vector<std::string>& bad : {std::vector<std::string>{"-runs", "3"},
                                                {"-data", "x.h5", "-runs", "0"},
                                                {"-data", "x.h5", "-output", "y"}})
        EXPECT_THROW(Settings::read(bad), std::invalid_argument) << bad.back();
}

}  // namespace
