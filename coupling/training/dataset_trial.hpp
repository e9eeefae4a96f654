// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace surrogate::tool {

/// Opens a data set in a process of its own, before this one does: HDF5 may crash or loop for ever
/// in metadata that is damaged (a file from anywhere), and a crash would take all ranks along. The
/// process is this program once more, without MPI and with limits of 10 s of processor time, 120 s
/// and 4 GiB. Throws Failure with the reason if the data set is refused, if the process dies or
/// runs into a limit, and if it cannot be started; nothing is read without it. Local; one rank
/// suffices.
void try_dataset(const std::string& path);

/// Returns true if the program was started by try_dataset(). To be asked before anything else.
bool is_dataset_trial(int argc, char** argv);

/// The process of try_dataset(): returns its exit status.
int run_dataset_trial(char** argv);

}  // namespace surrogate::tool
