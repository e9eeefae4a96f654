// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/series_output.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "coupling/file/new_file.hpp"
#include "coupling/tool/predict_target.hpp"
#include "coupling/tool/read_text.hpp"
#include "coupling/tool/series_steps.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/mesh_files.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;
using vtk::SeriesStep;

constexpr const char* essence_file = "/predict.json";

/// "out" or "out_3" of steps in such a folder beside OUT.pvd; "" if they are elsewhere.
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

/// A folder that is not there; or one of ours that no series names, left by a program that has failed
/// in its first step.
std::string free_folder(const std::string& out, const std::string& in_use) {
    const std::string own = vtk::directory_of(out) + vtk::stem_of(out);
    std::string folder = own;
    for (int i = 1; fs::exists(folder); ++i) {
        if (folder != in_use && fs::exists(folder + essence_file)) break;
        folder = own + "_" + std::to_string(i);
    }
    return folder;
}

}  // namespace

SeriesOutput::SeriesOutput(const PredictArguments& arguments, const std::vector<SeriesStep>& input,
                           const std::string& essence)
    : arguments_(arguments), essence_(essence) {
    const std::string& out = arguments.out;
    check_out(input);
    const bool is_there = fs::exists(out);
    if (is_there && !arguments.overwrite && !arguments.resume)
        fail("'" + out + "' exists; --overwrite replaces it, --resume goes on after its steps");
    if (is_there && arguments.resume) {
        take_up(input);
        return;
    }
    if (is_there) {
        replaced_ = series_steps(out);
        replaced_folder_ = folder_of(out, replaced_);
    }
    folder_ = free_folder(out, replaced_folder_);
    check_is_writable(vtk::directory_of(out), out);
}

/// The file to be replaced is none that will be read.
void SeriesOutput::check_out(const std::vector<SeriesStep>& input) const {
    const std::string& out = arguments_.out;
    if (fs::is_directory(out)) fail("'" + out + "' is a folder");
    std::set<file::Identity> read = {file::identity_of(arguments_.mesh),
                                     file::identity_of(arguments_.model)};
    for (const SeriesStep& step : input) read.insert(file::identity_of(step.file));
    for (const std::string& written : {out, file::temporary_of(out)}) {
        const auto identity = file::identity_of(written);
        if (identity.exists && read.count(identity) > 0)
            fail("--out '" + out + "' would replace '" + written +
                 "', which is the series itself, one of its meshes or the model; choose another "
                 "name");
    }
}

/// --resume: the steps that are there must be the first ones of this series.
void SeriesOutput::take_up(const std::vector<SeriesStep>& input) {
    const std::string& out = arguments_.out;
    done_ = series_steps(out);
    folder_ = folder_of(out, done_);
    if (folder_.empty())
        fail("--resume: '" + out +
             "' is no series that predict has written; --overwrite replaces it");
    for (size_t i = 0; i < done_.size(); ++i)
        if (i >= input.size() || done_[i].time_s != input[i].time_s)
            fail("--resume: the times of '" + out + "' are not those that '" + arguments_.mesh +
                 "' begins with: it is of another series; --overwrite replaces it");
    if (read_text(folder_ + essence_file) != essence_)
        fail("--resume: '" + folder_ + essence_file +
             "' tells of another model, other arrays or options than are given now; what they have "
             "made stays with --out of another name, --overwrite replaces it");
    has_begun_ = true;
}

std::string SeriesOutput::begin_step(size_t i, const std::string& input) {
    if (!has_begun_) {
        vtk::make_directory(folder_);
        vtk::write_atomically(folder_ + essence_file, essence_);
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
    vtk::write_atomically(arguments_.out, vtk::pvd_text(named));
    remove_replaced();
}

/// The files of the earlier series, which no name leads to any more, and its folder if that is empty
/// then. A file that somebody has put there stays.
void SeriesOutput::remove_replaced() {
    if (replaced_folder_.empty()) return;
    for (const SeriesStep& step : replaced_) {
        for (const std::string& file : vtk::files_of_mesh(step.file))
            if (file.rfind(replaced_folder_ + "/", 0) == 0) std::remove(file.c_str());
        std::remove((replaced_folder_ + "/" + vtk::stem_of(step.file)).c_str());
    }
    std::remove((replaced_folder_ + essence_file).c_str());
    std::remove(replaced_folder_.c_str());
    replaced_folder_.clear();
}

}  // namespace surrogate::tool
