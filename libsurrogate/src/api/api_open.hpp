// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "surrogate/surrogate.h"

namespace surrogate::impl {

/// Makes a plan of a model file on points, with the options of the context, whose handle it takes
/// over. Collective; all ranks return the same status, and after a failure only the text in
/// surrogate_error(NULL) is left.
surrogate_status open_plan(surrogate_context* context, const char* path,
                           const surrogate_points* points, surrogate_plan** plan);

}  // namespace surrogate::impl
