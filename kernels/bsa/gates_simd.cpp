// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bsa/gates_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/bsa/bsa.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Computes sigmoid(u) = 1 / (1 + e) with e = exp(-u), and sigmoid(-u) = e / (1 + e) with all its
/// digits.
template <int n>
struct Sigmoids {
    Vector of_plus[n], of_minus[n];
};

/// Computes exp(-u) = 2^t (1 + ln(2) r) with t = -u log2(e) as rounded and r the rounding error of
/// t. The rounded exponent alone would cost 2e-6 at |u| = 80. Clamped at |u| = 87, where t is
/// +-125.5. A NaN in u is kept in r.
template <int n>
HWY_INLINE Sigmoids<n> sigmoids(const Vector (&u)[n]) {
    const Vector high = broadcast(-0x1.715476p0f), low = broadcast(-0x1.4ae0cp-26f);  // -log2(e)
    const Vector ln_2 = broadcast(0x1.62e43p-1f), one = broadcast(1.0f);
    Vector power[n], left_out[n];
#pragma GCC unroll 4
    for (int b = 0; b < n; ++b) {
        const Vector c = at_least(broadcast(-87.0f), at_most(broadcast(87.0f), u[b]));
        power[b] = hn::Mul(c, high);
        left_out[b] = mul_add(c, low, mul_add(c, high, hn::Neg(power[b])));
    }
    powers_of_two(power);
    Sigmoids<n> s;
#pragma GCC unroll 4
    for (int b = 0; b < n; ++b) {
        const Vector e = mul_add(power[b], hn::Mul(left_out[b], ln_2), power[b]);
        s.of_plus[b] = hn::Div(one, hn::Add(one, e));
        s.of_minus[b] = hn::Mul(e, s.of_plus[b]);
    }
    return s;
}

/// A vector of points of some rows of a tile.
template <class T>
struct Rows {
    T* data;
    int64_t row;

    Rows(Tile<T> x, int64_t channel, int64_t i)
        : data(x.data + channel * x.stride[0] + i), row(x.stride[0]) {}
    T* at(int64_t channel) const { return data + channel * row; }
};

template <int n>
void combine_n(int64_t n_head, Tile<const float> gate, const Tile<const float>* branches,
               Tile<float> y) {
    const int64_t n_dim = y.shape[0] / n_head, n_point = round_up(y.shape[1], lane_count);
    for (int64_t h = 0; h < n_head; ++h) {
        for (int64_t i = 0; i < n_point; i += width) {
            Vector u[n];
            const float* from[n];
            for (int b = 0; b < n; ++b) {
                u[b] = load(Rows(gate, h * n + b, i).data);
                from[b] = Rows(branches[b], h * n_dim, i).data;
            }
            const Sigmoids<n> gates = sigmoids(u);
            const Rows to(y, h * n_dim, i);
            for (int64_t c = 0; c < n_dim; ++c) {
                Vector sum = hn::Mul(gates.of_plus[0], load(from[0] + c * branches[0].stride[0]));
#pragma GCC unroll 4
                for (int b = 1; b < n; ++b)
                    sum = mul_add(gates.of_plus[b], load(from[b] + c * branches[b].stride[0]), sum);
                store(sum, to.at(c));
            }
        }
    }
}

/// Computes the gradients of one gate of a head in a vector of points.
HWY_INLINE void gate_backward(int64_t n_dim, Rows<const float> gate, Rows<const float> branch,
                              Rows<const float> dy, Rows<float> dbranch, Rows<float> dgate) {
    const Vector u[1] = {load(gate.data)};
    const Sigmoids<1> s = sigmoids(u);
    Vector sum = broadcast(0.0f);
    for (int64_t c = 0; c < n_dim; ++c) {
        const Vector g = load(dy.at(c));
        sum = mul_add(g, load(branch.at(c)), sum);
        store(hn::Mul(s.of_plus[0], g), dbranch.at(c));
    }
    store(hn::Mul(sum, hn::Mul(s.of_plus[0], s.of_minus[0])), dgate.data);
}

void combine(int64_t n_head, Tile<const float> gate, std::span<const Tile<const float>> branches,
             Tile<float> y) {
    switch (branches.size()) {
        case 1: return combine_n<1>(n_head, gate, branches.data(), y);
        case 2: return combine_n<2>(n_head, gate, branches.data(), y);
        case 3: return combine_n<3>(n_head, gate, branches.data(), y);
        default: return combine_n<4>(n_head, gate, branches.data(), y);
    }
}

void combine_backward(int64_t n_head, Tile<const float> gate,
                      std::span<const Tile<const float>> branches, Tile<const float> dy,
                      std::span<const Tile<float>> dbranches, Tile<float> dgate) {
    const auto n_branch = static_cast<int64_t>(branches.size());
    const int64_t n_dim = dy.shape[0] / n_head, n_point = round_up(dy.shape[1], lane_count);
    for (int64_t row = 0; row < gate.shape[0]; ++row) {
        const int64_t first = row / n_branch * n_dim;
        const auto b = static_cast<size_t>(row % n_branch);
        for (int64_t i = 0; i < n_point; i += width)
            gate_backward(n_dim, {gate, row, i}, {branches[b], first, i}, {dy, first, i},
                          {dbranches[b], first, i}, {dgate, row, i});
    }
}

}  // namespace
}  // namespace surrogate::kernels::bsa::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::bsa::simd {

void combine(VectorLevel level, int64_t n_head, Tile<const float> gate,
             std::span<const Tile<const float>> branches, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, combine)(n_head, gate, branches, y);
}

void combine_backward(VectorLevel level, int64_t n_head, Tile<const float> gate,
                      std::span<const Tile<const float>> branches, Tile<const float> dy,
                      std::span<const Tile<float>> dbranches, Tile<float> dgate) {
    SURROGATE_AT_LEVEL(level, combine_backward)(n_head, gate, branches, dy, dbranches, dgate);
}

}  // namespace surrogate::kernels::bsa::simd
#endif
