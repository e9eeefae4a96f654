// SPDX-License-Identifier: Apache-2.0
// A flow solver that trains its own surrogate while it runs: two fluids in a porous square, whose
// solved pressures train a FLARE network. When its predictions have been good enough for some time,
// and the guardrails accept a prediction, solves start from it.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/online_training):
//     cmake -S examples/online_training -B build-online -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-online
//
// Sample runs:
//     mpirun -n 2 online_training                              40 runs of 24 steps from new fluids
//     mpirun -n 2 online_training -save learnt.safetensors     saves the trained model
//     online_training -model learnt.safetensors -seed 100      continues from it
//     online_training -injected 20                             a fluid beyond the card: rejected
//     until
//                                                              trained
//
// Prints one line every few runs: error of predictions, number of trusted predictions, iterations
// per solve from the previous pressure and from the guess. It also prints when ranges of the card
// have been extended, and the solve in which the first prediction was used. The numbers are the
// same on any number of ranks.
//
// learner.cpp has all calls of libsurrogate.
#include <surrogate/surrogate_petsc.h>

#include <array>
#include <cmath>
#include <fluid/initial.hpp>
#include <fluid/transport.hpp>

#include "learner.hpp"
#include "row_solver.hpp"

namespace darcy {

namespace {

struct Settings {
    PetscInt n = 24, n_run = 40, n_step = 24, every = 4;
    PetscReal dt_s = 0.02, trust = 0.05;
    Mobilities mobilities;
    Learner::Settings learner;
    std::string save;

    PetscErrorCode read(MPI_Comm comm);
};

PetscErrorCode Settings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    PetscInt seed = 0, reservoir = PetscInt(learner.reservoir),
             steps = PetscInt(learner.steps_per_state);
    PetscInt widen = PetscInt(learner.widen_every);
    PetscReal rate = learner.learning_rate;
    std::array<char, PETSC_MAX_PATH_LEN> model{}, file{};
    PetscOptionsBegin(comm, nullptr, "online_training", nullptr);
    PetscCall(PetscOptionsInt("-n", "cells in x and y", "", n, &n, nullptr));
    PetscCall(PetscOptionsInt("-runs", "number of runs, each with a different fluid", "", n_run,
                              &n_run, nullptr));
    PetscCall(PetscOptionsInt("-steps", "time steps of a run", "", n_step, &n_step, nullptr));
    PetscCall(PetscOptionsInt("-every", "runs per line of the report", "", every, &every, nullptr));
    PetscCall(PetscOptionsReal("-dt", "time step in s", "", dt_s, &dt_s, nullptr));
    PetscCall(PetscOptionsReal("-trust",
                               "mean error of predictions below which solves start from them", "",
                               trust, &trust, nullptr));
    PetscCall(PetscOptionsReal("-injected", "mobility of the injected fluid", "",
                               mobilities.injected, &mobilities.injected, nullptr));
    PetscCall(PetscOptionsInt("-seed", "seed of the first run and of the weights", "", seed, &seed,
                              nullptr));
    PetscCall(PetscOptionsInt("-reservoir", "number of stored samples", "", reservoir, &reservoir,
                              nullptr));
    PetscCall(PetscOptionsInt("-train", "optimizer steps per solve", "", steps, &steps, nullptr));
    PetscCall(PetscOptionsInt("-widen", "number of solves between extensions of the ranges", "",
                              widen, &widen, nullptr));
    PetscCall(PetscOptionsReal("-learning_rate", "", "", rate, &rate, nullptr));
    PetscCall(PetscOptionsString("-model", "file to start from", "", "", model.data(), model.size(),
                                 nullptr));
    PetscCall(PetscOptionsString("-save", "file of the trained model", "", "", file.data(),
                                 file.size(), nullptr));
    PetscOptionsEnd();
    PetscCheck(n_run >= 1 && n_step >= 1 && every >= 1 && reservoir >= 1 && steps >= 1 &&
                   widen >= 1 && seed >= 0,
               comm, PETSC_ERR_USER_INPUT,
               "-runs, -steps, -every, -reservoir, -train and -widen are at least 1, -seed is not "
               "negative");
    learner.model = model.data();
    learner.seed = seed;
    learner.reservoir = reservoir;
    learner.steps_per_state = steps;
    learner.learning_rate = rate;
    learner.widen_every = widen;
    save = file.data();
    PetscFunctionReturn(0);
}

/// Sums over the runs of one line of the report.
struct Tally {
    PetscInt n_solve = 0, n_predicted = 0, n_trusted = 0, from_previous = 0, from_guess = 0;
    double error = 0, loss = 0;
};

class OnlineRuns {
public:
    PetscErrorCode create(MPI_Comm comm, const Settings& settings);
    PetscErrorCode go();

private:
    PetscErrorCode begin_run(PetscInt run);
    PetscErrorCode step(Tally* tally);
    PetscErrorCode relative_error(const CellValues& found, double* error);
    PetscErrorCode widen_ranges();
    PetscErrorCode print(PetscInt run, const Tally& tally) const;
    PetscErrorCode print_first(const char* what, PetscInt first) const;

    Settings settings_;
    Grid grid_;
    Box box_;
    RowSolver solver_;
    Transport transport_;
    std::optional<Learner> learner_;
    OwnedVec c_, a_, p_;
    CellValues mobility_, pressure_, prediction_;
    PetscInt n_solve_ = 0;
    PetscInt first_predicted_ = 0, first_trusted_ = 0;  ///< solves, from 1; 0: none
    double mean_error_ = 1;  ///< running mean over predictions, recent ones weigh most
};

PetscErrorCode OnlineRuns::create(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    settings_ = settings;
    PetscCall(grid_.create(comm, settings.n, true));
    PetscCall(box_.of(grid_));
    PetscCall(solver_.create(grid_));
    PetscCall(transport_.create(grid_));
    for (OwnedVec* vec : {&c_, &a_, &p_}) PetscCall(grid_.new_vec(vec));
    learner_.emplace(grid_.da, int64_t(box_.size()), settings.learner);
    PetscFunctionReturn(0);
}

/// Begins a run. The initial fluid is computed as a whole on every rank, so that its sums have one
/// order.
PetscErrorCode OnlineRuns::begin_run(PetscInt run) {
    PetscFunctionBegin;
    Grid whole;
    OwnedVec c;
    PetscCall(whole.create(PETSC_COMM_SELF, grid_.n));
    PetscCall(whole.new_vec(&c));
    PetscCall(random_fluid(whole, uint64_t(settings_.learner.seed) + uint64_t(run), c));
    const CellsRead from(whole, c);
    const Cells to(grid_, c_);
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i) to(i, j) = from(i, j);
    pressure_.assign(std::size_t(box_.size()), 0);
    PetscFunctionReturn(0);
}

PetscErrorCode OnlineRuns::relative_error(const CellValues& found, double* error) {
    PetscFunctionBegin;
    double difference = 0, size = 0;
    CellValues d = found;
    for (std::size_t i = 0; i < d.size(); ++i) d[i] -= pressure_[i];
    PetscCall(solver_.dot(d, d, &difference));
    PetscCall(solver_.dot(pressure_, pressure_, &size));
    *error = std::sqrt(difference / size);
    PetscFunctionReturn(0);
}

PetscErrorCode OnlineRuns::step(Tally* tally) {
    PetscFunctionBegin;
    PetscCall(solver_.from_vec(c_, &mobility_));
    const Mobilities& m = settings_.mobilities;
    for (double& value : mobility_) value = m.resident + (m.injected - m.resident) * value;
    const bool is_predicted = learner_->predict(settings_.dt_s, mobility_, &prediction_);
    const bool is_trusted = is_predicted && mean_error_ <= settings_.trust;
    // Both solves are run for comparison; an application would run only the second.
    PetscInt from_previous = 0, from_guess = 0;
    CellValues guess = is_trusted ? prediction_ : pressure_;
    PetscCall(solver_.solve(mobility_, &pressure_, &from_previous));
    PetscCall(solver_.solve(mobility_, &guess, &from_guess));
    pressure_ = guess;
    if (is_predicted) {
        double error = 0;
        PetscCall(relative_error(prediction_, &error));
        mean_error_ += 0.1 * (error - mean_error_);
        tally->error += error;
    }
    tally->loss += learner_->learn(mobility_, pressure_);
    ++n_solve_;
    if (is_predicted && first_predicted_ == 0) first_predicted_ = n_solve_;
    if (is_trusted && first_trusted_ == 0) first_trusted_ = n_solve_;
    PetscCall(widen_ranges());
    ++tally->n_solve;
    tally->n_predicted += is_predicted;
    tally->n_trusted += is_trusted;
    tally->from_previous += from_previous;
    tally->from_guess += from_guess;
    PetscCall(solver_.to_vec(mobility_, a_));
    PetscCall(solver_.to_vec(pressure_, p_));
    TransportReport report;
    PetscCall(transport_.step(settings_.dt_s, a_, p_, true, c_, &report));
    PetscFunctionReturn(0);
}

PetscErrorCode OnlineRuns::widen_ranges() {
    PetscFunctionBegin;
    const int32_t n = learner_->widen_ranges_if_due();
    if (n > 0)
        PetscCall(PetscPrintf(grid_.comm(), "      %d range%s extended to the data of %d solves\n",
                              int(n), n == 1 ? " was" : "s were", int(n_solve_)));
    PetscFunctionReturn(0);
}

PetscErrorCode OnlineRuns::print(PetscInt run, const Tally& t) const {
    PetscFunctionBegin;
    const auto n = double(t.n_solve);
    std::array<char, 32> error{"-"};
    if (t.n_predicted > 0)
        std::snprintf(error.data(), error.size(), "%.3f %%", 100 * t.error / double(t.n_predicted));
    PetscCall(PetscPrintf(grid_.comm(), "%5d %12.5f %12s %9.0f %% %15.2f %12.2f\n", int(run + 1),
                          t.loss / n, error.data(), 100 * double(t.n_trusted) / n,
                          double(t.from_previous) / n, double(t.from_guess) / n));
    PetscFunctionReturn(0);
}

PetscErrorCode OnlineRuns::print_first(const char* what, PetscInt first) const {
    PetscFunctionBegin;
    if (first == 0)
        PetscCall(PetscPrintf(grid_.comm(), "%s: never\n", what));
    else
        PetscCall(PetscPrintf(grid_.comm(), "%s: first in solve %d, run %d\n", what, int(first),
                              int((first - 1) / settings_.n_step + 1)));
    PetscFunctionReturn(0);
}

PetscErrorCode OnlineRuns::go() {
    PetscFunctionBegin;
    PetscCall(
        PetscPrintf(grid_.comm(),
                    "%d x %d cells, %d steps per run. Iterations per solve to 1e-8:\n%5s %12s "
                    "%12s %11s %15s %12s\n",
                    int(grid_.n), int(grid_.n), int(settings_.n_step), "run", "loss", "prediction",
                    "trusted", "from previous", "from guess"));
    Tally tally;
    for (PetscInt run = 0; run < settings_.n_run; ++run) {
        PetscCall(begin_run(run));
        for (PetscInt i = 0; i < settings_.n_step; ++i) PetscCall(step(&tally));
        if ((run + 1) % settings_.every != 0 && run + 1 != settings_.n_run) continue;
        PetscCall(print(run, tally));
        tally = Tally();
    }
    PetscCall(PetscPrintf(grid_.comm(), "\n"));
    PetscCall(print_first("predictions accepted by the guardrails", first_predicted_));
    PetscCall(print_first("predictions used as initial guess", first_trusted_));
    if (!settings_.save.empty()) {
        learner_->save(settings_.save);
        PetscCall(PetscPrintf(grid_.comm(), "\n%s: the current network\n", settings_.save.c_str()));
    }
    PetscCall(PetscPrintf(grid_.comm(), "\n%s", learner_->report().c_str()));
    PetscFunctionReturn(0);
}

PetscErrorCode program(MPI_Comm comm) {
    PetscFunctionBegin;
    Settings settings;
    PetscCall(settings.read(comm));
    OnlineRuns runs;
    try {
        PetscCall(runs.create(comm, settings));
        PetscCall(runs.go());
    } catch (const surrogate::Error& error) {  // the same on all ranks, unless MPI failed
        const PetscErrorCode code = surrogate_petsc_error_code(error.status());
        SETERRQ(code == PETSC_ERR_MPI ? PETSC_COMM_SELF : comm, code, "%s", error.what());
    }
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace darcy

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(
        &argc, &argv, nullptr,
        "Two fluids in a porous square, and a network that is trained on their solutions.\n"));
    const PetscErrorCode error = darcy::program(PETSC_COMM_WORLD);
    if (error) MPI_Abort(PETSC_COMM_WORLD, int(error));
    PetscCall(PetscFinalize());
    return 0;
}
