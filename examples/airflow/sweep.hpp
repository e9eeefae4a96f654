// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "predictor.hpp"
#include "settings.hpp"
#include "speed.hpp"

namespace airflow {

/// The methods on one body at one number of points. Errors are distances from the reference.
struct SweepCase {
    int64_t seed = 0;
    int64_t n_point = 0;              ///< of the mesh
    Measurement surrogate;            ///< seconds of plan and run
    std::vector<Measurement> solver;  ///< by panels, coarse to fine
    Measurement reference;            ///< the solver with the panels of the reference
    double lift = 0;                  ///< of the reference, force over dynamic pressure (m^2)
};

/// Measures the solver at several numbers of panels and the surrogate on the same bodies, against
/// the solver with the panels of the reference. The methods alternate, and seconds are medians over
/// all rounds, of the slowest rank. They are processor seconds of all threads, so that other
/// programs on the machine have no effect. The mesh of the points is needed by both and not
/// counted.
class Sweep {
public:
    /// Loads the model. Returns an error if it cannot be used. Collective.
    PetscErrorCode create(MPI_Comm comm, const Settings& settings);
    /// Returns a case for each size in settings.sweep_points. Collective.
    PetscErrorCode measure(int64_t seed, std::vector<SweepCase>* cases);

private:
    struct Mesh {
        Surface surface;
        OwnedVec reference, pressure, prediction;
        Vector3 force;  ///< of the reference
        Measurement surrogate;
        std::vector<double> seconds_surrogate;
        std::map<PetscInt, Measurement> solver;  ///< by panels
        std::map<PetscInt, std::vector<double>> seconds_solver;
    };

    PetscErrorCode create_mesh(const Body& body, int64_t n_point, Mesh* mesh) const;
    static PetscErrorCode find_errors(const Mesh& mesh, Vec field, Measurement* found);
    PetscErrorCode run_surrogate(Mesh* mesh);
    PetscErrorCode run_solver(const Body& body, PetscInt n_panel, std::vector<Mesh>* meshes);
    SweepCase summarize(int64_t seed, const Mesh& mesh) const;
    PetscErrorCode require_surrogate() const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    Settings settings_;
    Predictor predictor_;
};

}  // namespace airflow
