// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace surrogate::kernels {

/// Returns true if the instructions of AVX-512 that split off a power of two and multiply by one
/// take as long as an addition: on processors of Intel. Only the speed depends on it.
bool has_fast_scaling();

}  // namespace surrogate::kernels
