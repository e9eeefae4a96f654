// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/series_output.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "coupling/job/output_files.hpp"
#include "coupling/job/read_text.hpp"
#include "coupling/mesh/mesh_files.hpp"
#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/tool/predict_target.hpp"
#include "coupling/tool/series_steps.hpp"
#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;
using vtk::SeriesStep;

constexpr const char* fingerprint_file = "/predict.json";

/// Returns "out" or "out_3" for steps in such a folder beside OUT.pvd; "" for steps elsewhere.
std::string folder_of(const std::string& out, const std::vector<SeriesStep>& steps) {
    if (steps.empty()) return "";
    std::string folder = vtk::directory_of(steps.front().file);
    if (!folder.empty()) folder.pop_back();
    const std::string own = vtk::directory_of(out) + vtk::stem_of(out);
    if (folder != own && folder.rfind(own + "_", 0) != 0) return "";
    for (const SeriesStep& step : steps)
        if (vtk::directory_of(step.file) != folder + "/") return "";
    return folder;
}

/// Returns true if this series was begun in the folder, by its fingerprint file.
bool is_begun(const std::string& folder, const std::string& fingerprint) {
    const std::string note = folder + fingerprint_file;
    return fs::is_regular_file(fs::symlink_status(note)) && read_text(note) == fingerprint;
}

bool is_within(const std::string& file, const std::string& folder) {
    const std::string inside = (fs::path(folder) / "").lexically_normal().string();
    return fs::path(file).lexically_normal().string().rfind(inside, 0) == 0;
}

/// Returns true if the text is a fingerprint of this program, for any series.
bool is_note(const std::optional<std::string>& text) {
    if (!text) return false;
    const auto note = nlohmann::json::parse(*text, nullptr, false);
    return note.is_object() && note.contains("model") && note.contains("maps") &&
           note.contains("options");
}

bool holds_one_of(const std::string& folder, const std::vector<SeriesStep>& meshes) {
    const file::Identity identity = file::identity_of(folder);
    return std::any_of(meshes.begin(), meshes.end(), [&](const SeriesStep& mesh) {
        return file::identity_of(vtk::directory_of(mesh.file) + ".") == identity;
    });
}

}  // namespace

SeriesOutput::SeriesOutput(const PredictArguments& arguments, const std::vector<SeriesStep>& input,
                           const std::string& fingerprint)
    : arguments_(arguments), fingerprint_(fingerprint) {
    const std::string& out = arguments.out;
    if (arguments.overwrite && fs::exists(out)) note_replaced();
    check_out(input);
    if (arguments.resume && fs::exists(out)) {
        take_up(input);
        return;
    }
    choose_folder(input);
    check_is_writable(vtk::directory_of(out), out);
}

/// --overwrite: the steps of an earlier series are also replaced; for another file only the file
/// itself.
void SeriesOutput::note_replaced() {
    try {
        const std::vector<SeriesStep> steps = series_steps(arguments_.out);
        replaced_folder_ = folder_of(arguments_.out, steps);
        if (replaced_folder_.empty()) return;
        for (const SeriesStep& step : steps)
            for (const std::string& file : vtk::files_of_mesh(step.file))
                if (is_within(file, replaced_folder_)) replaced_.push_back(file);
    } catch (const std::exception&) {  // not a series, or a damaged one
        replaced_.clear();
        replaced_folder_.clear();
    }
}

/// Checks that no file that will be replaced or deleted will be read.
void SeriesOutput::check_out(const std::vector<SeriesStep>& input) const {
    std::vector<InputFile> inputs = {{"the series itself", arguments_.mesh},
                                     {"the model", arguments_.model}};
    for (const SeriesStep& step : input) inputs.push_back({"one of its meshes", step.file});
    OutputFile output{option_text("--out", arguments_.out), arguments_.out};
    output.remedy += ", --resume continues after its steps";
    if (arguments_.resume) output.earlier = Earlier::report;
    if (arguments_.overwrite) output.earlier = Earlier::replaced;
    std::vector<OutputFile> outputs = {output};
    for (const std::string& file : replaced_)
        outputs.push_back({output.what, file, Earlier::replaced});
    check_outputs(inputs, outputs);
}

/// Chooses a folder that does not exist; or a folder that no series names, in which a program has
/// begun this series and has failed in its first step. Any other folder may contain files of the
/// user.
void SeriesOutput::choose_folder(const std::vector<SeriesStep>& input) {
    const std::string own = vtk::directory_of(arguments_.out) + vtk::stem_of(arguments_.out);
    folder_ = own;
    for (int i = 1; fs::exists(fs::symlink_status(folder_)); ++i) {
        if (folder_ != replaced_folder_ && is_begun(folder_, fingerprint_) &&
            !holds_one_of(folder_, input))
            break;
        folder_ = own + "_" + std::to_string(i);
    }
}

/// --resume: the existing steps must be the first steps of this series.
void SeriesOutput::take_up(const std::vector<SeriesStep>& input) {
    const std::string& out = arguments_.out;
    done_ = series_steps(out);
    folder_ = folder_of(out, done_);
    if (folder_.empty())
        fail("--resume: '" + out +
             "' is not a series that predict has written; --overwrite replaces it");
    for (size_t i = 0; i < done_.size(); ++i)
        if (i >= input.size() || done_[i].time_s != input[i].time_s)
            fail("--resume: the times of '" + out + "' differ from the first times of '" +
                 arguments_.mesh + "', so it belongs to another series; --overwrite replaces it");
    if (read_text(folder_ + fingerprint_file) != fingerprint_)
        fail("--resume: '" + folder_ + fingerprint_file +
             "' was written by a different model, other arrays or options; choose another --out, "
             "or use --overwrite to replace it");
    has_begun_ = true;
}

std::string SeriesOutput::begin_step(size_t i, const std::string& input) {
    if (!has_begun_) {
        vtk::make_directory(folder_);
        write_output(folder_ + fingerprint_file, fingerprint_);
        has_begun_ = true;
    }
    char name[32];
    std::snprintf(name, sizeof name, "/step_%06zu", i);
    return folder_ + name + vtk::extension_of(input);
}

void SeriesOutput::end_step(double time_s, const std::string& file) {
    done_.push_back({time_s, file});
    std::vector<SeriesStep> named = done_;
    const size_t n_folder = vtk::directory_of(arguments_.out).size();
    for (SeriesStep& step : named) step.file.erase(0, n_folder);
    write_output(arguments_.out, vtk::pvd_text(named));
    remove_replaced();
}

/// Deletes the files of the earlier series, which are no longer named, and its folder if it is then
/// empty. Other files in the folder are kept.
void SeriesOutput::remove_replaced() {
    if (replaced_folder_.empty()) return;
    for (const std::string& file : replaced_) std::remove(file.c_str());
    for (const std::string& file : replaced_)  // folders of pieces
        if (vtk::parse_mesh_name(file).is_parallel)
            std::remove((replaced_folder_ + "/" + vtk::stem_of(file)).c_str());
    const std::string note = replaced_folder_ + fingerprint_file;
    if (is_note(read_text(note))) std::remove(note.c_str());
    std::remove(replaced_folder_.c_str());
    replaced_folder_.clear();
}

}  // namespace surrogate::tool
