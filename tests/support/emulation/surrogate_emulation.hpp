// SPDX-License-Identifier: Apache-2.0
#pragma once

/// CUDA's own words and the wrappers of kernels/device/cuda.cuh for a host compiler, so that tests
/// run device code on a CPU (SURROGATE_EMULATE_CUDA, with this folder among the include
/// directories).
///
/// A launch runs block after block in the calling thread, or on the stream of an EmulatedDevice.
/// The threads of a block are fibers that change places where they wait for each other: at barriers
/// and at what a warp does together. All threads must come to the same place of the program; the
/// launch ends with std::logic_error and both places if they do not. Dynamic shared memory starts
/// as NaN in every block. Under ThreadSanitizer every thread of a block is a thread of its own,
/// ordered only by __syncthreads, __syncwarp and atomics: as in CUDA, shuffles, votes and products
/// order nothing.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "threads.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n_byte) __attribute__((aligned(n_byte)))
// An OS thread runs one block at a time.
#define __shared__ static thread_local

#define SURROGATE_CUDA_PAIR(name, type)       \
    struct alignas(2 * sizeof(type)) name {   \
        type x, y;                            \
    };                                        \
    inline name make_##name(type x, type y) { \
        return {x, y};                        \
    }
#define SURROGATE_CUDA_FOUR(name, type)                       \
    struct alignas(16) name {                                 \
        type x, y, z, w;                                      \
    };                                                        \
    inline name make_##name(type x, type y, type z, type w) { \
        return {x, y, z, w};                                  \
    }
SURROGATE_CUDA_PAIR(int2, int)
SURROGATE_CUDA_PAIR(uint2, unsigned)
SURROGATE_CUDA_PAIR(float2, float)
SURROGATE_CUDA_PAIR(double2, double)
SURROGATE_CUDA_FOUR(int4, int)
SURROGATE_CUDA_FOUR(uint4, unsigned)
SURROGATE_CUDA_FOUR(float4, float)
#undef SURROGATE_CUDA_PAIR
#undef SURROGATE_CUDA_FOUR

#define threadIdx (::surrogate::emulation::current->thread_index)
#define blockIdx (::surrogate::emulation::current->block_index)
#define blockDim (::surrogate::emulation::current->block_size)
#define gridDim (::surrogate::emulation::current->grid_size)
constexpr int warpSize = 32;

// ---- threads together --------------------------------------------------------------------------

using surrogate_place = std::source_location;

inline void __syncthreads(surrogate_place place = surrogate_place::current()) {
    surrogate::emulation::synchronize_block(place);
}
inline void __syncwarp(unsigned mask = ~0U, surrogate_place place = surrogate_place::current()) {
    surrogate::emulation::synchronize_warp(mask, place);
}
template <class Value>
Value __shfl_sync(unsigned mask, Value value, int source, int width = 32,
                  surrogate_place place = surrogate_place::current()) {
    const int first = surrogate::emulation::current->lane / width * width;
    return surrogate::emulation::shuffle_value(mask, value, first + (source & (width - 1)), place);
}
template <class Value>
Value __shfl_xor_sync(unsigned mask, Value value, int bits, int width = 32,
                      surrogate_place place = surrogate_place::current()) {
    const int source =
        surrogate::emulation::source_in_group(surrogate::emulation::current->lane ^ bits, width);
    return surrogate::emulation::shuffle_value(mask, value, source, place);
}
template <class Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned n_lane, int width = 32,
                       surrogate_place place = surrogate_place::current()) {
    const int source = surrogate::emulation::source_in_group(
        surrogate::emulation::current->lane + static_cast<int>(n_lane), width);
    return surrogate::emulation::shuffle_value(mask, value, source, place);
}
template <class Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned n_lane, int width = 32,
                     surrogate_place place = surrogate_place::current()) {
    const int source = surrogate::emulation::source_in_group(
        surrogate::emulation::current->lane - static_cast<int>(n_lane), width);
    return surrogate::emulation::shuffle_value(mask, value, source, place);
}
inline unsigned __ballot_sync(unsigned mask, int vote,
                              surrogate_place place = surrogate_place::current()) {
    return surrogate::emulation::ballot(mask, vote != 0, place);
}
inline int __any_sync(unsigned mask, int vote, surrogate_place place = surrogate_place::current()) {
    return surrogate::emulation::ballot(mask, vote != 0, place) != 0;
}
inline int __all_sync(unsigned mask, int vote, surrogate_place place = surrogate_place::current()) {
    return surrogate::emulation::ballot(mask, vote == 0, place) == 0;
}

// ---- atomics: exactly the types that CUDA has

template <class T>
requires surrogate::emulation::Integer<T> || surrogate::emulation::OneOf<T, float, double> T
atomicAdd(T* address, std::type_identity_t<T> value) {
    return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_acq_rel);
}
template <class T>
requires surrogate::emulation::Integer<T> || std::same_as<T, long long> T
atomicMax(T* address, std::type_identity_t<T> value) {
    return surrogate::emulation::update(address, [=](T old) { return std::max(old, value); });
}
template <class T>
requires surrogate::emulation::Integer<T> || std::same_as<T, long long> T
atomicMin(T* address, std::type_identity_t<T> value) {
    return surrogate::emulation::update(address, [=](T old) { return std::min(old, value); });
}
template <surrogate::emulation::Integer T>
T atomicOr(T* address, std::type_identity_t<T> value) {
    return std::atomic_ref<T>(*address).fetch_or(value, std::memory_order_acq_rel);
}
template <surrogate::emulation::Integer T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
    return std::atomic_ref<T>(*address).fetch_and(value, std::memory_order_acq_rel);
}
template <class T>
requires surrogate::emulation::Integer<T> || std::same_as<T, float> T
atomicExch(T* address, std::type_identity_t<T> value) {
    return std::atomic_ref<T>(*address).exchange(value, std::memory_order_acq_rel);
}
template <surrogate::emulation::Integer T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    std::atomic_ref<T>(*address).compare_exchange_strong(expected, value,
                                                         std::memory_order_acq_rel);
    return expected;
}
/// Atomics order everything here.
inline void __threadfence() {}

// ---- numbers ---------------------------------------------------------------------------------

inline unsigned __float_as_uint(float x) {
    return std::bit_cast<unsigned>(x);
}
inline int __float_as_int(float x) {
    return std::bit_cast<int>(x);
}
inline float __uint_as_float(unsigned bits) {
    return std::bit_cast<float>(bits);
}
inline float __int_as_float(int bits) {
    return std::bit_cast<float>(bits);
}
inline long long __double_as_longlong(double x) {
    return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long bits) {
    return std::bit_cast<double>(bits);
}
inline long long __double2ll_rn(double x) {
    return std::llrint(x);
}
inline float __fmaf_rn(float a, float b, float c) {
    return std::fma(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
    return std::fma(a, b, c);
}
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fsub_rn(float a, float b) {
    return a - b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline float rsqrtf(float x) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
inline int __popc(unsigned bits) {
    return std::popcount(bits);
}
inline int __clz(int bits) {
    return std::countl_zero(static_cast<unsigned>(bits));
}
inline int __ffs(int bits) {
    return __builtin_ffs(bits);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const uint64_t bytes = uint64_t{high} << 32 | low;
    unsigned result = 0;
    for (int b = 0; b < 4; ++b) {
        const unsigned select = selector >> 4 * b;
        const auto byte = static_cast<unsigned>(bytes >> 8 * (select & 7) & 0xff);
        result |= (select & 8 ? (byte & 0x80 ? 0xffU : 0U) : byte) << 8 * b;
    }
    return result;
}
template <class T>
T __ldg(const T* address) {
    return *address;
}
template <class T>
requires std::is_arithmetic_v<T> T max(T a, T b) {
    return std::max(a, b);
}
template <class T>
requires std::is_arithmetic_v<T> T min(T a, T b) {
    return std::min(a, b);
}

// ---- kernels/device/cuda.cuh

#define SURROGATE_LAUNCH(kernel, grid, block, shared, stream, ...)    \
    ::surrogate::emulation::launch(kernel, (grid), (block), (shared), \
                                   (stream)__VA_OPT__(, ) __VA_ARGS__)
#define SURROGATE_SHARED(name) unsigned char* name = ::surrogate::emulation::current->shared

namespace surrogate::kernels::cuda {

using emulation::Place;

/// There is one device, and no thread's current one.
struct CurrentDevice {
    explicit CurrentDevice(int) {}
};

template <class Kernel>
cudaError_t allow_shared(Kernel kernel, int64_t n_byte) {
    return emulation::allow_shared(reinterpret_cast<const void*>(kernel), n_byte);
}

/// Products are exact and added to c in double; the sum is rounded once, towards zero as tensor
/// cores round (they also cut what is far below the largest summand, which is not done here).
inline void product_f16(float (&c)[4], const uint32_t (&a)[2], uint32_t b,
                        Place place = Place::current()) {
    emulation::product(emulation::Product::f16_k8, c, a, &b, place);
}
inline void product_bf16(float (&c)[4], const uint32_t (&a)[2], uint32_t b,
                         Place place = Place::current()) {
    emulation::product(emulation::Product::bf16_k8, c, a, &b, place);
}
inline void product_f16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                        Place place = Place::current()) {
    emulation::product(emulation::Product::f16_k16, c, a, b, place);
}
inline void product_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                         Place place = Place::current()) {
    emulation::product(emulation::Product::bf16_k16, c, a, b, place);
}
/// The last 13 bits of operands are cut off, whatever they are.
inline void product_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                         Place place = Place::current()) {
    emulation::product(emulation::Product::tf32_k8, c, a, b, place);
}
inline uint32_t transpose_8x8(uint32_t rows, Place place = Place::current()) {
    return emulation::transpose(rows, place);
}

inline uint32_t pack_f16(float first, float second) {
    const auto round = [](float value) -> uint32_t {
        const auto bits = std::bit_cast<uint32_t>(value);
        const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
        if (size > 0x7f800000) return 0x7fff;
        if (size >= 0x477ff000) return sign | 0x7c00;  // from 65520
        // 0.5 has the spacing of subnormal numbers.
        if (size < 0x38800000)
            return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000);
        return sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    };
    return round(second) << 16 | round(first);
}
inline uint32_t pack_bf16(float first, float second) {
    const auto round = [](float value) -> uint32_t {
        const auto bits = std::bit_cast<uint32_t>(value);
        if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    };
    return round(second) << 16 | round(first);
}
inline uint32_t to_tf32(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
    return (bits + 0x1000) & 0xffffe000;
}

/// The fast functions err as far as their contract lets them: exact values with so few bits.
inline float with_bits(double value, int n_bit) {
    if (!(std::fabs(value) >= 0x1p-126)) return std::isnan(value) ? NAN : 0.F;
    const uint64_t half = uint64_t{1} << (52 - n_bit), bits = std::bit_cast<uint64_t>(value);
    return static_cast<float>(std::bit_cast<double>((bits + half) & ~(2 * half - 1)));
}
inline float fast_exp2(float x) {
    return with_bits(std::exp2(static_cast<double>(x)), 22);
}
inline float fast_reciprocal(float x) {
    return with_bits(1. / (std::fabs(x) < 0x1p-126F ? std::copysign(0.F, x) : x), 23);
}
inline float fast_tanh(float x) {
    return with_bits(std::tanh(static_cast<double>(x)), 11);
}

/// The memory holds NaN until wait_copies().
inline void copy_async_16(void* shared, const void* global) {
    emulation::Thread& self = *emulation::current;
    const auto to = reinterpret_cast<uintptr_t>(shared);
    const auto first = reinterpret_cast<uintptr_t>(self.shared);
    if (to % 16 != 0 || reinterpret_cast<uintptr_t>(global) % 16 != 0)
        emulation::fail("copy_async_16: an address is not a multiple of 16");
    if (to < first || to + 16 > first + self.shared_bytes)
        emulation::fail("copy_async_16: not into dynamic shared memory");
    std::memset(shared, 0xff, 16);
    self.copies.push_back({shared, global});
}
inline void wait_copies() {
    for (const emulation::PendingCopy& copy : emulation::current->copies)
        std::memcpy(copy.to, copy.from, 16);
    emulation::current->copies.clear();
}

}  // namespace surrogate::kernels::cuda
