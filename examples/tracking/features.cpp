// SPDX-License-Identifier: Apache-2.0
#include "features.hpp"

#include <cmath>

namespace tracking {

double eta_of(const Hit& hit) {
    return std::asinh((hit.z - hit.vertex) / hit.radius);
}

const std::array<const char*, n_coordinate> axis_names = {"X", "Y", "Z", "4", "5", "6"};

const std::array<Feature, n_coordinate> coordinate_names = {
    {{"eta", "1"}, {"phi", "rad"}, {"r", "mm"}, {"phi.turn", "rad"}, {"z", "mm"}, {"eta.rz", "1"}}};

const std::array<Feature, n_feature> feature_names = {{{"hit.radius", "mm"},
                                                       {"hit.azimuth", "rad"},
                                                       {"hit.z", "mm"},
                                                       {"hit.eta", "1"},
                                                       {"hit.u", "1/mm"},
                                                       {"hit.v", "1/mm"},
                                                       {"cluster.charge", "1"},
                                                       {"cluster.local_eta", "rad"},
                                                       {"cluster.local_phi", "rad"},
                                                       {"cluster.along", "mm"},
                                                       {"cluster.across", "mm"},
                                                       {"cluster.depth", "mm"},
                                                       {"cluster.global_eta", "1"},
                                                       {"cluster.global_phi", "rad"},
                                                       {"hit.layer", "1"}}};

std::array<double, n_coordinate> coordinates_of(const Hit& hit) {
    const double eta = eta_of(hit);
    return {eta, hit.azimuth, hit.radius, hit.azimuth, hit.z, eta};
}

std::array<double, n_feature> features_of(const Hit& hit) {
    return {
        hit.radius,
        hit.azimuth,
        hit.z,
        eta_of(hit),
        std::cos(hit.azimuth) / hit.radius,  // u, v: circles through the beam are straight lines
        std::sin(hit.azimuth) / hit.radius,
        hit.charge,
        hit.local_eta,
        hit.local_phi,
        hit.size_along,
        hit.size_across,
        hit.size_depth,
        hit.global_eta,
        hit.global_phi,
        double(hit.layer)};
}

}  // namespace tracking
