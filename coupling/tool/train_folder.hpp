// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

/// The folder that a training writes to.
class TrainFolder {
public:
    explicit TrainFolder(std::string path) : path_(std::move(path)) {}

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string checkpoint() const { return file("checkpoint.safetensors"); }
    std::string last() const { return file("last.safetensors"); }
    std::string best() const { return file("best.safetensors"); }
    std::string average() const { return file("average.safetensors"); }
    const std::string& path() const { return path_; }

    /// Before anything is computed: makes the folder, and leaves a copy of the configuration in it,
    /// which shows that files can be written. Refuses a folder with a training unless it is resumed
    /// or overwritten, and one without if it is resumed. Collective; Failure on all ranks.
    void prepare(const Job& job, const std::string& config, bool resume, bool overwrite) const;

    /// What a training that goes on must have in common with the one before (train_essence.hpp):
    /// kept by the first, compared by the others. Collective; Failure on all ranks.
    void keep_or_compare(const Job& job, const nlohmann::json& essence, bool resume) const;

private:
    std::string path_;
};

}  // namespace surrogate::tool
