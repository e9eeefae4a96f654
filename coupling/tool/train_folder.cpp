// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train_folder.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "coupling/file/new_file.hpp"
#include "coupling/tool/read_text.hpp"
#include "coupling/tool/train_essence.hpp"

namespace surrogate::tool {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t largest_essence = uint64_t{16} << 20;  // above that of any configuration

void make_folder(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error || !fs::is_directory(path))
        throw Failure(Exit::bad_usage, "cannot make the folder '" + path + "': " +
                                           (error ? error.message() : "a file has that name"));
}

}  // namespace

void TrainFolder::prepare(const Job& job, const std::string& config, bool resume,
                          bool overwrite) const {
    job.agree([&] {
        if (!job.is_root()) return;
        const bool is_there = fs::exists(checkpoint()) || fs::exists(last());
        if (is_there && !resume && !overwrite)
            throw Failure(Exit::bad_usage,
                          "'" + path_ +
                              (fs::exists(checkpoint())
                                   ? "' has a training: --resume goes on with it, "
                                   : "' has the model of a training without a checkpoint: ") +
                              "--overwrite begins anew");
        if (resume && !fs::exists(checkpoint()))
            throw Failure(Exit::bad_usage, "nothing to resume: there is no '" + checkpoint() + "'");
        make_folder(path_);
        if (!resume) {
            // Of another training: what it learnt must not be taken for this one's.
            for (const std::string& old : {checkpoint(), best(), last(), average()})
                fs::remove(old);
        }
        file::write_atomically(file("config.toml"), config);
    });
}

void TrainFolder::keep_or_compare(const Job& job, const nlohmann::json& essence,
                                  bool resume) const {
    job.agree([&] {
        if (!job.is_root()) return;
        if (!resume) return file::write_atomically(file("essence.json"), essence.dump(1) + "\n");
        const auto before = nlohmann::json::parse(
            read_text(file("essence.json"), largest_essence).value_or(""), nullptr, false);
        // Without the file the checkpoint tells the same, later.
        if (before.is_object()) require_same(before, essence, path_);
    });
}

}  // namespace surrogate::tool
