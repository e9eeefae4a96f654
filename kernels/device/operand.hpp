// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::kernels {

/// Operands of a device's matrix products. Sums, statistics, softmax and the residual stream are
/// always float.
///   fp32   products of three tf32 pieces: the accuracy of float
///   tf32   11 bits, float's range        fp16   11 bits, up to 65504        bf16   8 bits
enum class Operand { fp32, tf32, fp16, bf16 };

const char* name(Operand operand);

constexpr bool is_wide(Operand operand) {
    return operand == Operand::fp32 || operand == Operand::tf32;
}

/// Returns the bytes of one element outside of shared memory: fp32 is split where it is used.
constexpr int64_t operand_bytes(Operand operand) {
    return is_wide(operand) ? 4 : 2;
}

}  // namespace surrogate::kernels
