// SPDX-License-Identifier: Apache-2.0
// The mobility in a porous square from a few pressure sensors: PETSc's TAO minimizes the misfit,
// with the gradient of the solver's discrete adjoint, of a trained FLARE model, or of differences
// of the solver. The solver verifies each result.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/inverse):
//     cmake -S examples/inverse -B build-inverse -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-inverse
//
// Sample runs:
//     mpirun -n 2 inverse -output out                          all gradients in one table,
//                                                              out/fields.png
//     inverse -gradient surrogate -tao_monitor                 one gradient, with TAO's options
//     inverse -sensors 10 -noise 0.003                         more and better sensors
//     inverse -gradient adjoint -n 12 -tao_test_gradient       the gradient beside differences
//
// Prints a line about the problem, then the table: iterations, pressures, seconds, misfits as the
// method and as the solver computes them, error of the recovered mobility. The results on several
// ranks agree in three digits.
//
// The objective is in inversion.cpp (Inversion::evaluate), all calls of libsurrogate in
// surrogate_gradient.cpp, the adjoint in adjoint_solver.cpp.
#include <algorithm>
#include <fluid/directory.hpp>
#include <fluid/initial.hpp>
#include <output.hpp>

#include "adjoint_solver.hpp"
#include "inversion.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "surrogate_gradient.hpp"

namespace inverse {

namespace {

using darcy::OwnedVec;

/// The problem, and the rows of the table.
class Study {
public:
    PetscErrorCode create(MPI_Comm comm, const Settings& settings);
    PetscErrorCode compare();

private:
    PetscErrorCode make_truth();
    PetscErrorCode print_head() const;
    PetscErrorCode invert(const char* title, Forward* forward, bool by_differences, Vec start);
    PetscErrorCode add(Row row);
    darcy::Panel panel(const char* title, Vec a) const;
    PetscErrorCode draw() const;

    bool has(const char* gradient) const {
        return settings_.gradient == "all" || settings_.gradient == gradient;
    }

    Settings settings_;
    darcy::Mobilities mobilities_;
    darcy::Grid grid_;
    AdjointSolver solver_;
    SurrogateGradient surrogate_;
    Modes modes_;
    Sensors sensors_;
    Inversion inversion_;
    OwnedVec truth_, prior_mean_;  // a mobility; theta = 0
    std::vector<Row> rows_;
};

PetscErrorCode Study::create(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    settings_ = settings;
    PetscCall(grid_.create(comm, settings.n));
    PetscCall(solver_.create(grid_));
    if (has("surrogate")) PetscCall(surrogate_.create(grid_, settings.model));
    PetscCall(modes_.create(grid_, settings.n_mode, settings.width, mobilities_));
    PetscCall(modes_.new_parameters(&prior_mean_));
    PetscCall(sensors_.create(grid_, settings.n_sensor));
    PetscCall(inversion_.create(grid_, &modes_, &sensors_, settings.prior));
    PetscCall(make_truth());
    PetscFunctionReturn(0);
}

PetscErrorCode Study::print_head() const {
    PetscFunctionBegin;
    PetscMPIInt size = 0;
    PetscCallMPI(MPI_Comm_size(grid_.comm(), &size));
    PetscCall(PetscPrintf(grid_.comm(),
                          "Mobility of %d x %d cells from %d pressure sensors, noise %.1f %%, %d "
                          "parameters, %d rank%s\n",
                          int(settings_.n), int(settings_.n), int(sensors_.size()),
                          100 * double(settings_.noise), int(settings_.n_mode * settings_.n_mode),
                          size, size == 1 ? "" : "s"));
    if (has("surrogate"))
        PetscCall(PetscPrintf(grid_.comm(), "Surrogate: %s\n", settings_.model.c_str()));
    PetscCall(PetscPrintf(grid_.comm(), "\n"));
    PetscFunctionReturn(0);
}

/// Draws the true fluid, with all waves of the grid, and the readings of its solved pressure.
PetscErrorCode Study::make_truth() {
    PetscFunctionBegin;
    OwnedVec c, p;
    PetscCall(grid_.new_vec(&c));
    PetscCall(grid_.new_vec(&p));
    PetscCall(grid_.new_vec(&truth_));
    PetscCall(darcy::random_fluid(grid_, uint64_t(settings_.seed), c));
    PetscCall(darcy::mobility_of(mobilities_, c, truth_));
    PetscCall(solver_.pressure(truth_, p));
    PetscCall(sensors_.measure(p, settings_.noise, uint64_t(settings_.seed)));
    PetscFunctionReturn(0);
}

/// Adds a row, with the misfit as the solver sees it and the error of the mobility.
PetscErrorCode Study::add(Row row) {
    PetscFunctionBegin;
    OwnedVec difference;
    PetscReal norm = 0;
    PetscCall(inversion_.misfit_of(&solver_, row.result.a, &row.misfit_solver));
    PetscCall(grid_.new_vec(&difference));
    PetscCall(VecWAXPY(difference, -1, truth_, row.result.a));
    PetscCall(VecNorm(difference, NORM_2, &row.error));
    PetscCall(VecNorm(truth_, NORM_2, &norm));
    row.error /= norm;
    rows_.push_back(std::move(row));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::invert(const char* title, Forward* forward, bool by_differences, Vec start) {
    PetscFunctionBegin;
    Row row{title};
    PetscCall(PetscPrintf(grid_.comm(), "running: %s\n", title));
    PetscCall(inversion_.run(forward, by_differences, start, &row.result));
    PetscCall(add(std::move(row)));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::compare() {
    PetscFunctionBegin;
    PetscCall(print_head());
    Row truth{"(true field)"}, start{"(start)"};
    truth.is_inverted = start.is_inverted = false;
    PetscCall(grid_.new_vec(&truth.result.a));
    PetscCall(grid_.new_vec(&start.result.a));
    PetscCall(VecCopy(truth_, truth.result.a));
    PetscCall(modes_.mobility(prior_mean_, start.result.a));
    PetscCall(add(std::move(truth)));
    PetscCall(add(std::move(start)));

    if (has("differences")) PetscCall(invert("differences of solver", &solver_, true, prior_mean_));
    if (has("adjoint")) PetscCall(invert("adjoint of solver", &solver_, false, prior_mean_));
    if (has("surrogate")) PetscCall(invert("surrogate", &surrogate_, false, prior_mean_));
    PetscCall(PetscPrintf(grid_.comm(), "\n"));
    PetscCall(print_table(grid_.comm(), sensors_, rows_));
    if (!settings_.output.empty()) PetscCall(draw());
    PetscFunctionReturn(0);
}

darcy::Panel Study::panel(const char* title, Vec a) const {
    return {title, "mobility", "m^2/(Pa s)", a, mobilities_.resident, mobilities_.injected, false};
}

PetscErrorCode Study::draw() const {
    PetscFunctionBegin;
    std::vector<darcy::Panel> panels = {panel("true field", truth_)};
    // The last two inversions; differences give the field of the adjoint.
    for (std::size_t k = std::max<std::size_t>(2, rows_.size() - 2); k < rows_.size(); ++k)
        panels.push_back(panel(rows_[k].title.c_str(), rows_[k].result.a));
    const std::string path = settings_.output + "/fields.png";
    const std::string heading =
        "Mobility from " + std::to_string(sensors_.size()) + " pressure sensors";
    PetscCall(darcy::write_picture(grid_, path, heading, panels));
    PetscCall(
        PetscPrintf(grid_.comm(), "%s: the true mobility and the recovered ones.\n", path.c_str()));
    PetscFunctionReturn(0);
}

PetscErrorCode program(MPI_Comm comm) {
    PetscFunctionBegin;
    Settings settings;
    PetscCall(settings.read(comm));
    if (!settings.output.empty()) PetscCall(darcy::make_directory(comm, settings.output));
    Study study;
    PetscCall(study.create(comm, settings));
    PetscCall(study.compare());
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace inverse

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(&argc, &argv, nullptr,
                              "The mobility in a porous square from a few pressure sensors.\n"));
    const PetscErrorCode error = inverse::program(PETSC_COMM_WORLD);
    if (error) MPI_Abort(PETSC_COMM_WORLD, int(error));
    PetscCall(PetscFinalize());
    return 0;
}
