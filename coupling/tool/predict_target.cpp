// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predict_target.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "coupling/file/new_file.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/mesh_files.hpp"
#include "coupling/vtk/mesh_reader.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;

/// The output has the kind of the input; in pieces or in one file is free.
void check_kinds(const PredictArguments& arguments) {
    const auto in = vtk::parse_mesh_name(arguments.mesh);
    const auto out = vtk::parse_mesh_name(arguments.out);
    const std::string kind = vtk::extension_of(in.kind);
    if (in.kind != out.kind)
        fail("'" + arguments.mesh + "' is written as ." + kind + " or .p" + kind + ", not as '" +
             arguments.out + "'");
}

std::string piece_extension(const std::string& out) {
    return vtk::extension_of(vtk::parse_mesh_name(out).kind);
}

/// A file in the folder of pieces that a write of this name has left, complete or not.
struct Earlier {
    std::string path;
    int generation;
    bool is_temporary;
};

std::vector<Earlier> earlier_pieces(const Target& target) {
    std::vector<Earlier> found;
    const std::string stem = vtk::stem_of(target.out) + "_";
    const std::regex form("[0-9]{4,9}(_([0-9]{1,9}))?\\." + piece_extension(target.out) +
                          "(\\.tmp)?");
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(target.folder(), none)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind(stem, 0) != 0) continue;
        const std::string rest = name.substr(stem.size());
        std::smatch parts;
        if (!std::regex_match(rest, parts, form)) continue;
        found.push_back(
            {entry.path().string(), parts[2].matched ? std::stoi(parts[2]) : 0, parts[3].matched});
    }
    std::sort(found.begin(), found.end(),
              [](const Earlier& a, const Earlier& b) { return a.path < b.path; });
    return found;
}

std::string what_is(const std::string& input, const PredictArguments& arguments) {
    if (input == arguments.model) return "the model";
    if (input == arguments.mesh) return "the mesh itself";
    return "a piece of the mesh '" + arguments.mesh + "'";
}

/// None of the files to be replaced is one that will be read.
void check_keeps_inputs(const PredictArguments& arguments,
                        const std::vector<std::string>& replaced) {
    auto read = vtk::files_of_mesh(arguments.mesh);
    read.push_back(arguments.model);
    std::map<file::Identity, std::string> inputs;
    for (const std::string& input : read) inputs.emplace(file::identity_of(input), input);
    for (const std::string& file : replaced) {
        const auto input = inputs.find(file::identity_of(file));
        if (input != inputs.end() && input->first.exists)
            fail("--out '" + arguments.out + "' would replace '" + file + "', which is " +
                 what_is(input->second, arguments) +
                 "; it is not overwritten, choose another name");
    }
}

void check_may_replace(const PredictArguments& arguments, const std::vector<Earlier>& pieces) {
    if (fs::is_directory(arguments.out)) fail("'" + arguments.out + "' is a folder");
    if (arguments.overwrite) return;
    if (fs::exists(arguments.out)) fail("'" + arguments.out + "' exists; --overwrite replaces it");
    for (const Earlier& piece : pieces)
        if (!piece.is_temporary)
            fail("'" + piece.path +
                 "' is there, a piece of an earlier or killed write of that name; --overwrite "
                 "replaces it");
}

/// Rank 0's part.
void inspect(const PredictArguments& arguments, Target& target) {
    check_kinds(arguments);
    target.is_in_pieces = vtk::parse_mesh_name(target.out).is_parallel;
    std::vector<Earlier> pieces;
    if (target.is_in_pieces) pieces = earlier_pieces(target);
    std::set<int> used;
    for (const Earlier& piece : pieces) {
        target.replaced.push_back(piece.path);
        if (!piece.is_temporary) used.insert(piece.generation);
    }
    while (used.count(target.generation) > 0) ++target.generation;
    std::vector<std::string> replaced = {target.out, file::temporary_of(target.out)};
    replaced.insert(replaced.end(), target.replaced.begin(), target.replaced.end());
    check_keeps_inputs(arguments, replaced);
    check_may_replace(arguments, pieces);
    check_is_writable(vtk::directory_of(target.out), target.out);
    if (!target.is_in_pieces || !fs::exists(target.folder())) return;
    target.has_folder = true;
    if (!fs::is_directory(target.folder()))
        fail("the pieces of '" + target.out + "' go into the folder '" + target.folder() +
             "', which is a file");
    check_is_writable(target.folder() + "/", target.out);
}

}  // namespace

void check_is_writable(const std::string& folder, const std::string& out) {
    std::string probe = folder + ".surrogate_XXXXXX";
    const int file = ::mkstemp(probe.data());
    if (file < 0)
        fail("cannot write '" + out + "' in '" + (folder.empty() ? "." : folder) +
             "': " + std::strerror(errno));
    ::close(file);
    ::unlink(probe.c_str());
}

std::string Target::folder() const {
    return vtk::directory_of(out) + vtk::stem_of(out);
}

std::string Target::piece(int rank) const {
    char text[32];
    std::snprintf(text, sizeof text, "_%04d", rank);
    const std::string stem = vtk::stem_of(out);
    return stem + "/" + stem + text + (generation > 0 ? "_" + std::to_string(generation) : "") +
           "." + piece_extension(out);
}

Target find_target(const Job& job, const PredictArguments& arguments) {
    Target target;
    target.out = arguments.out;
    std::string problem;
    if (job.is_root()) try {
            inspect(arguments, target);
        } catch (const std::exception& error) {
            problem = error.what();
        }
    problem = job.broadcast(problem);
    if (!problem.empty()) fail(problem);
    target.is_in_pieces = vtk::parse_mesh_name(target.out).is_parallel;
    target.generation = static_cast<int>(job.max(int64_t{target.generation}));
    return target;
}

}  // namespace surrogate::tool
