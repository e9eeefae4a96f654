// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include <cmath>

#include "measure.hpp"

namespace airflow {

PetscErrorCode Sweep::require_surrogate() const {
    PetscFunctionBegin;
    PetscCheck(predictor_.is_ready(), comm_, PETSC_ERR_LIB,
               "-sweep: the surrogate is not available: %s", predictor_.problem().c_str());
    PetscFunctionReturn(0);
}

PetscErrorCode Sweep::create(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    comm_ = comm;
    settings_ = settings;
    PetscCall(predictor_.create(comm, settings.model));
    PetscCall(require_surrogate());
    PetscFunctionReturn(0);
}

PetscErrorCode Sweep::create_mesh(const Body& body, int64_t n_point, Mesh* mesh) const {
    PetscFunctionBegin;
    PetscCall(mesh->surface.create(comm_, body, n_point));
    PetscCall(mesh->surface.new_field(&mesh->reference));
    PetscCall(mesh->surface.new_field(&mesh->pressure));
    PetscCall(mesh->surface.new_field(&mesh->prediction));
    PetscFunctionReturn(0);
}

PetscErrorCode Sweep::find_errors(const Mesh& mesh, Vec field, Measurement* found) {
    PetscFunctionBegin;
    Vector3 force;
    PetscCall(relative_distance(field, mesh.reference, &found->error));
    PetscCall(force_of(mesh.surface, field, &force));
    found->lift_error = std::abs(force.z / mesh.force.z - 1);
    found->drag_error = std::abs(force.x);
    PetscFunctionReturn(0);
}

PetscErrorCode Sweep::run_surrogate(Mesh* mesh) {
    PetscFunctionBegin;
    double seconds = 0;
    const double begin = processor_seconds();
    PetscCall(predictor_.plan(mesh->surface));
    PetscCall(require_surrogate());
    PetscCall(predictor_.predict(mesh->prediction));
    PetscCall(require_surrogate());
    PetscCall(slowest_rank(comm_, processor_seconds() - begin, &seconds));
    mesh->seconds_surrogate.push_back(seconds);
    PetscCall(find_errors(*mesh, mesh->prediction, &mesh->surrogate));
    PetscFunctionReturn(0);
}

/// Solves once and evaluates the flow on all meshes: the cost on a mesh includes the solve.
PetscErrorCode Sweep::run_solver(const Body& body, PetscInt n_panel, std::vector<Mesh>* meshes) {
    PetscFunctionBegin;
    const bool is_reference = n_panel == settings_.n_panel;
    PotentialFlow flow = is_reference ? PotentialFlow() : PotentialFlow(settings_.near);
    double seconds = 0, begin = processor_seconds();
    PetscCall(flow.solve(comm_, body, BoxGrid::of_points(n_panel, body.extent), {true, true}));
    PetscCall(slowest_rank(comm_, processor_seconds() - begin, &seconds));
    for (Mesh& mesh : *meshes) {
        double evaluation = 0;
        Vec field = is_reference ? mesh.reference : mesh.pressure;
        begin = processor_seconds();
        PetscCall(evaluate_pressure(flow, mesh.surface, field));
        PetscCall(slowest_rank(comm_, processor_seconds() - begin, &evaluation));
        mesh.seconds_solver[n_panel].push_back(seconds + evaluation);
        if (is_reference) PetscCall(force_of(mesh.surface, field, &mesh.force));
        PetscCall(find_errors(mesh, field, &mesh.solver[n_panel]));
    }
    PetscFunctionReturn(0);
}

SweepCase Sweep::summarize(int64_t seed, const Mesh& mesh) const {
    SweepCase result;
    result.seed = seed;
    result.n_point = mesh.surface.grid().n_point();
    result.surrogate = mesh.surrogate;
    result.surrogate.seconds = median(mesh.seconds_surrogate);
    const auto with_panels = [&](PetscInt n_panel) {
        Measurement found = mesh.solver.at(n_panel);
        found.seconds = median(mesh.seconds_solver.at(n_panel));
        return found;
    };
    for (const PetscInt n_panel : settings_.sweep_panels)
        result.solver.push_back(with_panels(n_panel));
    result.reference = with_panels(settings_.n_panel);
    result.lift = mesh.force.z;
    return result;
}

PetscErrorCode Sweep::measure(int64_t seed, std::vector<SweepCase>* cases) {
    PetscFunctionBegin;
    const Body body = car_body(random_car(uint64_t(seed)));
    std::vector<Mesh> meshes(settings_.sweep_points.size());
    for (std::size_t m = 0; m < meshes.size(); ++m)
        PetscCall(create_mesh(body, settings_.sweep_points[m], &meshes[m]));
    std::vector<PetscInt> turns = {settings_.n_panel};  // first: errors need the reference
    turns.insert(turns.end(), settings_.sweep_panels.begin(), settings_.sweep_panels.end());
    for (PetscInt round = 0; round < settings_.n_sweep_round; ++round)
        for (const PetscInt n_panel : turns) {
            PetscCall(run_solver(body, n_panel, &meshes));
            for (Mesh& mesh : meshes) PetscCall(run_surrogate(&mesh));
        }
    cases->clear();
    for (const Mesh& mesh : meshes) cases->push_back(summarize(seed, mesh));
    PetscFunctionReturn(0);
}

}  // namespace airflow
