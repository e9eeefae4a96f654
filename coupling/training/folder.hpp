// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/job/output_files.hpp"

namespace surrogate::tool {

/// Treatment of an earlier training in the folder.
enum class EarlierTraining {
    /// The training is refused, unless it is the same one, killed before its first checkpoint.
    stays,
    resumed,  ///< --resume
    replaced  ///< --overwrite
};

/// The folder that a training writes to, and its claim on it: from claim() until it is destroyed no
/// other training writes there. Nothing in the folder changes before begin(). An earlier training
/// that is replaced stays as it is until the first checkpoint of the new one is complete.
/// All functions but names are collective; errors are Failure on all ranks.
class TrainFolder {
public:
    TrainFolder(const Job& job, std::string path) : job_(job), path_(std::move(path)) {}
    /// Releases the folder, and removes it if it was made in vain.
    ~TrainFolder();
    TrainFolder(const TrainFolder&) = delete;
    TrainFolder& operator=(const TrainFolder&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string checkpoint() const { return file("checkpoint.safetensors"); }
    std::string last() const { return file("last.safetensors"); }
    std::string best() const { return file("best.safetensors"); }
    std::string average() const { return file("average.safetensors"); }
    const std::string& path() const { return path_; }

    /// Makes the folder if it is missing, and locks it. Refuses outputs that are one of `inputs` or
    /// that exist and are not to be replaced, a folder in use, and one that cannot be written.
    void claim(const std::vector<InputFile>& inputs, EarlierTraining earlier);

    /// Compares what a training that goes on must have in common with the one before
    /// (fingerprint.hpp) with what the folder says.
    void compare(const nlohmann::json& fingerprint);

    /// Leaves the configuration and the fingerprint, now or with the first checkpoint.
    void begin(const std::string& config);

    /// Returns whether an earlier training is still there: only its checkpoint may be replaced
    /// then.
    bool has_earlier() const { return has_earlier_; }

    /// Call before a checkpoint is written, and when it is complete. The first one that replaces an
    /// earlier training takes the fingerprint with it, and what that training has left goes.
    void prepare_checkpoint();
    void checkpoint_is_complete();

private:
    std::vector<OutputFile> outputs(Earlier earlier) const;
    void make_folder();
    void refuse_earlier() const;
    void write_notes() const;
    std::string fingerprint_text() const;

    const Job& job_;
    std::string path_, config_;
    nlohmann::json fingerprint_;
    EarlierTraining earlier_ = EarlierTraining::stays;
    bool has_earlier_ = false;
    // On rank 0:
    bool must_be_same_ = false;  ///< files are there that only the same training may replace
    std::optional<file::FileLock> lock_;
    std::vector<std::string> made_;                  ///< folders, the innermost first
    std::optional<file::NewFile> next_fingerprint_;  ///< gets its name behind the first checkpoint
};

}  // namespace surrogate::tool
