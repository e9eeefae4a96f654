// SPDX-License-Identifier: Apache-2.0
// The emulation itself: every word and wrapper against plain loops, and mistakes that it must find.
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/device/cuda.cuh"

namespace surrogate::test {
namespace {

using namespace kernels::cuda;
using emulation::Product;

/// Returns the error of a launch, "" for success.
template <class Launch>
std::string failure(Launch launch) {
    try {
        launch();
    } catch (const std::logic_error& error) {
        return error.what();
    }
    return "";
}
::testing::AssertionResult says(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts)
        if (text.find(part) == std::string::npos)
            return ::testing::AssertionFailure() << "no \"" << part << "\" in \"" << text << "\"";
    return ::testing::AssertionSuccess();
}

// ---- products ----------------------------------------------------------------------------------

struct Matrices {
    Product product;
    int n_k;
    float a[16][16], b[16][8], c[16][8];
};

uint32_t pair(Product product, float first, float second) {
    const bool is_half = product == Product::f16_k8 || product == Product::f16_k16;
    return is_half ? pack_f16(first, second) : pack_bf16(first, second);
}

/// Fragments by the table in cuda.cuh, each entry written out.
__global__ void multiply(Matrices* m) {
    const int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    const auto a_pair = [&](int row, int k) {
        return pair(m->product, m->a[row][k], m->a[row][k + 1]);
    };
    const auto b_pair = [&](int k) { return pair(m->product, m->b[k][g], m->b[k + 1][g]); };
    float c[4] = {m->c[g][2 * t], m->c[g][2 * t + 1], m->c[g + 8][2 * t], m->c[g + 8][2 * t + 1]};
    const uint32_t short_a[2] = {a_pair(g, 2 * t), a_pair(g + 8, 2 * t)};
    const uint32_t a[4] = {short_a[0], short_a[1], a_pair(g, 2 * t + 8), a_pair(g + 8, 2 * t + 8)};
    const uint32_t b[2] = {b_pair(2 * t), b_pair(2 * t + 8)};
    const uint32_t tf32_a[4] = {to_tf32(m->a[g][t]), to_tf32(m->a[g + 8][t]),
                                to_tf32(m->a[g][t + 4]), to_tf32(m->a[g + 8][t + 4])};
    const uint32_t tf32_b[2] = {to_tf32(m->b[t][g]), to_tf32(m->b[t + 4][g])};
    switch (m->product) {
        case Product::f16_k8: product_f16(c, short_a, b[0]); break;
        case Product::f16_k16: product_f16(c, a, b); break;
        case Product::bf16_k8: product_bf16(c, short_a, b[0]); break;
        case Product::bf16_k16: product_bf16(c, a, b); break;
        case Product::tf32_k8: product_tf32(c, tf32_a, tf32_b); break;
    }
    for (int i = 0; i < 4; ++i) m->c[g + i / 2 * 8][2 * t + i % 2] = c[i];
}

Matrices integers(Product product) {
    const bool is_long = product == Product::f16_k16 || product == Product::bf16_k16;
    Matrices m{product, is_long ? 16 : 8, {}, {}, {}};
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k) m.a[i][k] = static_cast<float>(16 * i + k - 100);
    for (int k = 0; k < 16; ++k)
        for (int j = 0; j < 8; ++j) m.b[k][j] = static_cast<float>(8 * k + j - 77);
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j) m.c[i][j] = static_cast<float>(1000 * i - j);
    return m;
}

class Products : public ::testing::TestWithParam<Product> {};

TEST_P(Products, IntegersComeOutExactlyAsOfPlainLoops) {
    Matrices m = integers(GetParam()), expected = m;
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j)
            for (int k = 0; k < m.n_k; ++k) expected.c[i][j] += m.a[i][k] * m.b[k][j];
    SURROGATE_LAUNCH(multiply, 1, 32, 0, nullptr, &m);
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j) EXPECT_EQ(m.c[i][j], expected.c[i][j]) << i << " " << j;
}

TEST_P(Products, SumsAreRoundedOnceTowardsZeroAndNaNStays) {
    Matrices m = integers(GetParam());
    for (auto& row : m.a)
        for (float& x : row) x = 0;
    for (auto& row : m.b)
        for (float& x : row) x = 0x1p-14F;
    m.a[0][0] = -0x1p-14F;                         // 1 - 2^-28
    m.a[1][0] = m.a[1][1] = m.a[1][2] = 0x1p-11F;  // 1 + 3 * 2^-25, each of them too small alone
    m.a[2][0] = NAN;
    m.a[3][0] = INFINITY;
    for (auto& row : m.c)
        for (float& x : row) x = 1;
    SURROGATE_LAUNCH(multiply, 1, 32, 0, nullptr, &m);
    EXPECT_EQ(m.c[0][0], 1 - 0x1p-24F);
    EXPECT_EQ(m.c[1][7], 1.F);
    m.a[1][3] = 0x1p-11F;
    for (float& x : m.c[1]) x = 1;
    SURROGATE_LAUNCH(multiply, 1, 32, 0, nullptr, &m);
    EXPECT_EQ(m.c[1][7], 1 + 0x1p-23F);
    EXPECT_TRUE(std::isnan(m.c[2][3]));
    EXPECT_EQ(m.c[3][3], INFINITY);
    EXPECT_EQ(m.c[15][3], 1.F);
}
INSTANTIATE_TEST_SUITE_P(All, Products,
                         ::testing::Values(Product::f16_k8, Product::f16_k16, Product::bf16_k8,
                                           Product::bf16_k16, Product::tf32_k8));

/// sum = 8 value * 1, for all rows and columns.
__global__ void multiply_raw(float value, float* sum) {
    float c[4] = {};
    const uint32_t bits = __float_as_uint(value), one = __float_as_uint(1.0F);
    const uint32_t a[4] = {bits, bits, bits, bits}, b[2] = {one, one};
    product_tf32(c, a, b);
    if (threadIdx.x == 0) *sum = c[0];
}

TEST(Emulation, ProductsOfTf32DoNotReadTheLastBits) {
    float sum = 0;
    SURROGATE_LAUNCH(multiply_raw, 1, 32, 0, nullptr, 1 + 0x1p-10F + 0x1p-11F + 0x1p-23F, &sum);
    EXPECT_EQ(sum, 8 + 0x1p-7F);
    SURROGATE_LAUNCH(multiply_raw, 1, 32, 0, nullptr, NAN, &sum);
    EXPECT_TRUE(std::isnan(sum));
}

__global__ void transpose(uint16_t* matrix) {
    const uint32_t g = threadIdx.x / 4, t = threadIdx.x % 4;
    const uint32_t rows = matrix[8 * g + 2 * t] | uint32_t{matrix[8 * g + 2 * t + 1]} << 16;
    const uint32_t columns = transpose_8x8(rows);
    matrix[64 + 8 * g + 2 * t] = static_cast<uint16_t>(columns);
    matrix[64 + 8 * g + 2 * t + 1] = static_cast<uint16_t>(columns >> 16);
}

TEST(Emulation, TransposesInsideAWarp) {
    std::vector<uint16_t> matrix(128);
    std::iota(matrix.begin(), matrix.end(), uint16_t{40000});
    SURROGATE_LAUNCH(transpose, 1, 32, 0, nullptr, matrix.data());
    for (size_t i = 0; i < 8; ++i)
        for (size_t j = 0; j < 8; ++j) EXPECT_EQ(matrix[64 + 8 * i + j], matrix[8 * j + i]);
}

// ---- numbers -----------------------------------------------------------------------------------

/// The value of a 16-bit number, from the definition.
double value(uint32_t bits, int n_exponent) {
    const int n_fraction = 15 - n_exponent, bias = (1 << (n_exponent - 1)) - 1;
    const int exponent = static_cast<int>(bits >> n_fraction) & ((1 << n_exponent) - 1);
    const double fraction = bits & ((1U << n_fraction) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - n_fraction);
    return sign * std::ldexp(fraction + (1 << n_fraction), exponent - bias - n_fraction);
}

TEST(Emulation, PackingRoundsToNearestEven) {
    const auto check = [](auto pack, int n_exponent, uint32_t infinity) {
        for (uint32_t sign : {0U, 0x8000U})
            for (uint32_t bits = sign; bits < (sign | infinity); ++bits) {
                const double low = value(bits, n_exponent), high = value(bits + 1, n_exponent);
                const auto middle = static_cast<float>((low + high) / 2);
                const uint32_t even = bits & 1 ? bits + 1 : bits;
                ASSERT_EQ(pack(static_cast<float>(low), 1.F) & 0xffff, bits);
                ASSERT_EQ(pack(0.F, static_cast<float>(low)) >> 16, bits);
                if (static_cast<double>(middle) != (low + high) / 2) continue;  // below floats
                ASSERT_EQ(pack(middle, 0.F), even);
                ASSERT_EQ(pack(std::nextafterf(middle, static_cast<float>(low)), 0.F), bits);
                const float beyond = std::nextafterf(middle, sign ? -INFINITY : INFINITY);
                ASSERT_EQ(pack(beyond, 0.F), bits + 1);
            }
        ASSERT_EQ(pack(INFINITY, -INFINITY), (infinity | 0x8000) << 16 | infinity);
        ASSERT_GT(pack(NAN, 0.F) & 0x7fff, infinity);
    };
    check([](float a, float b) { return pack_f16(a, b); }, 5, 0x7c00);
    check([](float a, float b) { return pack_bf16(a, b); }, 8, 0x7f80);
}

TEST(Emulation, Tf32HasElevenBitsAndTiesGoAway) {
    EXPECT_EQ(__uint_as_float(to_tf32(1 + 0x1p-11F)), 1 + 0x1p-10F);
    EXPECT_EQ(__uint_as_float(to_tf32(-1 - 0x1p-11F)), -1 - 0x1p-10F);
    EXPECT_EQ(__uint_as_float(to_tf32(std::nextafterf(1 + 0x1p-11F, 0))), 1);
    EXPECT_EQ(__uint_as_float(to_tf32(-INFINITY)), -INFINITY);
    EXPECT_EQ(__uint_as_float(to_tf32(0x1.fffffep127F)), INFINITY);
    EXPECT_TRUE(std::isnan(__uint_as_float(to_tf32(NAN))));
    EXPECT_EQ(to_tf32(NAN) & 0x1fff, 0U);
}

TEST(Emulation, FastFunctionsErrAsMuchAsTheyMayAndNoMore) {
    double exp2_error = 0, tanh_error = 0, reciprocal_error = 0;
    for (float x = -30; x < 30; x += 0.0137F) {
        const double exact_exp2 = std::exp2(static_cast<double>(x));
        const double exact_tanh = std::tanh(static_cast<double>(x));
        exp2_error = std::max(exp2_error, std::fabs(fast_exp2(x) / exact_exp2 - 1));
        tanh_error = std::max(tanh_error, std::fabs(fast_tanh(x) / exact_tanh - 1));
        reciprocal_error =
            std::max(reciprocal_error, std::fabs(fast_reciprocal(x) * static_cast<double>(x) - 1));
    }
    EXPECT_LE(exp2_error, 0x1.2p-22);
    EXPECT_GE(exp2_error, 0x1p-23);
    EXPECT_LE(tanh_error, 0x1.01p-11);
    EXPECT_GE(tanh_error, 0x1p-12);
    EXPECT_LE(reciprocal_error, 0x1p-23);
    EXPECT_EQ(fast_exp2(0), 1);
    EXPECT_EQ(fast_exp2(-126.5F), 0);
    EXPECT_EQ(fast_exp2(-INFINITY), 0);
    EXPECT_EQ(fast_exp2(128), INFINITY);
    EXPECT_TRUE(std::isnan(fast_exp2(NAN)));
    EXPECT_EQ(fast_reciprocal(-0x1p-140F), -INFINITY);
    EXPECT_EQ(fast_reciprocal(0x1.8p126F), 0);
}

TEST(Emulation, BytesArePermuted) {
    EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x7410), 0x77441100U);
    EXPECT_EQ(__byte_perm(0x80007f00, 0, 0xb8a9), 0xff000000U);
}

// ---- warps -------------------------------------------------------------------------------------

__global__ void exchange(double* out) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    double* mine = out + threadIdx.x * 8;
    const double own = threadIdx.x + 0.5;
    mine[0] = __shfl_sync(~0U, own, 35);
    mine[1] = __shfl_sync(~0U, static_cast<float>(own), 9, 8);
    mine[2] = __shfl_xor_sync(~0U, static_cast<int>(threadIdx.x), 3);
    mine[3] = __shfl_up_sync(~0U, own, 2, 16);
    mine[4] = __shfl_down_sync(~0U, static_cast<unsigned long long>(lane), 5);
    const unsigned half = lane < 16 ? 0xffffU : 0xffff0000U;
    if (lane < 16) {
        mine[5] = __shfl_xor_sync(half, lane, 8);
        mine[6] = __ballot_sync(half, lane % 3 == 0);
    } else {
        mine[5] = -__shfl_xor_sync(half, lane, 1);
        mine[6] = __any_sync(half, lane == 20) + 2 * __any_sync(half, lane == 3) +
                  4 * __all_sync(half, lane > 15) + 8 * __all_sync(half, lane > 16);
    }
    mine[7] = __popc(__ballot_sync(~0U, lane < 7));
}

TEST(Emulation, LanesShuffleAndVote) {
    std::vector<double> out(size_t{64} * 8);
    SURROGATE_LAUNCH(exchange, 1, 64, 0, nullptr, out.data());
    for (int i = 0; i < 64; ++i) {
        const double* mine = out.data() + 8 * i;
        const int lane = i % 32;
        EXPECT_EQ(mine[0], i / 32 * 32 + 3.5);
        EXPECT_EQ(mine[1], i / 8 * 8 + 1.5);
        EXPECT_EQ(mine[2], i ^ 3);
        EXPECT_EQ(mine[3], (lane % 16 < 2 ? i : i - 2) + 0.5);
        EXPECT_EQ(mine[4], lane + 5 < 32 ? lane + 5 : lane);
        EXPECT_EQ(mine[5], lane < 16 ? lane ^ 8 : -(lane ^ 1));
        EXPECT_EQ(mine[6], lane < 16 ? 0x9249 : 5);
        EXPECT_EQ(mine[7], 7);
    }
}

__global__ void add_up(float* sum, double* sum_double, unsigned long long* most, int* counts) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sum, 0.5F);
    atomicAdd(sum_double, 2.);
    atomicMax(most, i * 1000ULL);
    atomicAdd(&counts[0], 1);
    atomicMin(&counts[1], -static_cast<int>(i));
    atomicOr(reinterpret_cast<unsigned*>(&counts[2]), 1U << i % 20);
    if (atomicCAS(reinterpret_cast<unsigned*>(&counts[3]), 0U, 7U + i) == 0U)
        atomicExch(&counts[4], static_cast<int>(i) + 1);
}

TEST(Emulation, AtomicsOfTwoStreamsAtOnceLoseNothing) {
    float sum = 0;
    double sum_double = 0;
    unsigned long long most = 0;
    int counts[5] = {};
    const auto work = [&] {
        for (int i = 0; i < 20; ++i)
            SURROGATE_LAUNCH(add_up, 3, 70, 0, nullptr, &sum, &sum_double, &most, counts);
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(sum, 4200);
    EXPECT_EQ(sum_double, 16800);
    EXPECT_EQ(most, 209000U);
    EXPECT_EQ(counts[0], 8400);
    EXPECT_EQ(counts[1], -209);
    EXPECT_EQ(counts[2], 0xfffff);
    EXPECT_EQ(counts[3], 7);
    EXPECT_EQ(counts[4], 1);
}

// ---- blocks ------------------------------------------------------------------------------------

template <int n_round, class T>
__global__ void __launch_bounds__(96, 2) turn(T* out, int* n_fresh) {
    SURROGATE_SHARED(memory);
    __shared__ T first;
    T* values = reinterpret_cast<T*>(memory);
    const unsigned i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned n = blockDim.x * blockDim.y * blockDim.z;
    if (values[i] != values[i]) atomicAdd(n_fresh, 1);
    values[i] = static_cast<T>(i);
    for (int round = 0; round < n_round; ++round) {
        __syncthreads();
        const T next = values[(i + 1) % n];
        __syncthreads();
        values[i] = next;
    }
    if (i == 0) first = values[0];
    __syncthreads();
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[block * n + i] = values[i] + 1000 * first;
}

TEST(Emulation, BlocksShareMemoryThatStartsAsNaN) {
    for (const dim3 block : {dim3(96), dim3(5, 3, 2), dim3(1)}) {
        const auto n = static_cast<size_t>(block.count());
        std::vector<float> out(n * 12);
        int n_fresh = 0;
        SURROGATE_LAUNCH((turn<3, float>), dim3(3, 2, 2), block, n * 4, nullptr, out.data(),
                         &n_fresh);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        EXPECT_EQ(n_fresh, static_cast<int>(n * 12));
        for (size_t i = 0; i < out.size(); ++i)
            EXPECT_EQ(out[i], static_cast<float>((i % n + 3) % n + 1000 * (3 % n)));
    }
}

__global__ void nothing() {}
__global__ void nothing_else() {}

TEST(Emulation, LaunchesAreRefusedAsTheRuntimeDoes) {
    const auto error = [](auto kernel, dim3 grid, dim3 block, size_t shared) {
        SURROGATE_LAUNCH(kernel, grid, block, shared, nullptr);
        EXPECT_EQ(cudaPeekAtLastError(), cudaPeekAtLastError());
        return cudaGetLastError();
    };
    EXPECT_EQ(error(nothing, 1, 1024, 48 * 1024), cudaSuccess);
    EXPECT_EQ(error(nothing, 1, 1025, 0), cudaErrorInvalidConfiguration);
    EXPECT_EQ(error(nothing, 0, 32, 0), cudaErrorInvalidConfiguration);
    EXPECT_EQ(error(nothing, 1, 32, 48 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT_EQ(allow_shared(nothing, 100000), cudaSuccess);
    EXPECT_EQ(error(nothing, 1, 32, 100000), cudaSuccess);
    EXPECT_EQ(error(nothing, 1, 32, 100001), cudaErrorInvalidValue);
    EXPECT_EQ(error(nothing_else, 1, 32, 100000), cudaErrorInvalidValue);
    EXPECT_EQ(allow_shared(nothing, 227 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
}

// ---- copies ------------------------------------------------------------------------------------

enum class Copying { right, no_wait, misaligned_source, misaligned_target, outside };

__global__ void fetch(const float* from, float* out, Copying how) {
    SURROGATE_SHARED(memory);
    float* values = reinterpret_cast<float*>(memory) + 4 * threadIdx.x;
    for (int i = 0; i < 4; ++i) values[i] = -1;
    copy_async_16(how == Copying::misaligned_target ? values + 1
                  : how == Copying::outside         ? out
                                                    : values,
                  from + 4 * threadIdx.x + (how == Copying::misaligned_source ? 2 : 0));
    out[4 * threadIdx.x] = values[0];
    if (how == Copying::no_wait) return;
    wait_copies();
    for (int i = 1; i < 4; ++i) out[4 * threadIdx.x + static_cast<unsigned>(i)] = values[i];
}

TEST(Emulation, CopiesLandWhenTheyAreWaitedForAndLeaveNaNBefore) {
    alignas(16) float from[132], out[132];
    for (int i = 0; i < 132; ++i) from[i] = static_cast<float>(i);
    const auto run = [&](Copying how) {
        return failure([&] { SURROGATE_LAUNCH(fetch, 1, 32, 512, nullptr, from, out, how); });
    };
    EXPECT_EQ(run(Copying::right), "");
    for (int i = 0; i < 128; ++i)
        EXPECT_TRUE(i % 4 == 0 ? std::isnan(out[i]) : out[i] == static_cast<float>(i)) << i;
    EXPECT_TRUE(says(run(Copying::no_wait), {"thread 0", "without wait_copies()"}));
    EXPECT_TRUE(says(run(Copying::misaligned_source), {"multiple of 16"}));
    EXPECT_TRUE(says(run(Copying::misaligned_target), {"multiple of 16"}));
    EXPECT_TRUE(says(run(Copying::outside), {"not into dynamic shared memory"}));
    EXPECT_EQ(run(Copying::right), "");
}

// ---- threads that part -------------------------------------------------------------------------

enum class Parting { one_returns, warps_differ, lanes_differ, two_places, foreign_mask, throws };

__global__ void part(Parting how, int* n_left) {
    struct Leaving {
        int* n;
        ~Leaving() { atomicAdd(n, 1); }
    } leaving{n_left};
    const unsigned i = threadIdx.x;
    float c[4] = {};
    const uint32_t a[2] = {}, b = 0;
    switch (how) {
        case Parting::one_returns:
            if (i == 40) return;
            __syncthreads();
            break;
        case Parting::warps_differ:
            if (i < 32) {
                __syncthreads();
            } else {
                if (i < 40) product_f16(c, a, b);
                __syncthreads();
            }
            break;
        case Parting::lanes_differ:
            if (i % 2 == 0) product_f16(c, a, b);
            __syncwarp();
            break;
        case Parting::two_places:
            if (i < 32)
                __syncthreads();
            else
                __syncthreads();
            break;
        case Parting::foreign_mask: __shfl_sync(0xfffffffeU, 1, 1); break;
        case Parting::throws:
            if (i == 33) throw std::logic_error("thread 33 is unhappy");
            __syncthreads();
            break;
    }
}

TEST(Emulation, ThreadsThatPartAreToldApartAndAllLeave) {
    const auto run = [](Parting how) {
        int n_left = 0;
        std::string text =
            failure([&] { SURROGATE_LAUNCH(part, dim3(1, 2), 64, 0, nullptr, how, &n_left); });
        EXPECT_LE(n_left, 64) << "the second block must not run";
        EXPECT_EQ(emulation::current, nullptr);
        return text;
    };
    EXPECT_TRUE(says(run(Parting::one_returns),
                     {"block (0, 0, 0)", "thread 0 waits in __syncthreads (cuda_emulation_test.cpp",
                      "thread 40 has returned"}));
    EXPECT_TRUE(says(run(Parting::warps_differ),
                     {"thread 0 waits in __syncthreads", "thread 40 waits in __syncthreads"}));
    EXPECT_TRUE(says(run(Parting::lanes_differ),
                     {"thread 0 waits in product_f16", "thread 1 waits in __syncwarp"}));
    EXPECT_TRUE(says(run(Parting::two_places), {"thread 0 waits in", "thread 32 waits in"}));
    EXPECT_TRUE(says(run(Parting::foreign_mask), {"thread 0", "not all lanes"}));
    EXPECT_EQ(run(Parting::throws), "thread 33 is unhappy");

    int n_left = 0;
    EXPECT_TRUE(says(
        failure([&] { SURROGATE_LAUNCH(part, 1, 48, 0, nullptr, Parting::warps_differ, &n_left); }),
        {"not all lanes"}))
        << "half a warp cannot multiply";
}

}  // namespace
}  // namespace surrogate::test
