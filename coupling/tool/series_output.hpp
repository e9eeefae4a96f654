// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/tool/predict.hpp"
#include "coupling/vtk/summary.hpp"

namespace surrogate::tool {

/// Reads the meshes of --mesh with their times, in the order of the file; names are relative to the
/// working directory. Collective: rank 0 reads. Throws Failure on all ranks: not a series, no
/// steps, a time that is not a number or occurs twice (the parts of a step belong into one .pvtu),
/// a file that is not a mesh.
std::vector<vtk::SeriesStep> read_series(const Job& job, const PredictArguments& arguments);

/// Writes a series step by step; the series names complete steps only. Call its functions on rank
/// 0, inside Job::agree().
class SeriesOutput {
public:
    /// Inspects the existing files; writes nothing.
    ///   fingerprint  properties of the run: a resumed series must have the same
    /// Throws Failure: OUT.pvd, or a file of the series that it replaces, is the input or one of
    /// its meshes; OUT.pvd exists without --overwrite or --resume; with --resume, the earlier
    /// series has other times or another fingerprint; a folder is not writable.
    SeriesOutput(const PredictArguments& arguments, const std::vector<vtk::SeriesStep>& input,
                 const std::string& fingerprint);

    /// Returns the number of steps that an earlier program has completed.
    size_t n_done() const { return done_.size(); }

    /// Returns the file of step i, which has the kind of the input: "out/step_000012.pvtu". Creates
    /// the folder.
    std::string begin_step(size_t i, const std::string& input);

    /// Adds the complete step to the series.
    void end_step(double time_s, const std::string& file);

private:
    void check_out(const std::vector<vtk::SeriesStep>& input) const;
    void note_replaced();
    void choose_folder(const std::vector<vtk::SeriesStep>& input);
    void take_up(const std::vector<vtk::SeriesStep>& input);
    void remove_replaced();

    const PredictArguments& arguments_;
    std::string fingerprint_, folder_;
    std::vector<vtk::SeriesStep> done_;
    std::vector<std::string> replaced_;  ///< files of the series that --overwrite replaces
    std::string replaced_folder_;        ///< "": not created by this program
    bool has_begun_ = false;
};

}  // namespace surrogate::tool
