// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/stored_floats.hpp"

#include <bit>
#include <cstring>

#include "kernels/base/error.hpp"

namespace surrogate::impl {
namespace {

// Words of integers throughout: no rounding mode, no flushing and no trap of the host reaches them.

uint32_t widen_float16(uint16_t word) {
    const uint32_t sign = uint32_t{word} >> 15 << 31;
    const uint32_t exponent = word >> 10 & 31, mantissa = word & 0x3ff;
    if (exponent == 31) return sign | 0x7f800000 | mantissa << 13;
    if (exponent > 0) return sign | (exponent + (127 - 15)) << 23 | mantissa << 13;
    if (mantissa == 0) return sign;
    // mantissa * 2^-24; its leading bit becomes the hidden one.
    const auto top = static_cast<uint32_t>(std::bit_width(mantissa)) - 1;
    return sign | (top + (127 - 24)) << 23 | (mantissa << (23 - top) & 0x7fffff);
}

uint32_t widen_bfloat16(uint16_t word) {
    return uint32_t{word} << 16;
}

/// `value` / 2^shift, to the nearest, ties to even; 1 <= shift < 64.
uint64_t shift_and_round(uint64_t value, uint32_t shift) {
    const uint64_t whole = value >> shift, rest = value & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

uint32_t round_float64(uint64_t word) {
    const auto sign = static_cast<uint32_t>(word >> 63 << 31);
    const auto exponent = static_cast<int32_t>(word >> 52 & 0x7ff);
    const uint64_t mantissa = word & ((uint64_t{1} << 52) - 1);
    constexpr uint32_t infinity = 0x7f800000;
    if (exponent == 0x7ff) return sign | infinity | (mantissa ? 1u << 22 : 0u);
    constexpr int32_t bias = 1023 - 127;  // exponent - bias is float's, above 0 for normal numbers
    const uint64_t value = mantissa | uint64_t{1} << 52;
    if (exponent > bias) {
        // The hidden bit adds 1 to the exponent, and so does a carry of the rounding.
        const uint64_t bits =
            (static_cast<uint64_t>(exponent - bias - 1) << 23) + shift_and_round(value, 52 - 23);
        return sign | (bits < infinity ? static_cast<uint32_t>(bits) : infinity);
    }
    const int32_t shift = 52 - 23 + 1 + bias - exponent;  // subnormal, or rounded up to normal
    if (shift > 54) return sign;                          // below half of the smallest number
    return sign | static_cast<uint32_t>(shift_and_round(value, static_cast<uint32_t>(shift)));
}

template <class Word, class Convert>
void convert(const std::byte* from, int64_t n, float* to, Convert one) {
    for (int64_t i = 0; i < n; ++i) {
        Word word;
        std::memcpy(&word, from + i * static_cast<int64_t>(sizeof word), sizeof word);
        const uint32_t bits = one(word);
        std::memcpy(to + i, &bits, sizeof bits);
    }
}

}  // namespace

bool is_float(DType dtype) {
    return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 ||
           dtype == DType::float64;
}

void to_float(DType dtype, const std::byte* from, int64_t n, float* to) {
    switch (dtype) {
        case DType::float16: return convert<uint16_t>(from, n, to, widen_float16);
        case DType::bfloat16: return convert<uint16_t>(from, n, to, widen_bfloat16);
        case DType::float64: return convert<uint64_t>(from, n, to, round_float64);
        case DType::float32:
            if (n > 0) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
            return;
        default:
            throw kernels::Error(kernels::Status::internal,
                                 std::string(name(dtype)) + " is not a type of weights");
    }
}

const char* how_read(DType dtype) {
    if (dtype == DType::float64) return "rounded to single";
    return width(dtype) < 4 ? "widened exactly" : "as stored";
}

}  // namespace surrogate::impl
