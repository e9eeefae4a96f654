// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/device.hpp"

namespace surrogate::benchmarks {

/// Work that one unit of a multiprocessor bounds, to see at which rate it really goes. Enqueued;
/// `sink` is memory of the device for one float that is never written.

/// Powers of two by ex2, n_round * exp2_per_round a thread.
constexpr int64_t exp2_per_round = 8;
/// Products 16 x 16 x 8 of fp16, n_round * products_per_round a warp.
constexpr int64_t products_per_round = 8;

struct LimitGrid {
    unsigned n_block = 0, n_thread = 256;
    int64_t n_total_thread() const { return int64_t{n_block} * n_thread; }
};
/// Eight blocks of 256 threads a multiprocessor: all it can hold.
LimitGrid limit_grid(const kernels::DeviceProperties& device);

void run_exp2(const LimitGrid& grid, int n_round, float* sink, kernels::Stream stream);
void run_products(const LimitGrid& grid, int n_round, float* sink, kernels::Stream stream);

}  // namespace surrogate::benchmarks
