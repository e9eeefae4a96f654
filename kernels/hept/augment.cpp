// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {

template <class T>
bool augment(const Queue& queue, const Head<T>& head, Tile<const T> u, Tile<const T> x,
             [[maybe_unused]] T* scratch, T* rows, const Hashes& hashes) {
    if (!uses_simd<T>(queue, "augment")) return ref::augment(head, u, x, rows, hashes);
    if constexpr (std::is_same_v<T, float>)
        return simd::augment(queue.level(), head, u, x, scratch, rows, hashes);
    return false;
}

template <class T>
int64_t augment_scratch(const Head<T>& head) {
    return head.shape.n_used() * tile_points;
}

namespace {

/// Writes the gradients of q, k and v as a tile (3 d, n_point), from the gradients of rows.
template <class T>
Tile<T> unpack(const RowShape& shape, int64_t n_point, const T* drows, T* scratch) {
    const int64_t d = shape.n_channel, n_lane = round_up(n_point, lane_count);
    const Tile<T> to{scratch, {3 * d, n_point}, {tile_points, 1}};
    for (int64_t o = 0; o < 3 * d; ++o) {
        const T* from = drows + (o < d ? o : o + shape.n_coordinate);
        for (int64_t i = 0; i < n_point; ++i) to(o, i) = from[i * shape.stride()];
        for (int64_t i = n_point; i < n_lane; ++i) to(o, i) = 0;
    }
    return to;
}

}  // namespace

template <class T>
void augment_backward(const Queue& queue, const Head<T>& head, Tile<const T> u, Tile<const T> x,
                      const T* drows, T* scratch, Tile<T> du, Tile<T> dx, const LinearGradient& qkv,
                      double* dscale) {
    const int64_t n_point = u.shape[1];
    const Tile<T> dqkv = unpack(head.shape, n_point, drows, scratch);
    linear_backward<T>(queue, head.qkv, dqkv, {}, true, du);
    linear_gradient<T>(queue, u, dqkv, qkv);
    for (int64_t r = 0; r < head.shape.n_coordinate; ++r) {
        const T* from = drows + head.shape.n_channel + r;
        double sum = 0;
        for (int64_t i = 0; i < n_point; ++i) {
            const T drow = from[i * head.shape.stride()];
            sum += static_cast<double>(x(r, i)) * static_cast<double>(drow);
            if (dx.data) dx(r, i) += head.scale[r] * drow;
        }
        dscale[r] += sum;
    }
}

template bool augment(const Queue&, const Head<float>&, Tile<const float>, Tile<const float>,
                      float*, float*, const Hashes&);
template bool augment(const Queue&, const Head<double>&, Tile<const double>, Tile<const double>,
                      double*, double*, const Hashes&);
template int64_t augment_scratch(const Head<float>&);
template int64_t augment_scratch(const Head<double>&);
template void augment_backward(const Queue&, const Head<float>&, Tile<const float>,
                               Tile<const float>, const float*, float*, Tile<float>, Tile<float>,
                               const LinearGradient&, double*);
template void augment_backward(const Queue&, const Head<double>&, Tile<const double>,
                               Tile<const double>, const double*, double*, Tile<double>,
                               Tile<double>, const LinearGradient&, double*);

}  // namespace surrogate::kernels::hept
