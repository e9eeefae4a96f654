// SPDX-License-Identifier: Apache-2.0
#include "counters.hpp"

#include <petscmath.h>

#include <numeric>

namespace surrogate::petsc {

bool Counters::judge(PetscReal start_norm, PetscReal prediction_norm, PetscReal factor) {
    before = start_norm;
    after = prediction_norm;
    was_judged = true;
    const bool is_better = after < factor * before;
    if (is_better)
        ++used;
    else
        refuse(PetscIsInfOrNanReal(after) ? Refusal::not_finite : Refusal::not_better);
    return is_better;
}

PetscErrorCode Counters::view(PetscViewer viewer, const char* norm) const {
    PetscFunctionBegin;
    const auto all =
        static_cast<long long>(std::accumulate(refused.begin(), refused.end(), int64_t{0}));
    const auto of = [this](Refusal reason) {
        return static_cast<long long>(refused[static_cast<std::size_t>(reason)]);
    };
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "asked %lld, used %lld, rejected %lld (not better %lld, failed "
        "%lld, not finite %lld, out of "
        "range %lld)\n",
        static_cast<long long>(asked), static_cast<long long>(used), all, of(Refusal::not_better),
        of(Refusal::failed), of(Refusal::not_finite), of(Refusal::out_of_range)));
    if (repeated > 0)
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "repeated from the start, because the solve from the prediction failed: %lld\n",
            static_cast<long long>(repeated)));
    if (was_judged)
        PetscCall(PetscViewerASCIIPrintf(viewer, "last: %s %.6g at the start, %.6g predicted\n",
                                         norm, double(before), double(after)));
    if (!last_failure.empty())
        PetscCall(PetscViewerASCIIPrintf(viewer, "last failure: %s\n", last_failure.c_str()));
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
