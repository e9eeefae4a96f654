// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coupling/job/output_files.hpp"
#include "coupling/tool/predict.hpp"

namespace surrogate::tool {

/// Output files of a prediction.
///
/// OUT.pvtu names pieces in the folder OUT/: OUT_0000.vtu, OUT_0001.vtu, .. While an earlier
/// OUT.pvtu exists its pieces are in use, so a new write uses new names (OUT_0000_1.vtu, ..), then
/// replaces OUT.pvtu, then deletes the earlier pieces. At any time OUT.pvtu names one complete
/// result.
struct Target {
    std::string out;
    bool is_in_pieces = false;
    bool has_folder = false;  ///< the folder of the pieces existed before
    int generation = 0;       ///< the number after the rank in names of pieces; 0: none
    /// On rank 0: pieces of earlier or killed writes, which are deleted when the new one is
    /// complete.
    std::vector<std::string> replaced;

    /// Returns, for example, "out/out_0003.vtu", relative to the folder of `out`.
    std::string piece(int rank) const;
    /// Returns "dir/out" for dir/out.pvtu.
    std::string folder() const;
};

/// Chooses the output files before anything is read or computed. Collective; rank 0 inspects the
/// disk, and all ranks get the same result. Throws Failure (bad_usage) if --mesh or --out has an
/// unknown extension, if they have different kinds, if a file to be replaced will be read (the
/// mesh, a piece of it, the model; compared by device and inode), if the output exists without
/// --overwrite, or if its folder is not writable.
Target find_target(const Job& job, const PredictArguments& arguments);

/// Locks the output against other programs until the result is destroyed. The lock is on rank 0,
/// beside the output; other ranks get null. Collective. Throws Failure (bad_usage) with the name of
/// the program that has the lock.
std::unique_ptr<file::FileLock> lock_output(const Job& job, const PredictArguments& arguments);

/// Returns true if the name has the extension of a mesh.
bool is_mesh_name(const std::string& name);

/// Throws Failure (bad_usage) if no file can be created in `folder`, "" or ending with "/", for
/// `out`. Creates a file and deletes it, because other queries are not reliable on all file
/// systems. Local.
void check_is_writable(const std::string& folder, const std::string& out);

}  // namespace surrogate::tool
