// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "libsurrogate/src/file/safetensors.hpp"

namespace surrogate::impl {

/// Returns true for the types of stored weights: F16, BF16, F32, F64.
bool is_float(DType dtype);

/// Converts n stored numbers of a float type to float: F16 and BF16 exactly, F64 rounded to the
/// nearest, ties to even; F32 is copied. Values that are not finite stay so, and values beyond the
/// range of float become infinite. Subnormal numbers are kept. Bitwise identical on every machine
/// and under any rounding mode, flushing or trap that the host has set. `from` and `to` must not
/// overlap.
void to_float(DType dtype, const std::byte* from, int64_t n, float* to);

/// Describes the conversion of the numbers: "as stored", "widened exactly", "rounded to single".
const char* how_read(DType dtype);

}  // namespace surrogate::impl
