// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/device/limits.hpp"
#include "kernels/device/cuda.cuh"
#include "kernels/device/device_cuda.hpp"

namespace surrogate::benchmarks {
namespace {

using namespace kernels::cuda;

/// Computes powers. Eight independent chains hide the latency of the unit. x -> 2^-x stays near
/// 0.64.
__global__ void __launch_bounds__(256) exp2_kernel(int n_round, float* sink) {
    float x[exp2_per_round];
    for (int i = 0; i < exp2_per_round; ++i)
        x[i] = 0.1F * static_cast<float>(i) + 0.001F * static_cast<float>(threadIdx.x);
    for (int round = 0; round < n_round; ++round) {
#pragma unroll
        for (int i = 0; i < exp2_per_round; ++i) x[i] = fast_exp2(-x[i]);
    }
    float sum = 0;
    for (int i = 0; i < exp2_per_round; ++i) sum += x[i];
    if (sum < 0) *sink = sum;  // never true; keeps the work
}

/// Computes products. Zero operands would not show clocks under load, so the operands are 1/2 and
/// 2^-10.
__global__ void __launch_bounds__(256) products_kernel(int n_round, float* sink) {
    float c[products_per_round][4] = {};
    const uint32_t a[4] = {0x3c003c00U, 0x14003c00U, 0x3c001400U + threadIdx.x, 0x14001400U};
    const uint32_t b[2] = {0x3c00bc00U, 0xbc003c00U + threadIdx.x};
    for (int round = 0; round < n_round; ++round) {
#pragma unroll
        for (int i = 0; i < products_per_round; ++i) product_f16(c[i], a, b);
    }
    float sum = 0;
    for (int i = 0; i < products_per_round; ++i) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    if (sum == 12345.678F) *sink = sum;
}

}  // namespace

LimitGrid limit_grid(const kernels::DeviceProperties& device) {
    return {8 * static_cast<unsigned>(device.n_multiprocessor)};
}

void run_exp2(const LimitGrid& grid, int n_round, float* sink, kernels::Stream stream) {
    SURROGATE_LAUNCH(exp2_kernel, grid.n_block, grid.n_thread, 0, stream, n_round, sink);
    check_launch("rate of exponentials");
}

void run_products(const LimitGrid& grid, int n_round, float* sink, kernels::Stream stream) {
    SURROGATE_LAUNCH(products_kernel, grid.n_block, grid.n_thread, 0, stream, n_round, sink);
    check_launch("rate of products");
}

}  // namespace surrogate::benchmarks
