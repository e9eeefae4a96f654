// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "settings.hpp"

namespace shallow_water {

/// One hour of a run. A method that does not run has a depth of 0.
struct Sample {
    int64_t hour = 0;  ///< since the start of forecasts
    Budget solver, emulator;
    PerField error{}, persistence{};  ///< against the solver: of the emulator, of the initial state
};

struct Cost {
    int64_t n_hour = 0;
    double seconds = 0;  ///< of this rank
};

/// Results of a run.
struct Record {
    std::vector<Sample> samples;  ///< of all hours that were kept
    Cost solver, emulator;
    int64_t lost_hour = -1;       ///< first hour with emulator values that are not finite
    int64_t hand_over_hour = -1;  ///< hour from which the solver continued
    std::string reason;           ///< reason of the hand-over
    std::string guards;           ///< results of the guards: a table, or ""
    std::string picture;          ///< description of the figure
};

/// Runs solver, emulator or both, hour by hour. Functions are collective.
class Forecast {
public:
    /// emulator null: there is none, and the solver computes all hours.
    Forecast(const Settings& settings, Solver& solver, Emulator* emulator);

    /// Begins from the initial state or the saved one of the settings.
    void begin();
    /// Runs the hours of the settings; writes files, if requested.
    void go();

    const Record& record() const { return record_; }
    const Progress& progress() const { return progress_; }

private:
    bool guards() const;
    void open_files();
    void solve_hour();
    bool emulate_hour();
    void mark();
    void believe_later();
    void hand_over();
    void keep(int64_t hour, const Fields& emulated);
    void measure(int64_t hour, const Fields& solved, const Fields& emulated);
    void draw(int64_t hour, const Fields& solved, const Fields& emulated);
    double largest_vorticity(const Fields& fields) const;

    Settings settings_;
    Solver& solver_;
    Emulator* emulator_;
    Progress progress_;
    Record record_;
    bool solver_runs_ = false, emulator_runs_ = false;
    int64_t end_hour_ = 0;
    // With -check_every: the hour of the emulator's mark, and later states that are not yet
    // written.
    int64_t marked_hour_ = 0;
    std::vector<Fields> unmarked_;
    std::unique_ptr<Series> solver_series_, emulator_series_;
};

}  // namespace shallow_water
