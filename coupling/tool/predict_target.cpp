// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predict_target.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>
#include <set>

#include "coupling/mesh/mesh_files.hpp"
#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;

/// Checks that the output has the kind of the input. It may be one file or have pieces.
void check_kinds(const PredictArguments& arguments) {
    const std::string& mesh = written_mesh(arguments);
    const auto in = vtk::parse_mesh_name(mesh);
    const auto out = vtk::parse_mesh_name(arguments.out);
    const std::string kind = vtk::extension_of(in.kind);
    if (in.kind != out.kind)
        fail("'" + mesh + "' is written as ." + kind + " or .p" + kind + ", not as '" +
             arguments.out + "'");
}

std::string piece_extension(const std::string& out) {
    return vtk::extension_of(vtk::parse_mesh_name(out).kind);
}

/// A file in the folder of pieces from an earlier write of this name, complete or not.
struct EarlierPiece {
    std::string path;
    int generation;
    bool is_temporary;
};

std::vector<EarlierPiece> earlier_pieces(const Target& target) {
    std::vector<EarlierPiece> found;
    const std::string stem = vtk::stem_of(target.out) + "_";
    const std::regex form("[0-9]{4,9}(_([0-9]{1,9}))?\\." + piece_extension(target.out) +
                          "(\\.surrogate\\.tmp)?");
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
              [](const EarlierPiece& a, const EarlierPiece& b) { return a.path < b.path; });
    return found;
}

std::vector<InputFile> inputs_of(const PredictArguments& arguments) {
    std::vector<InputFile> inputs = {{"the mesh itself", arguments.mesh},
                                     {"the model", arguments.model}};
    const auto add_pieces = [&](const std::string& mesh) {
        const std::string piece = "a piece of the mesh '" + mesh + "'";
        for (const std::string& file : vtk::files_of_mesh(mesh))
            if (file != mesh) inputs.push_back({piece, file});
    };
    add_pieces(arguments.mesh);
    if (!has_probes(arguments)) return inputs;
    inputs.push_back({"the mesh of --at", arguments.at});
    add_pieces(arguments.at);
    return inputs;
}

/// Returns the output, and earlier pieces of that name, which are deleted when it is complete.
std::vector<OutputFile> outputs_of(const PredictArguments& arguments,
                                   const std::vector<EarlierPiece>& pieces) {
    const std::string what = option_text("--out", arguments.out);
    const Earlier earlier = arguments.overwrite ? Earlier::replaced : Earlier::stays;
    std::vector<OutputFile> outputs = {{what, arguments.out, earlier}};
    for (const EarlierPiece& piece : pieces)
        outputs.push_back({what, piece.path, piece.is_temporary ? Earlier::replaced : earlier,
                           "a piece of an earlier or killed write of '" + arguments.out +
                               "'; --overwrite replaces it"});
    return outputs;
}

/// Runs on rank 0.
void inspect(const PredictArguments& arguments, Target& target) {
    check_kinds(arguments);
    target.is_in_pieces = vtk::parse_mesh_name(target.out).is_parallel;
    std::vector<EarlierPiece> pieces;
    if (target.is_in_pieces) pieces = earlier_pieces(target);
    std::set<int> used;
    for (const EarlierPiece& piece : pieces) {
        target.replaced.push_back(piece.path);
        if (!piece.is_temporary) used.insert(piece.generation);
    }
    while (used.count(target.generation) > 0) ++target.generation;
    check_outputs(inputs_of(arguments), outputs_of(arguments, pieces));
    check_is_writable(vtk::directory_of(target.out), target.out);
    if (!target.is_in_pieces || !fs::exists(target.folder())) return;
    target.has_folder = true;
    if (!fs::is_directory(target.folder()))
        fail("the pieces of '" + target.out + "' go into the folder '" + target.folder() +
             "', which is a file");
    check_is_writable(target.folder() + "/", target.out);
}

}  // namespace

bool is_mesh_name(const std::string& name) {
    try {
        vtk::parse_mesh_name(name);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

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

std::unique_ptr<file::FileLock> lock_output(const Job& job, const PredictArguments& arguments) {
    std::unique_ptr<file::FileLock> lock;
    job.agree([&] {
        if (!job.is_root()) return;
        check_outputs({},
                      {{option_text("--out", arguments.out), arguments.out, Earlier::replaced}});
        check_is_writable(vtk::directory_of(arguments.out), arguments.out);
        lock = std::make_unique<file::FileLock>(file::lock_of(arguments.out),
                                                option_text("--out", arguments.out));
    });
    return lock;
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
