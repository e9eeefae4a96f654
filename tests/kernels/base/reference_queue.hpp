// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"

namespace surrogate::kernels::test {

/// Runs the reference kernels, on one thread.
inline const Queue reference(Backend::ref, VectorLevel::scalar, 1);

}  // namespace surrogate::kernels::test
