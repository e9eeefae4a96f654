// SPDX-License-Identifier: Apache-2.0
#include "kernels/sequoia/backward.hpp"

// Not yet written for vectors: the reference in single precision.
namespace surrogate::kernels::sequoia::simd {

void attend_tree(VectorLevel, const Heads& heads, Tile<const float> q, Tile<const float> k,
                 Tile<const float> v, const Surroundings<float>& around, float* scratch,
                 Tile<float> y) {
    ref::attend_tree(heads, q, k, v, around, scratch, y);
}
void attend_children(VectorLevel, const Heads& heads, int64_t k_branch, int64_t n_last,
                     Tile<const float> q, Tile<const float> k, Tile<const float> v, float* scratch,
                     Tile<float> y) {
    ref::attend_children(heads, k_branch, n_last, q, k, v, scratch, y);
}
void attend_tree_backward(VectorLevel, const Heads& heads, Tile<const float> q, Tile<const float> k,
                          Tile<const float> v, const Surroundings<float>& around,
                          Tile<const float> g, std::span<const NodeGradient<float>> ancestors,
                          float* scratch, Tile<float> dq, Tile<float> dk, Tile<float> dv) {
    ref::attend_tree_backward(heads, q, k, v, around, g, ancestors, scratch, dq, dk, dv);
}
void attend_children_backward(VectorLevel, const Heads& heads, int64_t k_branch, int64_t n_last,
                              Tile<const float> q, Tile<const float> k, Tile<const float> v,
                              Tile<const float> g, float* scratch, Tile<float> dq, Tile<float> dk,
                              Tile<float> dv) {
    ref::attend_children_backward(heads, k_branch, n_last, q, k, v, g, scratch, dq, dk, dv);
}

}  // namespace surrogate::kernels::sequoia::simd
