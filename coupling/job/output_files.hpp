// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/file/file_lock.hpp"

namespace surrogate::tool {

class Job;

/// A file that a command reads.
struct InputFile {
    std::string what;  ///< "the model"
    std::string path;
};

/// Treatment of a file that has the name of an output before the command writes it.
enum class Earlier {
    stays,    ///< the command fails
    report,   ///< a regular file is replaced: report files of the command line, files of a
              ///< resumed run
    replaced  ///< --overwrite: a regular file is replaced, or a symbolic link itself
};

/// A file that a command writes.
struct OutputFile {
    std::string what;  ///< "--json 'r.json'"
    std::string path;
    Earlier earlier = Earlier::stays;
    std::string remedy = "--overwrite replaces it";  ///< for the error about an earlier file
    bool may_be_device = false;                      ///< /dev/null, /dev/stdout, a pipe
};

/// Checks output files. Every command calls it before it computes:
///   names    must not have control characters
///   inputs   are never written, under any name (device and inode are compared, through symbolic
///            and hard links; full names of files that do not exist yet), also not by the temporary
///            file of an output or its lock; two outputs must not be one file
///   earlier  files are kept or replaced as each output requires; folders and devices are errors
///   links    are never followed: write_output() and equivalent functions replace a symbolic link
///            itself
/// Writes nothing. Local. Throws Failure bad_usage with the output and the file that conflicts with
/// it.
void check_outputs(const std::vector<InputFile>& inputs, const std::vector<OutputFile>& outputs);

/// Checks on rank 0; all ranks get the result. Collective.
void check_outputs(const Job& job, const std::vector<InputFile>& inputs,
                   const std::vector<OutputFile>& outputs);

/// Writes a checked output atomically. Throws file::Error.
void write_output(const std::string& path, const std::string& bytes);

/// Returns "--out 'a.vtu'".
std::string option_text(const std::string& option, const std::string& path);

}  // namespace surrogate::tool
