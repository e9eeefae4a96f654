// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/scale_gradient.hpp"

#include <cmath>

namespace surrogate::impl::hept {

namespace {

constexpr double largest_exponent = 50;  // specification, section 1.2

}  // namespace

template <class T>
void add_scale_gradient(const Config& config, int64_t h, const T* w, const T* scale,
                        const double* dscale, double* dw) {
    const int64_t d = config.h_dim, n_k = config.num_w_per_dist;
    const int64_t n_column = n_k * (config.coords_dim - 1);
    const auto slope = [&](int64_t axis) {
        return scale[axis] > 0 ? dscale[axis] / static_cast<double>(scale[axis]) : 0.0;
    };
    for (int64_t column = 0; column < n_column; ++column) {
        double wbar = 0;
        for (int64_t i = 0; i < d; ++i)
            wbar += static_cast<double>(w[(h * d + i) * n_column + column]);
        if (wbar > largest_exponent) continue;
        const int64_t r = column / n_k;
        const double domega = slope(r + 1) + (r == 0 ? slope(0) : 0.0);
        for (int64_t i = 0; i < d; ++i)
            dw[(h * d + i) * n_column + column] += domega * std::exp(wbar);
    }
}

template void add_scale_gradient(const Config&, int64_t, const float*, const float*, const double*,
                                 double*);
template void add_scale_gradient(const Config&, int64_t, const double*, const double*,
                                 const double*, double*);

}  // namespace surrogate::impl::hept
