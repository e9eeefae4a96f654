// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <optional>
#include <surrogate/surrogate_dataset.hpp>

#include "settings.hpp"
#include "surface.hpp"

namespace airflow {

/// Data sets for `surrogate train`: one file for each number in settings.sample_points, with all
/// bodies as clouds of different sizes.
class Samples {
public:
    /// Creates settings.samples/cars_<points>.h5. Collective.
    PetscErrorCode create(MPI_Comm comm, const Settings& settings);
    /// Writes body number `body` (from 0) to file number `file`. The surface is the mesh of the
    /// body with settings.sample_points[file]. Collective.
    PetscErrorCode write(std::size_t file, PetscInt body, const Surface& surface, Vec pressure);
    /// Completes all files. Collective.
    PetscErrorCode finish();

private:
    struct File {
        std::vector<int64_t> offset;  ///< [bodies + 1] first row of each body
        surrogate::NewDataset set;
    };

    void describe(const Settings& settings, PetscInt n_point, File* file) const;

    std::optional<surrogate::Context> context_;
    std::list<File> files_;
};

}  // namespace airflow
