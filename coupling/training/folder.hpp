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
    /// An earlier training is an error, unless it is the same training and was killed before its
    /// first checkpoint.
    stays,
    resumed,  ///< --resume
    replaced  ///< --overwrite
};

/// Manages the output folder of a training and locks it: between claim() and the destructor no
/// other training writes there. Files in the folder do not change before begin(). An earlier
/// training that is replaced is kept until the first checkpoint of the new one is complete. All
/// functions except names are collective; errors are Failure on all ranks.
class TrainFolder {
public:
    TrainFolder(const Job& job, std::string path) : job_(job), path_(std::move(path)) {}
    /// Unlocks the folder. Removes it if claim() created it and it is empty.
    ~TrainFolder();
    TrainFolder(const TrainFolder&) = delete;
    TrainFolder& operator=(const TrainFolder&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string checkpoint() const { return file("checkpoint.safetensors"); }
    std::string last() const { return file("last.safetensors"); }
    std::string best() const { return file("best.safetensors"); }
    std::string average() const { return file("average.safetensors"); }
    const std::string& path() const { return path_; }

    /// Creates the folder if it is missing, and locks it. Throws Failure for outputs that are also
    /// in `inputs` or that exist and must not be replaced, for a folder in use, and for a folder
    /// that is not writable.
    void claim(const std::vector<InputFile>& inputs, EarlierTraining earlier);

    /// Compares the fingerprint (fingerprint.hpp) with the fingerprint of the earlier training in
    /// the folder.
    void compare(const nlohmann::json& fingerprint);

    /// Writes the configuration and the fingerprint, now or with the first checkpoint.
    void begin(const std::string& config);

    /// Returns true if an earlier training is still in the folder. Only its checkpoint may be
    /// replaced then.
    bool has_earlier() const { return has_earlier_; }

    /// Prepares the folder, before a checkpoint is written; checkpoint_is_complete() must follow.
    /// The first checkpoint that replaces an earlier training also replaces the fingerprint, and
    /// the remaining files of the earlier training are deleted.
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
    // Used on rank 0 only:
    bool must_be_same_ = false;  ///< the folder has files that only the same training may replace
    std::optional<file::FileLock> lock_;
    std::vector<std::string> made_;  ///< created folders, the innermost first
    std::optional<file::NewFile>
        next_fingerprint_;  ///< renamed into place after the first checkpoint
};

}  // namespace surrogate::tool
