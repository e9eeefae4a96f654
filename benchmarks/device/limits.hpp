// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/device.hpp"

namespace surrogate::benchmarks {

/// Work that is limited by one unit of a multiprocessor, to measure the unit's rate. Enqueued;
/// `sink` is memory of the device for one float that is never written.

/// Computes powers of two by ex2, n_round * exp2_per_round per thread.
constexpr int64_t exp2_per_round = 8;
/// Computes products 16 x 16 x 8 of fp16, n_round * products_per_round per warp.
constexpr int64_t products_per_round = 8;

struct LimitGrid {
    unsigned n_block = 0, n_thread = 256;
    int64_t n_total_thread() const { return int64_t{n_block} * n_thread; }
};
/// Returns eight blocks of 256 threads per multiprocessor, the maximum.
LimitGrid limit_grid(const kernels::DeviceProperties& device);

void run_exp2(const LimitGrid& grid, int n_round, float* sink, kernels::Stream stream);
void run_products(const LimitGrid& grid, int n_round, float* sink, kernels::Stream stream);

}  // namespace surrogate::benchmarks
