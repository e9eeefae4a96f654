// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/folder.hpp"

#include <unistd.h>

#include <filesystem>

#include "coupling/job/read_text.hpp"
#include "coupling/training/fingerprint.hpp"

namespace surrogate::tool {

namespace fs = std::filesystem;

namespace {

const char* const anew = "--overwrite discards it";

bool is_there(const std::string& path) {
    std::error_code none;
    return fs::exists(fs::symlink_status(path, none));
}

/// Returns the fingerprint of a training; nullopt if the file is missing, too large or damaged.
std::optional<nlohmann::json> read_fingerprint(const std::string& path) {
    constexpr uint64_t most = uint64_t{16} << 20;  // larger than a fingerprint of any configuration
    const auto text = read_text(path, most);
    if (!text) return {};
    auto fingerprint = nlohmann::json::parse(*text, nullptr, false);
    if (!fingerprint.is_object()) return {};
    return fingerprint;
}

}  // namespace

TrainFolder::~TrainFolder() {
    next_fingerprint_.reset();
    lock_.reset();
    for (const std::string& folder : made_) ::rmdir(folder.c_str());  // fails unless it is empty
}

std::vector<OutputFile> TrainFolder::outputs(Earlier earlier) const {
    std::vector<OutputFile> files;
    for (const char* name :
         {"checkpoint.safetensors", "last.safetensors", "best.safetensors", "average.safetensors",
          "essence.json", "config.toml", "loss.csv", "loss.png", ".surrogate.lock"})
        files.push_back({"the training in '" + path_ + "'", file(name), earlier, anew});
    files.back().earlier = Earlier::report;  // left by a killed program
    return files;
}

void TrainFolder::make_folder() {
    std::error_code error;
    for (fs::path level = path_; !level.empty() && !fs::exists(level, error);
         level = level.parent_path())
        made_.push_back(level.string());
    fs::create_directories(path_, error);
    if (error || !fs::is_directory(path_))
        throw Failure(Exit::bad_usage, "cannot make the folder '" + path_ + "': " +
                                           (error ? error.message() : "a file has that name"));
}

/// Throws if an earlier training exists. Called without --resume and --overwrite.
void TrainFolder::refuse_earlier() const {
    const bool has_checkpoint = is_there(checkpoint());
    if (has_checkpoint || is_there(last()))
        throw Failure(
            Exit::bad_usage,
            "'" + path_ +
                (has_checkpoint ? "' has a training: --resume continues it, "
                                : "' has the model of a training without a checkpoint: ") +
                anew);
}

void TrainFolder::claim(const std::vector<InputFile>& inputs, EarlierTraining earlier) {
    earlier_ = earlier;
    int64_t is_replaced = 0;
    job_.agree([&] {
        if (!job_.is_root()) return;
        check_outputs(inputs, outputs(Earlier::replaced));
        if (earlier == EarlierTraining::resumed && !is_there(checkpoint()))
            throw Failure(Exit::bad_usage, "nothing to resume: there is no '" + checkpoint() + "'");
        make_folder();
        lock_.emplace(file(".surrogate.lock"), "the folder '" + path_ + "'");
        if (earlier == EarlierTraining::resumed) check_outputs(inputs, outputs(Earlier::report));
        if (earlier == EarlierTraining::replaced)
            for (const OutputFile& output : outputs(Earlier::replaced))
                if (output.earlier == Earlier::replaced && is_there(output.path)) is_replaced = 1;
        if (earlier != EarlierTraining::stays) return;
        refuse_earlier();
        auto files = outputs(Earlier::stays);
        if (read_fingerprint(file("essence.json"))) {
            must_be_same_ = true;
            for (OutputFile& output : files)
                if (fs::path(output.path).extension() != ".safetensors")
                    output.earlier = Earlier::report;
        }
        check_outputs(inputs, files);
    });
    has_earlier_ = job_.max(is_replaced) != 0;
}

void TrainFolder::compare(const nlohmann::json& fingerprint) {
    fingerprint_ = fingerprint;
    int64_t is_half_replaced = 0;
    job_.agree([&] {
        if (!job_.is_root() || earlier_ == EarlierTraining::replaced) return;
        const std::string path = file("essence.json");
        const auto before = read_fingerprint(path);
        // Without the file the checkpoint is compared later.
        if (!before || *before == fingerprint) return;
        if (must_be_same_)
            throw Failure(Exit::bad_usage, "'" + path + "' belongs to another training; " + anew);
        if (earlier_ != EarlierTraining::resumed) return;
        if (read_fingerprint(file::temporary_of(path)) == fingerprint)
            is_half_replaced = 1;  // killed after the rename of its first checkpoint
        else
            require_same(*before, fingerprint, path_);
    });
    has_earlier_ = has_earlier_ || job_.max(is_half_replaced) != 0;
}

void TrainFolder::begin(const std::string& config) {
    config_ = config;
    job_.agree([&] {
        if (job_.is_root() && !has_earlier_) write_notes();
    });
}

/// Writes the fingerprint first, so that a restarted training recognizes its own files.
void TrainFolder::write_notes() const {
    const std::string fingerprint = file("essence.json");
    if (read_fingerprint(fingerprint) != fingerprint_)
        write_output(fingerprint, fingerprint_text());
    write_output(file("config.toml"), config_);
}

std::string TrainFolder::fingerprint_text() const {
    return fingerprint_.dump(1) + "\n";
}

void TrainFolder::prepare_checkpoint() {
    if (!has_earlier_) return;
    job_.agree([&] {
        if (!job_.is_root()) return;
        next_fingerprint_.reset();
        next_fingerprint_.emplace(file("essence.json"), file::Links::replaced);
        const std::string text = fingerprint_text();
        next_fingerprint_->write(text.data(), text.size());
        next_fingerprint_->flush();
        if (fs::is_symlink(fs::symlink_status(checkpoint()))) fs::remove(checkpoint());
    });
}

void TrainFolder::checkpoint_is_complete() {
    if (!has_earlier_) return;
    job_.agree([&] {
        if (!job_.is_root()) return;
        next_fingerprint_->commit();
        next_fingerprint_.reset();
        // Files of the earlier training must not be mistaken for files of this one.
        for (const std::string& old :
             {last(), best(), average(), file("loss.csv"), file("loss.png")})
            fs::remove(old);
        write_notes();
    });
    has_earlier_ = false;
}

}  // namespace surrogate::tool
