// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/latent_quotients.hpp"

#include <limits>

#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::flare::Partial;
using kernels::flare::Sizes;

template <class T>
bool latents_of(Partial<T> partial, const T* v_max, T* z) {
    if (!v_max) return divide(partial, z);
    const Sizes& sizes = partial.sizes;
    const int64_t n_z = sizes.n_latent * sizes.n_dim;
    if (!is_finite(partial)) {
        std::fill_n(z, sizes.n_head * n_z, std::numeric_limits<T>::quiet_NaN());
        return false;
    }
    constexpr double n_point = kernels::flare::chunk_points;
    const ExactRounding count_of(n_point);
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        const ExactRounding value_of(n_point * static_cast<double>(v_max[head]));
        divide_rows(sizes, partial.sum(head), count_of, value_of, z + head * n_z);
    }
    return true;
}

template bool latents_of(Partial<float>, const float*, float*);
template bool latents_of(Partial<double>, const double*, double*);

}  // namespace surrogate::impl::flare
