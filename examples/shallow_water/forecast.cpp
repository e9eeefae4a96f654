// SPDX-License-Identifier: Apache-2.0
#include "forecast.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "initial.hpp"
#include "stop.hpp"
#include "truncate.hpp"

namespace shallow_water {

namespace {

/// Adds the time between construction and the end of the scope, and one hour.
class Stopwatch {
public:
    explicit Stopwatch(Cost* cost) : cost_(cost) {}
    ~Stopwatch() {
        cost_->seconds += MPI_Wtime() - start_;
        ++cost_->n_hour;
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    Cost* cost_;
    double start_ = MPI_Wtime();
};

}  // namespace

Forecast::Forecast(const Settings& settings, Solver& solver, Emulator* emulator)
    : settings_(settings), solver_(solver), emulator_(emulator) {
    solver_runs_ = settings.step != Step::surrogate || !emulator;
    emulator_runs_ = settings.step != Step::solver && emulator;
}

/// Returns true if the emulator runs alone and is guarded.
bool Forecast::guards() const {
    return settings_.check_every > 0 && emulator_runs_;
}

void Forecast::begin() {
    if (!settings_.restart.empty()) {
        progress_ = restart(solver_, settings_.restart);
    } else {
        progress_.state = solver_.new_state();
        progress_.initial = progress_.emulated = solver_.new_fields();
        set_initial(settings_, solver_, &progress_.state);
        solver_.to_grid(progress_.state, &progress_.initial);
        progress_.has_state = true;
    }
    // A saved run of the other kind: each can start from the state of the other.
    if (solver_runs_ && !progress_.has_state) {
        solver_.to_state(progress_.emulated, &progress_.state);
        progress_.has_state = true;
    }
    if (emulator_runs_ && !progress_.has_emulated) {
        solver_.to_grid(progress_.state, &progress_.emulated);
        progress_.initial = progress_.emulated;
        progress_.start_hour = progress_.hour;
        progress_.has_emulated = true;
    }
    progress_.has_state = solver_runs_;
    progress_.has_emulated = emulator_runs_;
    end_hour_ = progress_.hour + settings_.n_hour;
}

void Forecast::open_files() {
    if (settings_.output.empty()) return;
    const Layout& layout = solver_.layout();
    const Latitudes& latitudes = solver_.transform().latitudes();
    make_directory(layout.comm(), settings_.output);
    if (emulator_runs_)
        emulator_series_ =
            std::make_unique<Series>(layout, latitudes, settings_.output, "surrogate");
    if (solver_runs_)
        solver_series_ = std::make_unique<Series>(layout, latitudes, settings_.output, "solver");
}

void Forecast::go() {
    open_files();
    if (guards()) {
        emulator_->watch();
        mark();
    }
    keep(progress_.hour, progress_.emulated);
    while (progress_.hour < end_hour_) {
        if (emulator_runs_ && !emulate_hour()) {
            if (guards()) {
                hand_over();
                continue;
            }
            if (!solver_runs_) return;  // no solver to continue with
        }
        if (solver_runs_) solve_hour();
        ++progress_.hour;
        if (guards())
            believe_later();
        else
            keep(progress_.hour, progress_.emulated);
    }
    if (settings_.check_every > 0 && emulator_) record_.guards = emulator_->report();
}

void Forecast::solve_hour() {
    const Stopwatch watch(&record_.solver);
    solver_.step(settings_.steps_per_hour(), &progress_.state);
}

/// Emulates an hour. Returns false if an hour was rejected.
bool Forecast::emulate_hour() {
    if (record_.lost_hour >= 0) return false;
    bool is_made = false;
    {
        const Stopwatch watch(&record_.emulator);
        const Fields before = settings_.truncates ? progress_.emulated : Fields();
        is_made = emulator_->step(&progress_.emulated);
        if (is_made && settings_.truncates) truncate(solver_, before, &progress_.emulated);
    }
    if (!is_made) record_.lost_hour = progress_.hour + 1;
    return is_made;
}

/// Accepts the emulated hours so far.
void Forecast::mark() {
    emulator_->mark(progress_.emulated);
    marked_hour_ = progress_.hour;
}

/// Stores an hour that the guards accepted. It counts when the next mark is reached without a
/// rejection, because hours shortly before a rejection are not reliable either.
void Forecast::believe_later() {
    unmarked_.push_back(progress_.emulated);
    if (progress_.hour % settings_.check_every != 0 && progress_.hour != end_hour_) return;
    for (std::size_t i = 0; i < unmarked_.size(); ++i)
        keep(marked_hour_ + 1 + int64_t(i), unmarked_[i]);
    unmarked_.clear();
    mark();
}

/// Continues with the solver from the mark; later states are discarded.
void Forecast::hand_over() {
    record_.reason = "in hour " + std::to_string(progress_.hour + 1) + " " + emulator_->reason();
    record_.hand_over_hour = marked_hour_;
    record_.lost_hour = -1;
    emulator_->rewind(&progress_.emulated);
    progress_.hour = marked_hour_;
    solver_.to_state(progress_.emulated, &progress_.state);
    unmarked_.clear();
    solver_runs_ = progress_.has_state = true;
    emulator_runs_ = progress_.has_emulated = false;
    if (solver_.layout().rank() == 0)
        std::printf("Hand-over: %s.\n           The solver continues from hour %lld.\n\n",
                    record_.reason.c_str(), static_cast<long long>(marked_hour_));
    std::swap(solver_series_, emulator_series_);  // one series, of the accepted hours
}

/// Measures, writes and draws an hour that counts.
void Forecast::keep(int64_t hour, const Fields& emulated) {
    Fields solved;
    if (solver_runs_) {
        solved = solver_.new_fields();
        solver_.to_grid(progress_.state, &solved);
    }
    measure(hour, solved, emulated);
    if (settings_.output.empty()) return;
    if (hour % settings_.write_every == 0 || hour == end_hour_) {
        if (solver_runs_) solver_series_->write(3600.0 * double(hour), solved);
        const bool is_there = emulator_runs_ && record_.lost_hour < 0;
        if (is_there) emulator_series_->write(3600.0 * double(hour), emulated);
    }
    const bool is_last = hour == end_hour_ && record_.picture.empty();
    if (hour == settings_.picture_hour || is_last) draw(hour, solved, emulated);
}

void Forecast::measure(int64_t hour, const Fields& solved, const Fields& emulated) {
    Sample sample;
    sample.hour = hour - progress_.start_hour;
    if (emulator_runs_) sample.emulator = budget_of(solver_, emulated);
    if (solver_runs_) {
        sample.solver = budget_of(solver_, solved);
        if (!std::isfinite(sample.solver.energy))
            throw Stop("the solver's fields are not finite at hour " + std::to_string(hour) +
                       "; a shorter -dt may help");
    }
    if (solver_runs_ && emulator_runs_) {
        const PerField mean = emulator_->means();
        sample.error = relative_l2(solver_, emulated, solved, mean);
        sample.persistence = relative_l2(solver_, progress_.initial, solved, mean);
    }
    record_.samples.push_back(sample);
}

double Forecast::largest_vorticity(const Fields& fields) const {
    const auto n = static_cast<std::size_t>(solver_.layout().n_point());
    double largest = 0;
    for (std::size_t i = vorticity * n; i < (vorticity + 1) * n; ++i)
        largest = std::max(largest, std::abs(fields[i]));
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, solver_.layout().comm());
    return largest > 0 && std::isfinite(largest) ? largest : 1;
}

/// Draws the vorticity of the active method, and the difference of two.
void Forecast::draw(int64_t hour, const Fields& solved, const Fields& emulated) {
    const int64_t at = vorticity * solver_.layout().n_point();
    std::vector<Disk> disks;
    Fields difference;
    const double most = largest_vorticity(solver_runs_ ? solved : emulated);
    if (solver_runs_) disks.push_back({solved.data() + at, -most, most, "solver"});
    if (emulator_runs_) disks.push_back({emulated.data() + at, -most, most, "emulator"});
    std::string what = solver_runs_ ? emulator_runs_ ? "solver, emulator" : "solver" : "emulator";
    char scale[64] = "";
    if (solver_runs_ && emulator_runs_) {
        difference = emulated;
        for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= solved[i];
        const double gap = largest_vorticity(difference);
        disks.push_back({difference.data() + at, -gap, gap, "emulator minus solver"});
        std::snprintf(scale, sizeof scale, ", their difference (+-%.2g 1/s)", gap);
    }
    const std::string path = settings_.output + "/vorticity.png";
    write_picture(solver_.layout(), solver_.transform().latitudes(), path,
                  "Hour " + std::to_string(hour), disks);
    char ends[64];
    std::snprintf(ends, sizeof ends, " (+-%.2g 1/s)", most);
    record_.picture =
        path + ": vorticity at hour " + std::to_string(hour) + ", " + what + ends + scale;
}

}  // namespace shallow_water
