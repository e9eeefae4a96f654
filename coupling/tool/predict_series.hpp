// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/job/job.hpp"
#include "coupling/tool/predict.hpp"

namespace surrogate::tool {

/// Returns whether --mesh or --out names a series (.pvd).
bool is_series(const PredictArguments& arguments);

/// `predict` of every step of a series, into a series with the same times. OUT.pvd gets each step
/// when its meshes are complete, so it names whole steps only, whatever ends the program. Steps lie
/// in the folder OUT/, or, while that has an earlier series, in OUT_1/, OUT_2/, ..: with
/// --overwrite the earlier one stays until the first new step is there, and then its files go.
///
/// A step that fails ends it with that step's status and a text that names it; the steps before it
/// stay, and --resume goes on after them: OUT/predict.json says what made them (model, arrays,
/// options), and something else is refused. Collective; errors are Failure, the same on every rank.
void predict_series(Job& job, const PredictArguments& arguments);

}  // namespace surrogate::tool
