// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Device functions beyond plain CUDA C++: tensor-core products, transposes inside a warp,
/// asynchronous copies and fast functions, with one wrapper each. Tests compile the same kernels
/// for the host: there surrogate_emulation.hpp provides CUDA's own keywords and functions
/// (__global__, threadIdx, shuffles, barriers) and another version of everything below, with the
/// same fragment layouts.
///
/// Fragments (PTX ISA, "Warp-level matrix instructions"), lane = 4 g + t:
///   A 16 x 8 of 16-bit   a[0]: (g, 2t..2t+1)       a[1]: (g+8, 2t..2t+1)
///   A 16 x 16 of 16-bit  a[0], a[1] as above, a[2]: (g, 2t+8..2t+9), a[3]: (g+8, 2t+8..2t+9)
///   A 16 x 8 of tf32     a[0]: (g, t)  a[1]: (g+8, t)  a[2]: (g, t+4)  a[3]: (g+8, t+4)
///   B  8 x 8 of 16-bit   b: (2t..2t+1, g)
///   B 16 x 8 of 16-bit   b[0]: (2t..2t+1, g)       b[1]: (2t+8..2t+9, g)
///   B  8 x 8 of tf32     b[0]: (t, g)              b[1]: (t+4, g)
///   C 16 x 8 of float    c[0], c[1]: (g, 2t..2t+1)   c[2], c[3]: (g+8, 2t..2t+1)
/// A and B of tf32 may hold the two rows or columns of a pair in any order, if both use the same
/// order.

#include <cstdint>

#if defined(SURROGATE_EMULATE_CUDA)
#include <surrogate_emulation.hpp>
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/device/cuda_context.hpp"

/// Launches kernel<<<grid, block, shared bytes, stream>>>(args...). Put the kernel in parentheses
/// if its name contains a comma.
#define SURROGATE_LAUNCH(kernel, grid, block, shared, stream, ...) \
    kernel<<<(grid), (block), (shared), static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)

/// Declares the dynamic shared memory of the block.
#define SURROGATE_SHARED(name) extern __shared__ __align__(16) unsigned char name[]

namespace surrogate::kernels::cuda {

/// Makes device `index` current in the calling thread for its lifetime; the destructor restores the
/// previous device.
class CurrentDevice {
public:
    explicit CurrentDevice(int index) : context_(index), current_(context_) {}

private:
    PrimaryContext context_;
    Current current_;
};

/// Raises the limit of dynamic shared memory of a kernel. Also loads the kernel, which reading its
/// attributes does by contract. Under lazy loading its first launch would load it, possibly inside
/// a graph capture. Returns the runtime's error.
template <class Kernel>
cudaError_t allow_shared(Kernel kernel, int64_t n_byte) {
    const auto* const function = reinterpret_cast<const void*>(kernel);
    cudaFuncAttributes attributes{};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, function);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(n_byte));
}

/// Computes c += a b, 16 x 8 += 16 x 8 * 8 x 8. Volatile: all lanes take part, so a compiler must
/// not move a product behind a branch that only some lanes follow.
__device__ inline void product_f16(float (&c)[4], const uint32_t (&a)[2], uint32_t b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}
__device__ inline void product_bf16(float (&c)[4], const uint32_t (&a)[2], uint32_t b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}
/// Computes c += a b, 16 x 8 += 16 x 16 * 16 x 8.
__device__ inline void product_f16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void product_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Computes c += a b, 16 x 8 += 16 x 8 * 8 x 8. Operands are floats whose last 13 bits are not
/// read.
__device__ inline void product_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Returns the transpose of an 8 x 8 matrix of 16-bit numbers; row g is in lanes 4g..4g+3, two
/// numbers per lane.
__device__ inline uint32_t transpose_8x8(uint32_t rows) {
    uint32_t columns;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(columns) : "r"(rows));
    return columns;
}

/// Returns two floats rounded to nearest even, `first` in the low half.
__device__ inline uint32_t pack_f16(float first, float second) {
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}
__device__ inline uint32_t pack_bf16(float first, float second) {
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}
/// Rounds to 11 bits, ties away from zero; the result has the bit pattern of a float with 13 zeros
/// at the end.
__device__ inline uint32_t to_tf32(float value) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}

/// Fast functions: 2^x, relative error 2^-22; 1 / x and 1 / sqrt(x), error 1 and 2 units in the
/// last place; tanh, relative error 2^-11. Numbers below 2^-126 count as 0.
__device__ inline float fast_exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ inline float fast_reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ inline float fast_tanh(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// Copies 16 bytes from global to shared memory, both aligned, asynchronously; the thread's own
/// copies are complete after wait_copies().
__device__ inline void copy_async_16(void* shared, const void* global) {
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global)
                 : "memory");
}
__device__ inline void wait_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace surrogate::kernels::cuda
#endif
