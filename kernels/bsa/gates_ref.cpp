// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa::ref {
namespace {

/// Sigmoid of u and of -u, so that both keep their digits and the exponential never overflows.
template <class T>
struct Sigmoid {
    explicit Sigmoid(T u) {
        const T e = std::exp(-std::abs(u)), large = 1 / (1 + e), small = e / (1 + e);
        of_plus = u < 0 ? small : large;
        of_minus = u < 0 ? large : small;
    }
    T of_plus, of_minus;
};

}  // namespace

template <class T>
void combine(int64_t n_head, Tile<const T> gate, std::span<const Tile<const T>> branches,
             Tile<T> y) {
    const auto n_branch = static_cast<int64_t>(branches.size());
    const int64_t n_dim = y.shape[0] / n_head;
    for (int64_t c = 0; c < y.shape[0]; ++c) {
        for (int64_t i = 0; i < y.shape[1]; ++i) {
            T sum = 0;
            for (int64_t b = 0; b < n_branch; ++b)
                sum += Sigmoid(gate(c / n_dim * n_branch + b, i)).of_plus *
                       branches[static_cast<size_t>(b)](c, i);
            y(c, i) = sum;
        }
    }
}

template <class T>
void combine_backward(int64_t n_head, Tile<const T> gate, std::span<const Tile<const T>> branches,
                      Tile<const T> dy, std::span<const Tile<T>> dbranches, Tile<T> dgate) {
    const int64_t n_dim = dy.shape[0] / n_head;
    for (int64_t row = 0; row < gate.shape[0]; ++row) {
        const auto n_branch = static_cast<int64_t>(branches.size());
        const auto b = static_cast<size_t>(row % n_branch);
        for (int64_t i = 0; i < dy.shape[1]; ++i) {
            const Sigmoid sigmoid(gate(row, i));
            T sum = 0;
            for (int64_t c = row / n_branch * n_dim; c < (row / n_branch + 1) * n_dim; ++c) {
                sum += dy(c, i) * branches[b](c, i);
                dbranches[b](c, i) = sigmoid.of_plus * dy(c, i);
            }
            dgate(row, i) = sum * (sigmoid.of_plus * sigmoid.of_minus);
        }
    }
}

template void combine(int64_t, Tile<const float>, std::span<const Tile<const float>>, Tile<float>);
template void combine(int64_t, Tile<const double>, std::span<const Tile<const double>>,
                      Tile<double>);
template void combine_backward(int64_t, Tile<const float>, std::span<const Tile<const float>>,
                               Tile<const float>, std::span<const Tile<float>>, Tile<float>);
template void combine_backward(int64_t, Tile<const double>, std::span<const Tile<const double>>,
                               Tile<const double>, std::span<const Tile<double>>, Tile<double>);

}  // namespace surrogate::kernels::bsa::ref
