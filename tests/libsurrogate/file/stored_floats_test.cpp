// SPDX-License-Identifier: Apache-2.0
// Weights of other float types: every float16 and bfloat16, and doubles around every place where
// rounding changes its mind, against the processor's own conversion.
#include "libsurrogate/src/file/stored_floats.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

template <class Stored>
float converted(DType dtype, Stored value) {
    float result = 0;
    to_float(dtype, reinterpret_cast<const std::byte*>(&value), 1, &result);
    return result;
}

uint32_t bits(float value) {
    return std::bit_cast<uint32_t>(value);
}

/// Source: IEEE 754, binary16: (-1)^s 2^(e-15) (1 + m/1024), and 2^-24 m for e = 0.
float float16_by_definition(uint16_t word) {
    const int exponent = word >> 10 & 31, mantissa = word & 1023;
    float value = std::ldexp(static_cast<float>(mantissa), -24);
    if (exponent > 0) value = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    return word >> 15 ? -value : value;
}

TEST(StoredFloats, EveryFloat16IsWidenedExactly) {
    for (uint32_t word = 0; word < 65536; ++word) {
        const auto half = static_cast<uint16_t>(word);
        const float found = converted(DType::float16, half);
        if ((word >> 10 & 31) != 31)
            ASSERT_EQ(bits(found), bits(float16_by_definition(half))) << word;
        else
            ASSERT_TRUE((word & 1023) ? std::isnan(found) : std::isinf(found)) << word;
    }
}

TEST(StoredFloats, EveryBfloat16IsTheUpperHalfOfItsFloat) {
    for (uint32_t word = 0; word < 65536; ++word)
        ASSERT_EQ(bits(converted(DType::bfloat16, static_cast<uint16_t>(word))), word << 16);
}

TEST(StoredFloats, Float32IsCopied) {
    for (const float value : {0.f, -1.5f, 1e-45f, 3.4e38f})
        EXPECT_EQ(bits(converted(DType::float32, value)), bits(value));
}

/// The processor rounds to nearest even here, and no test sets flushing.
void expect_as_processor(double value) {
    const volatile float expected = static_cast<float>(value);
    ASSERT_EQ(bits(converted(DType::float64, value)), bits(expected)) << std::hexfloat << value;
}

TEST(StoredFloats, Float64IsRoundedAsTheProcessorDoes) {
    std::mt19937_64 random(20261122);
    for (int exponent = 1; exponent < 2047; ++exponent) {
        const uint64_t base = static_cast<uint64_t>(exponent) << 52;
        for (int i = 0; i < 200; ++i) {
            const uint64_t word = base | random() >> 12 | random() << 63;
            expect_as_processor(std::bit_cast<double>(word));
        }
    }
}

TEST(StoredFloats, Float64BetweenTwoFloatsGoesToTheEvenOneOnATieOnly) {
    std::mt19937_64 random(20261123);
    for (int i = 0; i < 20000; ++i) {
        // Any finite float, subnormal ones and zero among them, and the middle to the next.
        const auto word = static_cast<uint32_t>(random() % 0x7f7fffff);
        const double low = std::bit_cast<float>(word), high = std::bit_cast<float>(word + 1);
        const double middle = low + (high - low) / 2;
        for (const double value :
             {low, middle, std::nextafter(middle, 0.), std::nextafter(middle, high)}) {
            expect_as_processor(value);
            expect_as_processor(-value);
        }
        const float even = std::bit_cast<float>(word % 2 ? word + 1 : word);
        ASSERT_EQ(converted(DType::float64, middle), even);
    }
}

TEST(StoredFloats, Float64AtTheEndsOfSingle) {
    constexpr float largest = std::numeric_limits<float>::max();
    const double edge = 0x1.ffffffp127;  // half way from the largest float to 2^128
    EXPECT_EQ(converted(DType::float64, std::nextafter(edge, 0.)), largest);
    EXPECT_TRUE(std::isinf(converted(DType::float64, edge)));
    EXPECT_TRUE(std::isinf(converted(DType::float64, -1e300)));
    EXPECT_TRUE(std::isnan(converted(DType::float64, std::nan(""))));
    EXPECT_EQ(converted(DType::float64, 0x1p-149), 0x1p-149f);
    EXPECT_EQ(converted(DType::float64, 0x1p-150), 0.f);
    EXPECT_EQ(converted(DType::float64, 0x1.8p-150), 0x1p-149f);
    EXPECT_EQ(bits(converted(DType::float64, -1e-300)), bits(-0.f));
    EXPECT_EQ(bits(converted(DType::float64, -5e-324)), bits(-0.f));
}

TEST(StoredFloats, TheHostsRoundingModeDoesNotMatterAndNoFlagIsRaised) {
    std::fesetround(FE_UPWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    const float tenth = converted(DType::float64, 0.1);
    const float infinite = converted(DType::float64, 1e300);
    const float tiny = converted(DType::float16, uint16_t{1});
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(raised, 0);
    EXPECT_EQ(tenth, 0.1f);
    EXPECT_TRUE(std::isinf(infinite));
    EXPECT_EQ(tiny, 0x1p-24f);
}

TEST(StoredFloats, IntegersAreRefused) {
    const std::byte byte{};
    float result = 0;
    EXPECT_EQ(test::refusal([&] { to_float(DType::int8, &byte, 1, &result); }).status,
              kernels::Status::internal);
    EXPECT_FALSE(is_float(DType::int64));
    EXPECT_TRUE(is_float(DType::bfloat16));
}

}  // namespace
}  // namespace surrogate::impl
