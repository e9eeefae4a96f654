// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/device/operand_writer.hpp"

namespace surrogate::kernels {

const char* name(Operand operand) {
    switch (operand) {
        case Operand::fp32: return "fp32";
        case Operand::tf32: return "tf32";
        case Operand::fp16: return "fp16";
        case Operand::bf16: return "bf16";
    }
    return "?";
}

float round_to(float value, int n_bit) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const int cut = 23 - n_bit;
    const uint32_t half = (1U << (cut - 1)) - 1 + ((bits >> cut) & 1U);
    return std::bit_cast<float>((bits + half) & ~((1U << cut) - 1));
}

namespace {

uint16_t to_bf16(float value) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(round_to(value, 7)) >> 16);
}

/// Converts to fp16. Throws not_supported beyond its range. Numbers below 2^-24 become multiples of
/// it.
uint16_t to_f16(float value) {
    const float size = std::abs(value);
    const auto sign = static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16) & 0x8000U);
    if (!(size < 65520.0F)) {
        throw Error(
            Status::not_supported,
            "a weight of the model is " + std::to_string(value) +
                ", beyond the range of precision 'fp16' (65504); use precision 'bf16' or 'tf32'");
    }
    if (size < 0x1p-14F) {  // subnormal: adding 1/2 rounds to multiples of 2^-24
        const float shifted = size + 0.5F;
        return static_cast<uint16_t>(
            sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F)));
    }
    const auto bits = std::bit_cast<uint32_t>(round_to(size, 10));
    return static_cast<uint16_t>(sign | ((bits >> 13) - ((127U - 15U) << 10)));
}

}  // namespace

void OperandWriter::put(float value) {
    switch (operand_) {
        case Operand::fp32: append(value); break;
        case Operand::tf32: append(round_to(value, 10)); break;
        case Operand::fp16: append(to_f16(value)); break;
        case Operand::bf16: append(to_bf16(value)); break;
    }
}

}  // namespace surrogate::kernels
