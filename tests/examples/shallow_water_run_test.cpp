// SPDX-License-Identifier: Apache-2.0
// The example's runs: arguments, saved states, files, pictures.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>
#include <stdexcept>

#include "forecast.hpp"
#include "picture.hpp"
#include "stop.hpp"
#include "tests/examples/shallow_water_support.hpp"

namespace {

using shallow_water::Fields;
using shallow_water::Forecast;
using shallow_water::Latitudes;
using shallow_water::Layout;
using shallow_water::Progress;
using shallow_water::Settings;
using shallow_water::Solver;
using shallow_water::State;
using shallow_water::Stop;
using surrogate::test::own_part;

using std::numbers::pi;

/// A path that the ranks of this job share and other jobs do not use.
std::string temporary(const std::string& name) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return testing::TempDir() + "shallow_water_" + std::to_string(size) + "_" + name;
}

/// The solver alone on a small grid, and what is asked beside that.
Settings small_run(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"-step", "solver", "-nlat", "32", "-nlon", "64", "-L", "11"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Settings::read(arguments);
}

Solver solver_of(const Settings& settings, MPI_Comm comm = MPI_COMM_WORLD) {
    return Solver(Layout(comm, settings.resolution), settings.dt_s, settings.official_rounding);
}

TEST(ShallowWaterSettings, ArgumentsAreRead) {
    const Settings s = Settings::read({"-step", "surrogate", "-days", "2.5", "-initial", "random",
                                       "-seed", "7", "-check_every", "3", "-L", "30", "-dt", "75"});
    EXPECT_EQ(s.step, shallow_water::Step::surrogate);
    EXPECT_EQ(s.n_hour, 60);
    EXPECT_EQ(s.initial, "random");
    EXPECT_EQ(s.seed, 7u);
    EXPECT_EQ(s.check_every, 3);
    EXPECT_EQ(s.resolution.n_degree, 30);
    EXPECT_EQ(s.steps_per_hour(), 48);
    EXPECT_FALSE(s.official_rounding);
    EXPECT_TRUE(Settings::read({"-official_rounding"}).official_rounding);
    EXPECT_TRUE(Settings::read({"-help"}).asks_for_help);
}

TEST(ShallowWaterSettings, WhatCannotBeIsRefusedOnEveryRank) {
    const std::vector<std::string> bad[] = {
        {"-stepp", "solver"},   // unknown
        {"solver"},             // no flag
        {"-step", "solvers"},   // not one of three
        {"-days"},              // no value
        {"-days", "0"},         // nothing to do
        {"-days", "-1"},        //
        {"-days", "0.03"},      // not whole hours
        {"-days", "nan"},       //
        {"-days", "1e300"},     //
        {"-seed", "-3"},        //
        {"-seed", "3x"},        //
        {"-check_every", "3"},  // beside the solver there is nothing to hand over
        {"-step", "surrogate", "-check_every", "0"},
        {"-nlat", "64.5"},  //
        {"-L", ""},         //
        {"-dt", "0"},       //
        {"-dt", "-150"},    //
        {"-dt", "7"},       // does not divide an hour
        {"-dt", "1e-9"},    // too many steps
        {"-dt", "inf"},     //
    };
    for (const auto& arguments : bad)
        EXPECT_THROW(Settings::read(arguments), std::invalid_argument) << arguments.back();
}

TEST(ShallowWaterSettings, HelpNamesEveryOption) {
    for (const char* flag : {"-step", "-days", "-initial", "-seed", "-output", "-check_every",
                             "-save", "-restart", "-official_rounding", "-dt", "-L", "-picture"})
        EXPECT_NE(Settings::help().find(std::string("  ") + flag + " "), std::string::npos) << flag;
}

/// Twelve hours at once, and six hours twice: the results are bitwise identical. The second half
/// may have another number of ranks.
TEST(ShallowWaterRestart, GoesOnToTheBit) {
    const std::string path = temporary("restart");
    const Settings whole = small_run({"-days", "0.5", "-initial", "perturbed"});
    const Settings first = small_run({"-days", "0.25", "-initial", "perturbed"});
    const Settings second = small_run({"-days", "0.25", "-restart", path});
    Solver solver = solver_of(whole), alone = solver_of(whole, MPI_COMM_SELF);
    Forecast uninterrupted(whole, solver, nullptr), begun(first, solver, nullptr);
    uninterrupted.begin();
    uninterrupted.go();
    begun.begin();
    begun.go();
    EXPECT_NE(begun.progress().state, uninterrupted.progress().state);
    shallow_water::save(solver, begun.progress(), path);
    Forecast ended(second, solver, nullptr), ended_alone(second, alone, nullptr);
    ended.begin();
    ended.go();
    EXPECT_EQ(ended.progress().state, uninterrupted.progress().state);
    EXPECT_EQ(ended.progress().hour, 12);
    ended_alone.begin();
    ended_alone.go();
    Fields here = solver.new_fields(), there = alone.new_fields();
    solver.to_grid(uninterrupted.progress().state, &here);
    alone.to_grid(ended_alone.progress().state, &there);
    EXPECT_EQ(here, own_part(solver.layout(), there));
    MPI_Barrier(MPI_COMM_WORLD);
    std::remove(path.c_str());
}

TEST(ShallowWaterRestart, EmulatedFieldsAreStoredToo) {
    const std::string path = temporary("emulated");
    Solver solver = solver_of(small_run({}));
    Progress saved;
    saved.start_hour = 3;
    saved.hour = 5;
    saved.initial = saved.emulated = solver.new_fields();
    for (std::size_t i = 0; i < saved.initial.size(); ++i) {
        saved.initial[i] = std::sin(double(i) + solver.layout().rank());
        saved.emulated[i] = 1 / (double(i) + 1);
    }
    saved.has_emulated = true;
    shallow_water::save(solver, saved, path);
    const Progress found = shallow_water::restart(solver, path);
    EXPECT_EQ(found.start_hour, 3);
    EXPECT_EQ(found.hour, 5);
    EXPECT_FALSE(found.has_state);
    EXPECT_TRUE(found.has_emulated);
    EXPECT_EQ(found.initial, saved.initial);
    EXPECT_EQ(found.emulated, saved.emulated);
    MPI_Barrier(MPI_COMM_WORLD);
    std::remove(path.c_str());
}

TEST(ShallowWaterRestart, FilesThatDoNotFitAreRefusedOnEveryRank) {
    const std::string path = temporary("unfit");
    const Settings settings = small_run({});
    Solver solver = solver_of(settings);
    Forecast forecast(settings, solver, nullptr);
    forecast.begin();
    shallow_water::save(solver, forecast.progress(), path);
    EXPECT_NO_THROW(shallow_water::restart(solver, path));
    Solver finer(Layout(MPI_COMM_WORLD, {32, 64, 12}), 150, false);
    Solver slower(Layout(MPI_COMM_WORLD, settings.resolution), 75, false);
    EXPECT_THROW(shallow_water::restart(finer, path), Stop);
    EXPECT_THROW(shallow_water::restart(slower, path), Stop);
    EXPECT_THROW(shallow_water::restart(solver, path + "_not_there"), Stop);
    EXPECT_THROW(shallow_water::save(solver, forecast.progress(), path + "/below/a/file"), Stop);
    MPI_Barrier(MPI_COMM_WORLD);
    if (solver.layout().rank() == 0)
        std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_THROW(shallow_water::restart(solver, path), Stop);
    if (solver.layout().rank() == 0) std::ofstream(path) << std::string(4096, 'x');
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_THROW(shallow_water::restart(solver, path), Stop);
    MPI_Barrier(MPI_COMM_WORLD);
    std::remove(path.c_str());
}

TEST(ShallowWaterInitialFile, FieldsAreReadAsTheyWereWritten) {
    const std::string path = temporary("fields");
    Solver solver = solver_of(small_run({}));
    State jet = solver.new_state(), found = jet;
    Fields fields = solver.new_fields(), again = fields;
    shallow_water::galewsky_jet(solver, &jet);
    solver.to_grid(jet, &fields);
    std::vector<double> all;
    for (int64_t f = 0; f < shallow_water::n_field; ++f) {
        const std::vector<double> field =
            solver.layout().gather_rows(fields.data() + f * solver.layout().n_point());
        all.insert(all.end(), field.begin(), field.end());
    }
    if (!all.empty())
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(all.data()),
                   static_cast<std::streamsize>(all.size() * sizeof(double)));
    MPI_Barrier(MPI_COMM_WORLD);
    shallow_water::read_initial(solver, path, &found);
    solver.to_grid(found, &again);
    for (int64_t f = 0; f < shallow_water::vorticity + 1; ++f)
        EXPECT_LE(surrogate::test::distance(solver.layout(), again, fields, f), 1e-13) << f;
    if (solver.layout().rank() == 0) std::ofstream(path, std::ios::app) << "more";
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_THROW(shallow_water::read_initial(solver, path, &found), Stop);
    EXPECT_THROW(shallow_water::read_initial(solver, "galewski", &found), Stop);
    MPI_Barrier(MPI_COMM_WORLD);
    std::remove(path.c_str());
}

TEST(ShallowWaterPicture, SphereIsSeenFromAbove) {
    const Latitudes rows(64);
    const std::size_t n_lon = 128;
    const int64_t n = 101;
    std::vector<double> constant, north, east;
    for (std::size_t k = 0; k < 64; ++k)
        for (std::size_t j = 0; j < n_lon; ++j) {
            const double longitude = 2 * pi * double(j) / double(n_lon);
            constant.push_back(7);
            north.push_back(rows.sine[k]);
            east.push_back(rows.cosine[k] * std::sin(longitude - 1));
        }
    const double latitude = pi / 6;  // seen from 30 degrees north, 1 radian east
    const auto ones = shallow_water::orthographic(rows, constant, latitude, 1, n);
    const auto norths = shallow_water::orthographic(rows, north, latitude, 1, n);
    const auto easts = shallow_water::orthographic(rows, east, latitude, 1, n);
    for (std::size_t p = 0; p < ones.size(); ++p) {
        const double x = (2 * double(p % 101) + 1) / 101 - 1;
        const double y = (2 * double(p / 101) + 1) / 101 - 1;
        const double z2 = 1 - x * x - y * y;
        if (z2 < 0) {
            ASSERT_TRUE(std::isnan(ones[p]));
            continue;
        }
        ASSERT_NEAR(ones[p], 7, 1e-12);
        ASSERT_NEAR(norths[p], std::sqrt(z2) * 0.5 + y * std::sqrt(0.75), 2e-3);   // bilinear
        ASSERT_NEAR(easts[p], x, 2e-3 + (std::abs(norths[p]) > 0.99 ? 0.05 : 0));  // at the pole
    }
}

/// Contents of a file on rank 0.
std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

TEST(ShallowWaterOutput, SeriesAndPictureOfARun) {
    const std::string directory = temporary("output");
    const Settings settings =
        small_run({"-days", "0.25", "-output", directory, "-write_every", "2", "-picture", "4"});
    Solver solver = solver_of(settings);
    Forecast forecast(settings, solver, nullptr);
    forecast.begin();
    forecast.go();
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_NE(forecast.record().picture.find("hour 4"), std::string::npos)
        << forecast.record().picture;
    ASSERT_EQ(forecast.record().samples.size(), 7u);  // the start and six hours
    if (solver.layout().rank() == 0) {
        const std::string series = text_of(directory + "/solver.pvd");
        for (const char* time : {"\"0\"", "\"7200\"", "\"14400\"", "\"21600\""})
            EXPECT_NE(series.find(std::string("timestep=") + time), std::string::npos) << series;
        EXPECT_EQ(series.find("\"3600\""), std::string::npos);
        EXPECT_EQ(text_of(directory + "/vorticity.png").substr(1, 3), "PNG");
        EXPECT_FALSE(std::filesystem::exists(directory + "/surrogate.pvd"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (solver.layout().rank() == 0) std::filesystem::remove_all(directory);
}

TEST(ShallowWaterOutput, DirectoryThatCannotBeIsRefusedOnEveryRank) {
    const Settings settings = small_run({"-output", "/dev/null/below"});
    Solver solver = solver_of(settings);
    Forecast forecast(settings, solver, nullptr);
    forecast.begin();
    EXPECT_THROW(forecast.go(), Stop);
}

TEST(ShallowWaterRun, SolverThatBlowsUpStopsOnEveryRank) {
    const Settings settings = small_run({"-days", "5", "-dt", "3600"});
    Solver solver = solver_of(settings);
    Forecast forecast(settings, solver, nullptr);
    forecast.begin();
    EXPECT_THROW(forecast.go(), Stop);
}

TEST(ShallowWaterRun, EnergyFallsSlowlyAndMassIsKept) {
    const Settings settings = small_run({"-days", "1", "-initial", "perturbed"});
    Solver solver = solver_of(settings);
    Forecast forecast(settings, solver, nullptr);
    forecast.begin();
    forecast.go();
    const auto& samples = forecast.record().samples;
    ASSERT_EQ(samples.size(), 25u);
    EXPECT_NEAR(samples[24].solver.depth_m / samples[0].solver.depth_m, 1, 1e-14);
    EXPECT_NEAR(samples[24].solver.energy / samples[0].solver.energy, 1, 5e-3);
    EXPECT_NE(samples[24].solver.energy, samples[0].solver.energy);
    // Fluid at rest has g^2 h^2 / 2 of potential energy; the jet adds less than a percent.
    const double g = shallow_water::Planet::gravity, depth = samples[0].solver.depth_m;
    EXPECT_GT(samples[0].solver.energy, g * depth * depth / 2);
    EXPECT_LT(samples[0].solver.energy, g * depth * depth / 2 * 1.02);
}

}  // namespace
