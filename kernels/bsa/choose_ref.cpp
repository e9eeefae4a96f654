// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/bsa/choice_order.hpp"

namespace surrogate::kernels::bsa::ref {

template <class T>
bool choose(const Heads& heads, Tile<const T> q, Tile<const T> k, int64_t first_block,
            const OwnBlocks& own, Choice<T> choice) {
    const int64_t n_dim = heads.n_key_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t group = 0; group < q.shape[1]; ++group) {
            for (int64_t j = 0; j < k.shape[1]; ++j) {
                T score = 0;
                for (int64_t c = h * n_dim; c < (h + 1) * n_dim; ++c)
                    score = std::fma(q(c, group), k(c, j), score);
                if (!std::isfinite(score)) return false;
                const int64_t block = first_block + j;
                insert(choice, own, h, group, {is_own(own, group, block), score, block});
            }
        }
    }
    return true;
}

template bool choose(const Heads&, Tile<const float>, Tile<const float>, int64_t, const OwnBlocks&,
                     Choice<float>);
template bool choose(const Heads&, Tile<const double>, Tile<const double>, int64_t,
                     const OwnBlocks&, Choice<double>);

}  // namespace surrogate::kernels::bsa::ref
