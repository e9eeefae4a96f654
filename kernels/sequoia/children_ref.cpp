// SPDX-License-Identifier: Apache-2.0
#include "kernels/sequoia/softmax_ref.hpp"

namespace surrogate::kernels::sequoia::ref {

template <class T>
void attend_children(const Heads& heads, int64_t k_branch, int64_t n_last, Tile<const T> q,
                     Tile<const T> k, Tile<const T> v, T* scratch, Tile<T> y) {
    const int64_t e = heads.n_value_dim, n_child = k.shape[1];
    for (int64_t first = 0, p = 0; first < n_child; first += k_branch, ++p) {
        const int64_t count = std::min(k_branch, n_child - first);
        for (int64_t h = 0; h < heads.n_head; ++h) {
            weigh_columns(heads, h, q, p, k, first, count, first + count == n_child ? n_last : 1,
                          scratch);
            for (int64_t c = h * e; c < (h + 1) * e; ++c) {
                T sum = 0;
                for (int64_t j = 0; j < count; ++j) sum += scratch[j] * v(c, first + j);
                y(c, p) = sum;
            }
        }
    }
}

template void attend_children(const Heads&, int64_t, int64_t, Tile<const float>, Tile<const float>,
                              Tile<const float>, float*, Tile<float>);
template void attend_children(const Heads&, int64_t, int64_t, Tile<const double>,
                              Tile<const double>, Tile<const double>, double*, Tile<double>);

}  // namespace surrogate::kernels::sequoia::ref
