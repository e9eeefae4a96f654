// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "kernels/attention/softmax_cuda.cuh"

/// Softmax over keys that come in steps, as both attention kernels of the sphere use it.
namespace surrogate::kernels::sphere::cuda {

using namespace surrogate::kernels::cuda;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Running softmax of the 16 queries of a warp: maxima and sums of rows g and g + 8, and n_value
/// groups of weighted values, all relative to the maxima so far.
template <Operand operand, int n_value>
struct RunningSoftmax {
    using P = Products<operand>;
    float maximum[2] = {-infinity, -infinity}, sum[2] = {};
    float y[n_value][4] = {};

    /// Replaces the scores of n_piece / 2 tiles of keys by probabilities and adds their sums; what
    /// was summed before is rescaled where a maximum grew.
    template <int n_piece>
    __device__ void weigh(float (&s)[n_piece][4]) {
        float shrink[2], base[2];  // base: the score with probability 1
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float highest = maximum[r];
#pragma unroll
            for (int j = 0; j < n_piece; ++j)
                highest = fmaxf(highest, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
            highest = max_of_quad(highest);
            // Before the first key there is nothing to rescale.
            shrink[r] = maximum[r] == highest ? 1.0F : fast_exp2(maximum[r] - highest);
            maximum[r] = highest;
            base[r] = (highest == -infinity ? 0.0F : highest) - peak_of_points(operand);
            sum[r] *= shrink[r];
        }
        if (__any_sync(~0U, shrink[0] != 1.0F || shrink[1] != 1.0F)) {
#pragma unroll
            for (int c = 0; c < n_value; ++c) {
#pragma unroll
                for (int i = 0; i < 4; ++i) y[c][i] *= shrink[i / 2];
            }
        }
        exponentiate<operand>(base[0], base[1], s, sum[0], sum[1]);
    }
};

/// Results of n_part warps for the same 16 queries, in shared memory.
template <int n_part, int n_value>
struct Joined {
    float4 y[n_part][n_value][32];
    float maximum[n_part][16], sum[n_part][16];

    template <Operand operand>
    __device__ void put(int part, const RunningSoftmax<operand, n_value>& own) {
        const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float whole = whole_sum<operand>(own.sum[r]);
            if (lane % 4 != 0) continue;
            maximum[part][g + 8 * r] = own.maximum[r];
            sum[part][g + 8 * r] = whole;
        }
#pragma unroll
        for (int c = 0; c < n_value; ++c)
            y[part][c][lane] = make_float4(own.y[c][0], own.y[c][1], own.y[c][2], own.y[c][3]);
    }

    /// Shares of the parts in the averages of this lane's rows.
    struct Shares {
        float of[n_part][2];
    };
    __device__ Shares shares() const {
        Shares share;
        const int g = static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = g + 8 * r;
            float highest = -infinity, whole = 0;
#pragma unroll
            for (int w = 0; w < n_part; ++w) highest = fmaxf(highest, maximum[w][row]);
#pragma unroll
            for (int w = 0; w < n_part; ++w) {
                const float m = maximum[w][row];
                share.of[w][r] = m == -infinity ? 0.0F : fast_exp2(m - highest);
                whole += sum[w][row] * share.of[w][r];
            }
            const float scale = whole == 0 ? 0.0F : fast_reciprocal(whole);
#pragma unroll
            for (int w = 0; w < n_part; ++w) share.of[w][r] *= scale;
        }
        return share;
    }

    /// Returns the averages of group c, in order of the parts.
    __device__ void average(const Shares& share, int c, float (&to)[4]) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (float& v : to) v = 0;
#pragma unroll
        for (int w = 0; w < n_part; ++w) {
            const float4 v = y[w][c][lane];
            to[0] += v.x * share.of[w][0];
            to[1] += v.y * share.of[w][0];
            to[2] += v.z * share.of[w][1];
            to[3] += v.w * share.of[w][1];
        }
    }
};

}  // namespace surrogate::kernels::sphere::cuda
