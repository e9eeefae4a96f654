// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace surrogate::tool {

/// Opens a data set in a child process before this process opens it, because HDF5 may crash or loop
/// endlessly on damaged metadata, and a crash would end all ranks. The child is this program
/// without MPI, with limits of 10 s of processor time, 120 s and 4 GiB. Throws Failure with the
/// reason if the data set is invalid, if the child crashes or reaches a limit, or if it cannot be
/// started; the data set is not read in these cases. Local; one rank suffices.
void try_dataset(const std::string& path);

/// Returns true if the program was started by try_dataset(). Must be called first in main.
bool is_dataset_trial(int argc, char** argv);

/// Runs the child process of try_dataset(). Returns its exit status.
int run_dataset_trial(char** argv);

}  // namespace surrogate::tool
