// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscviewer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace surrogate::petsc {

/// Reasons not to use a prediction.
enum class Refusal { not_better, failed, not_finite, out_of_range };
inline constexpr std::size_t n_refusal = 4;

/// Counts of predictions that a solver requested, by result. The same on all ranks.
struct Counters {
    int64_t asked = 0;
    int64_t used = 0;
    int64_t repeated =
        0;  ///< solves that failed from a prediction and were repeated from the start
    std::array<int64_t, n_refusal> refused{};
    PetscReal before = 0, after = 0;  ///< residual norms of the last prediction that was compared
    bool was_judged = false;
    std::string last_failure;  ///< text of the last prediction that failed

    void refuse(Refusal reason) { ++refused[static_cast<std::size_t>(reason)]; }

    /// Stores the norms of start and prediction. Returns true if the prediction's norm is below
    /// `factor` times the norm of the start; false for NaN and infinity.
    bool judge(PetscReal start_norm, PetscReal prediction_norm, PetscReal factor);

    /// Prints two to four lines of text. `norm` names the norm that judge() compares, such as "|b -
    /// A x|".
    PetscErrorCode view(PetscViewer viewer, const char* norm) const;
};

}  // namespace surrogate::petsc
