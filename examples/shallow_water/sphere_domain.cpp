// SPDX-License-Identifier: Apache-2.0
#include "sphere_domain.hpp"

#include <numbers>

namespace shallow_water {

surrogate::Domain sphere_domain(const surrogate::Context& context, const Layout& layout,
                                const Latitudes& latitudes) {
    std::vector<double> degrees;
    for (int64_t k = 0; k < layout.n_row(); ++k)
        degrees.push_back(latitudes.latitude(layout.first_row() + k) * 180 / std::numbers::pi);
    surrogate_sphere sphere{};
    sphere.grid = "legendre-gauss";
    sphere.n_lat = layout.resolution().n_lat;
    sphere.n_lon = layout.resolution().n_lon;
    sphere.first_lat = layout.first_row();
    sphere.n_lat_local = layout.n_row();
    sphere.n_lon_local = sphere.n_lon;
    sphere.latitude = degrees.empty() ? nullptr : degrees.data();
    return surrogate::Domain(context, sphere);
}

}  // namespace shallow_water
