// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/mlp.hpp"

namespace surrogate::kernels::ref {
namespace {

template <class T>
void add(Tile<const T> x, Tile<T> y) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) y(c, i) += x(c, i);
    }
}

/// Tiles to which layer j writes its sum and its result; they may be one tile.
template <class T>
struct Place {
    Tile<T> sum, result;
};

template <class T, class PlaceOf>
void chain(const ResidualMlp<T>& mlp, Tile<const T> x, const PlaceOf& place_of, bool accumulate,
           Tile<T> y) {
    const size_t last = mlp.layers.size() - 1;
    Tile<const T> a = x;
    for (size_t j = 0; j < last; ++j) {
        const auto [sum, result] = place_of(j);
        linear<T>(mlp.layers[j], a, {}, sum);
        activate<T>(mlp.activation, sum, result);
        if (j > 0 || mlp.adds_input()) add<T>(a, result);
        a = result;
    }
    const Tile<const T> before = accumulate ? Tile<const T>(y) : Tile<const T>{};
    linear<T>(mlp.layers[last], a, before, y);
    if (last > 0 ? mlp.adds_hidden() : mlp.adds_input()) add<T>(a, y);
}

}  // namespace

template <class T>
void residual_mlp(const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch, bool accumulate,
                  Tile<T> y) {
    const auto place_of = [&](size_t j) -> Place<T> {
        const int64_t n_hidden = mlp.n_hidden();
        const Tile<T> half = channels(scratch, j % 2 == 0 ? 0 : n_hidden, n_hidden);
        return {half, half};
    };
    chain<T>(mlp, x, place_of, accumulate, y);
}

template <class T>
void residual_mlp_forward(const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> saved,
                          bool accumulate, Tile<T> y) {
    const auto place_of = [&](size_t j) -> Place<T> {
        return {mlp.saved_sum(saved, j), mlp.saved_result(saved, j)};
    };
    chain<T>(mlp, x, place_of, accumulate, y);
}

template void residual_mlp(const ResidualMlp<float>&, Tile<const float>, Tile<float>, bool,
                           Tile<float>);
template void residual_mlp(const ResidualMlp<double>&, Tile<const double>, Tile<double>, bool,
                           Tile<double>);
template void residual_mlp_forward(const ResidualMlp<float>&, Tile<const float>, Tile<float>, bool,
                                   Tile<float>);
template void residual_mlp_forward(const ResidualMlp<double>&, Tile<const double>, Tile<double>,
                                   bool, Tile<double>);

}  // namespace surrogate::kernels::ref
