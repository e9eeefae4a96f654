// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/cuda.cuh"
#include "kernels/norm/norm_device.hpp"

/// Normalization of points in registers: x (n_group, 4) pieces of 16 points x 8 channels, lane 4 g
/// + t has points g and g + 8, channels 2t and 2t + 1 of each group.
namespace surrogate::kernels::cuda {

/// Returns the sum over the four lanes of a point.
__device__ inline float sum_of_quad(float value) {
    value += __shfl_xor_sync(0xffffffffU, value, 1);
    return value + __shfl_xor_sync(0xffffffffU, value, 2);
}

/// Returns a mask of the lane's channels that are in the norm: bit 2 group + i. n_dim of every
/// n_padded channels, the first n_channel / n_dim heads.
__device__ inline uint32_t channel_mask(int n_group, int t, int n_dim, int n_padded,
                                        int n_channel) {
    uint32_t mask = 0;
    for (int group = 0; group < n_group; ++group) {
        for (int i = 0; i < 2; ++i) {
            const int position = 8 * group + 2 * t + i;
            const int head = position / n_padded, d = position % n_padded;
            if (d < n_dim && head * n_dim < n_channel) mask |= 1U << (2 * group + i);
        }
    }
    return mask;
}

/// Computes x = norm(x) over the n_channel channels of `mask`.
template <int n_group>
__device__ inline void normalise(const DeviceNorm& norm, uint32_t mask, int n_channel,
                                 float (&x)[n_group][4]) {
    if (!norm.weight) return;
    const int t = static_cast<int>(threadIdx.x) % 4;
    const float share = 1.0F / static_cast<float>(n_channel);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        float mean = 0;
        if (norm.kind == NormKind::layer) {
#pragma unroll
            for (int group = 0; group < n_group; ++group)
                mean += x[group][2 * row] + x[group][2 * row + 1];
            mean = sum_of_quad(mean) * share;
        }
        float square = 0;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float d =
                    (mask >> (2 * group + i)) & 1U ? x[group][2 * row + i] - mean : 0.0F;
                square += d * d;
            }
        }
        const float scale = rsqrtf(sum_of_quad(square) * share + norm.eps);
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int c = 8 * group + 2 * t + i;
                const float bias = norm.bias ? norm.bias[c] : 0.0F;
                x[group][2 * row + i] =
                    (x[group][2 * row + i] - mean) * scale * norm.weight[c] + bias;
            }
        }
    }
}

/// Sums a quad's values over the groups of each head, for heads of n_padded channels: 4, or a power
/// of two from 8.
template <int n_group>
__device__ inline void sum_heads(int n_padded, float (&value)[n_group]) {
#pragma unroll
    for (int group = 0; group < n_group; ++group) {
        value[group] += __shfl_xor_sync(0xffffffffU, value[group], 1);
        const float other = __shfl_xor_sync(0xffffffffU, value[group], 2);
        if (n_padded >= 8) value[group] += other;
    }
#pragma unroll
    for (int distance = 1; distance < n_group; distance *= 2) {
        if (n_padded / 8 <= distance) break;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            if (group & distance) continue;
            value[group] = value[group | distance] = value[group] + value[group | distance];
        }
    }
}

/// Computes x = norm(x) over the n_dim channels of each head.
template <int n_group>
__device__ inline void normalise_heads(const DeviceNorm& norm, uint32_t mask, int n_dim,
                                       int n_padded, float (&x)[n_group][4]) {
    if (!norm.weight) return;
    const int t = static_cast<int>(threadIdx.x) % 4;
    const float share = 1.0F / static_cast<float>(n_dim);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        float mean[n_group] = {}, square[n_group];
        if (norm.kind == NormKind::layer) {
#pragma unroll
            for (int group = 0; group < n_group; ++group)
                mean[group] = x[group][2 * row] + x[group][2 * row + 1];
            sum_heads(n_padded, mean);
        }
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            mean[group] *= share;
            square[group] = 0;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const bool counts = (mask >> (2 * group + i)) & 1U;
                const float d = counts ? x[group][2 * row + i] - mean[group] : 0.0F;
                square[group] += d * d;
            }
        }
        sum_heads(n_padded, square);
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float scale = rsqrtf(square[group] * share + norm.eps);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int c = 8 * group + 2 * t + i;
                const float bias = norm.bias ? norm.bias[c] : 0.0F;
                x[group][2 * row + i] =
                    (x[group][2 * row + i] - mean[group]) * scale * norm.weight[c] + bias;
            }
        }
    }
}

}  // namespace surrogate::kernels::cuda
