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
    stays,    ///< the command is refused
    report,   ///< a regular file is replaced: report files that the command line names, files of a
              ///< run that goes on
    replaced  ///< --overwrite: a regular file is replaced, or a symbolic link itself
};

/// A file that a command writes.
struct OutputFile {
    std::string what;  ///< "--json 'r.json'"
    std::string path;
    Earlier earlier = Earlier::stays;
    std::string remedy = "--overwrite replaces it";  ///< for the refusal of an earlier file
    bool may_be_device = false;                      ///< /dev/null, /dev/stdout, a pipe
};

/// The one rule for the files that commands write; every command calls it before it computes:
///   names    have no control characters
///   inputs   are never written, under any name (device and inode are compared, through symbolic
///            and hard links; full names of files that do not exist yet), also not by the temporary
///            of an output or its lock; no two outputs are one file
///   earlier  files are kept or replaced as each output says; folders and devices are refused
///   links    are never followed: write_output() and the functions that it stands for replace a
///            symbolic link itself
/// Looks and writes nothing. Local. Throws Failure bad_usage, which names the output and the file
/// in its way.
void check_outputs(const std::vector<InputFile>& inputs, const std::vector<OutputFile>& outputs);

/// Rank 0 checks, and all ranks get its result. Collective.
void check_outputs(const Job& job, const std::vector<InputFile>& inputs,
                   const std::vector<OutputFile>& outputs);

/// Writes a checked output: whole or not at all. Throws file::Error.
void write_output(const std::string& path, const std::string& bytes);

/// Returns "--out 'a.vtu'".
std::string option_text(const std::string& option, const std::string& path);

}  // namespace surrogate::tool
