// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "heat.hpp"
#include "predictor.hpp"

namespace million {

/// Sizes and memory of a rank.
struct RankUse {
    int64_t n_owned = 0, n_cell = 0;
    int64_t bytes_read = 0;   ///< while the mesh file was read
    int64_t plan_stated = 0;  ///< reported by the plan
    int64_t plan_found = 0;   ///< growth of memory during its creation and first run
    int64_t peak = 0;         ///< of the whole process, so far
};

/// Results for one plate. Seconds are maxima over the ranks.
struct Result {
    std::string name;
    int64_t n_point = 0, n_cell = 0;
    PetscInt n_iteration = 0;
    double seconds_make = 0, seconds_read = 0, seconds_part = 0, seconds_solve = 0;
    double seconds_plan = 0, seconds_predict = 0;
    double hottest_solver = 0;  ///< K
    bool is_compared = false;
    double relative_error = 0;  ///< L2 over the points, relative to the solver's temperature
    double largest_error = 0;   ///< K
    double hottest_surrogate = 0;
    double fraction_outside = 0;
    uint64_t hash = 0;  ///< of point numbers and predictions, for any partition
    RankUse mine;
};

/// Runs one plate after the other: mesh, solver, surrogate.
class Study {
public:
    /// Loads the model; "": the solver alone. is_weighted: see Predictor::plan(). Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& model, bool is_weighted = false);
    const Predictor& predictor() const { return predictor_; }

    /// Creates the mesh of a seed on rank 0 and distributes it, through the serial file `path`,
    /// which rank 0 writes and reads, unless it is "". Collective. Errors of make_mesh() and the
    /// file are returned on all ranks.
    PetscErrorCode make(int64_t seed, int64_t n_point, const std::string& path, Result* result);
    /// Reads the mesh in a file on rank 0 and distributes it. Collective.
    PetscErrorCode read(const std::string& path, Result* result);

    /// Computes the solver's temperatures. Collective.
    PetscErrorCode solve(Result* result);
    /// Computes the surrogate's temperatures, if it is ready. Collective.
    PetscErrorCode compare(Result* result);

    const Mesh& mesh() const { return mesh_; }
    Vec temperature() const { return temperature_; }
    Vec prediction() const { return prediction_; }
    Vec error() const { return error_; }  ///< prediction - temperature

private:
    PetscErrorCode on_first(const std::function<void()>& work) const;
    PetscErrorCode read_whole(const std::string& path, WholeMesh* whole, Result* result);
    PetscErrorCode spread(const WholeMesh& whole, Result* result);
    PetscErrorCode run(Result* result);
    PetscErrorCode measure(Result* result);
    PetscErrorCode hash(uint64_t* value) const;
    PetscErrorCode seconds_since(double begin, double* seconds) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    bool is_weighted_ = false;
    PetscMPIInt rank_ = 0;
    Predictor predictor_;
    Mesh mesh_;
    OwnedVec temperature_, prediction_, error_;
};

}  // namespace million
