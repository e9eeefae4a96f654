// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coupling/job/output_files.hpp"
#include "coupling/tool/predict.hpp"

namespace surrogate::tool {

/// Where a prediction goes.
///
/// OUT.pvtu names pieces in the folder OUT/: OUT_0000.vtu, OUT_0001.vtu, .. While an earlier
/// OUT.pvtu is there its pieces are in use, so a new write takes names that no file has
/// (OUT_0000_1.vtu, ..), then replaces OUT.pvtu, then removes the earlier pieces: at any time
/// OUT.pvtu names one complete result.
struct Target {
    std::string out;
    bool is_in_pieces = false;
    bool has_folder = false;  ///< of the pieces, from before
    int generation = 0;       ///< the number behind the rank in names of pieces; 0: none
    /// On rank 0: pieces of earlier or killed writes, to be removed when the new one is complete.
    std::vector<std::string> replaced;

    /// "out/out_0003.vtu", relative to the folder of `out`
    std::string piece(int rank) const;
    /// "dir/out" of dir/out.pvtu
    std::string folder() const;
};

/// Decides it before anything is read or computed. Collective; all ranks get the same answer, from
/// rank 0's look at the disk. Throws Failure (bad_usage): --mesh or --out has an unknown extension
/// or they are of different kinds, a file to be replaced is one that will be read (the mesh, a
/// piece it names, the model; by device and inode), or exists and --overwrite was not given, or no
/// file can be made in its folder.
Target find_target(const Job& job, const PredictArguments& arguments);

/// Keeps other programs from the same output until the result is destroyed: on rank 0 a lock beside
/// it, null elsewhere. Collective. Throws Failure (bad_usage), which names the program that has it.
std::unique_ptr<file::FileLock> lock_output(const Job& job, const PredictArguments& arguments);

/// Throws Failure (bad_usage) if no file can be made in `folder`, "" or ending with "/", for `out`:
/// one is made and removed, because no other question is answered right by every file system.
/// Local.
void check_is_writable(const std::string& folder, const std::string& out);

}  // namespace surrogate::tool
