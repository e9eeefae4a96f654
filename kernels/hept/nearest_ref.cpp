// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/nearest_list.hpp"

namespace surrogate::kernels::hept::ref {

template <class T>
void offer_block(View<const T, 2> e, std::span<const int32_t> queries, const T* x, int64_t first,
                 int64_t n, NearestList<T>* best) {
    for (size_t q = 0; q < queries.size(); ++q) {
        for (int64_t j = 0; j < n; ++j) {
            T square = 0;
            for (int64_t c = 0; c < e.shape[1]; ++c) {
                const T difference = e(queries[q], c) - x[c * block_points + j];
                square += difference * difference;
            }
            best[q].offer(square, static_cast<int32_t>(first + j));
        }
    }
}

template void offer_block(View<const float, 2>, std::span<const int32_t>, const float*, int64_t,
                          int64_t, NearestList<float>*);
template void offer_block(View<const double, 2>, std::span<const int32_t>, const double*, int64_t,
                          int64_t, NearestList<double>*);

}  // namespace surrogate::kernels::hept::ref
