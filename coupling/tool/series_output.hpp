// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/tool/predict.hpp"
#include "coupling/vtk/summary.hpp"

namespace surrogate::tool {

/// The meshes of --mesh with their times, in the order of the file; names lead from the working
/// folder. Collective: rank 0 reads. Throws Failure on all ranks: no series, no steps, a time that
/// is no number or comes twice (the parts of a step belong into one .pvtu), a file that is no mesh.
std::vector<vtk::SeriesStep> read_series(const Job& job, const PredictArguments& arguments);

/// A series that grows by complete steps. Its functions are for rank 0, inside Job::agree().
class SeriesOutput {
public:
    /// Looks at what is there; writes nothing.
    ///   fingerprint  what makes the steps: a series that goes on must have had the same
    /// Throws Failure: OUT.pvd, or a file of the series that it replaces, is the input or one of
    /// its meshes; OUT.pvd exists without --overwrite or --resume; --resume, and the earlier one
    /// has other times or another fingerprint; a folder that cannot be written.
    SeriesOutput(const PredictArguments& arguments, const std::vector<vtk::SeriesStep>& input,
                 const std::string& fingerprint);

    /// Steps that an earlier program has completed.
    size_t n_done() const { return done_.size(); }

    /// The file of step i, which has the kind of the input's: "out/step_000012.pvtu". The folder is
    /// made.
    std::string begin_step(size_t i, const std::string& input);

    /// It is complete: the series names it.
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
    std::string replaced_folder_;        ///< "": they are not this program's
    bool has_begun_ = false;
};

}  // namespace surrogate::tool
