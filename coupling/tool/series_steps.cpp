// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/series_steps.hpp"

#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/mesh/mesh_files.hpp"
#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/tool/series_output.hpp"
#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

using vtk::SeriesStep;

double time_of(const std::string& path, const std::string& file, const std::string& text) {
    const auto time_s = finite_number(text);
    if (!time_s)
        fail("series '" + path + "': the timestep of '" + one_line(file) + "' is '" +
             one_line(text) + "', not a number");
    return *time_s;
}

std::string packed(const std::vector<SeriesStep>& steps) {
    std::string bytes;
    for (const SeriesStep& step : steps) {
        char time[40];
        bytes.append(time, std::to_chars(time, time + sizeof time, step.time_s).ptr);
        bytes += '\x1f' + step.file + '\x1e';
    }
    return bytes;
}

std::vector<SeriesStep> unpacked(const std::string& bytes) {
    std::vector<SeriesStep> steps;
    std::istringstream records(bytes);
    for (std::string record; std::getline(records, record, '\x1e');) {
        const size_t split = record.find('\x1f');
        SeriesStep step{0, record.substr(split + 1)};
        std::from_chars(record.data(), record.data() + split, step.time_s);
        steps.push_back(std::move(step));
    }
    return steps;
}

/// Runs the part of read_series() on rank 0.
std::vector<SeriesStep> checked_steps(const PredictArguments& arguments) {
    if (vtk::extension_of(arguments.mesh) != ".pvd")
        fail("'" + arguments.out + "' is the name of a series, '" + arguments.mesh +
             "' is one mesh: it is written as one mesh");
    if (vtk::extension_of(arguments.out) != ".pvd")
        fail("'" + arguments.mesh +
             "' is a series of meshes; it is written as a series, --out "
             "NAME.pvd, not as '" +
             arguments.out + "'");
    return series_steps(arguments.mesh);
}

}  // namespace

std::vector<SeriesStep> series_steps(const std::string& path) {
    if (!std::filesystem::is_regular_file(path)) fail("there is no series (.pvd) '" + path + "'");
    std::vector<SeriesStep> steps;
    std::set<double> times;
    for (const auto& [file, time] : vtk::entries_of_series(path)) {
        steps.push_back({time_of(path, file, time), file});
        if (!times.insert(steps.back().time_s).second)
            fail("series '" + path + "' has two files at time " + time +
                 ": the parts of a step belong into one parallel mesh (.pvtu ..)");
        vtk::parse_mesh_name(file);
    }
    if (steps.empty()) fail("'" + path + "' names no mesh: it is not a series, or has no step");
    return steps;
}

std::vector<SeriesStep> read_series(const Job& job, const PredictArguments& arguments) {
    std::string problem, bytes;
    if (job.is_root()) try {
            bytes = packed(checked_steps(arguments));
        } catch (const std::exception& error) {
            problem = error.what();
        }
    problem = job.broadcast(problem);
    if (!problem.empty()) fail(problem);
    return unpacked(job.broadcast(bytes));
}

}  // namespace surrogate::tool
