// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/job/job.hpp"
#include "coupling/tool/predict.hpp"

namespace surrogate::tool {

/// Returns true if --mesh or --out names a series (.pvd).
bool is_series(const PredictArguments& arguments);

/// Runs `predict` for every step of a series and writes a series with the same times. Each step is
/// added to OUT.pvd when its meshes are complete, so OUT.pvd names complete steps only, even after
/// a crash. The steps are in the folder OUT/, or in OUT_1/, OUT_2/, .. while OUT/ has an earlier
/// series. With --overwrite the earlier series is kept until the first new step is complete, and is
/// then deleted.
///
/// After a failed step it ends with the status of the step and a text that names it. The steps
/// before it are kept, and --resume continues after them. OUT/predict.json contains the properties
/// of the run (model, arrays, options); resuming with other properties is an error. Collective;
/// errors are Failure, the same on all ranks.
void predict_series(Job& job, const PredictArguments& arguments);

}  // namespace surrogate::tool
