// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "kernels/base/dispatch.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {
namespace {

void check_branches(size_t n_branch) {
    if (n_branch < 1 || n_branch > 4)
        throw Error(Status::not_supported,
                    "combine() got " + std::to_string(n_branch) + " branches, expected 1 to 4");
}

}  // namespace

template <class T>
void combine(const Queue& queue, int64_t n_head, Tile<const T> gate,
             std::span<const Tile<const T>> branches, Tile<T> y) {
    check_branches(branches.size());
    if (!uses_simd<T>(queue, "combine")) return ref::combine(n_head, gate, branches, y);
    if constexpr (std::is_same_v<T, float>) simd::combine(queue.level(), n_head, gate, branches, y);
}

template <class T>
void combine_backward(const Queue& queue, int64_t n_head, Tile<const T> gate,
                      std::span<const Tile<const T>> branches, Tile<const T> dy,
                      std::span<const Tile<T>> dbranches, Tile<T> dgate) {
    check_branches(branches.size());
    if (!uses_simd<T>(queue, "combine_backward"))
        return ref::combine_backward(n_head, gate, branches, dy, dbranches, dgate);
    if constexpr (std::is_same_v<T, float>)
        simd::combine_backward(queue.level(), n_head, gate, branches, dy, dbranches, dgate);
}

template void combine(const Queue&, int64_t, Tile<const float>, std::span<const Tile<const float>>,
                      Tile<float>);
template void combine(const Queue&, int64_t, Tile<const double>,
                      std::span<const Tile<const double>>, Tile<double>);
template void combine_backward(const Queue&, int64_t, Tile<const float>,
                               std::span<const Tile<const float>>, Tile<const float>,
                               std::span<const Tile<float>>, Tile<float>);
template void combine_backward(const Queue&, int64_t, Tile<const double>,
                               std::span<const Tile<const double>>, Tile<const double>,
                               std::span<const Tile<double>>, Tile<double>);

}  // namespace surrogate::kernels::bsa
