// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "tests/libsurrogate/train/golden_training.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// The golden training on all ranks, which share each sample.
inline GoldenRun on_ranks(std::map<std::string, std::string> options,
                          const Settings& settings = golden_settings(),
                          const char* partition = "contiguous") {
    return GoldenRun(mpi_context(MPI_COMM_WORLD), {},
                     own_rows(partition, n_golden_point, MPI_COMM_WORLD), std::move(options),
                     settings);
}

/// The same in groups, of which this rank's has the ranks of `group`.
inline GoldenRun in_groups(MPI_Comm group, std::map<std::string, std::string> options,
                           const Settings& settings) {
    return GoldenRun(mpi_context(group), mpi_context(MPI_COMM_WORLD),
                     own_rows("scattered", n_golden_point, group), std::move(options), settings);
}

/// A path that all ranks of this program know.
inline std::string shared_path(const std::string& name) {
    int id = static_cast<int>(getpid());
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return testing::TempDir() + "/" + name + "_" + std::to_string(id) + ".safetensors";
}

}  // namespace surrogate::test
