// SPDX-License-Identifier: Apache-2.0
#include "pileup/inputs.hpp"

#include <cmath>

namespace pileup {

std::array<double, n_coordinate> coordinates_of(const Particle& particle) {
    return {particle.eta, particle.phi, particle.eta, particle.phi};
}

std::array<double, n_feature> features_of(const Particle& particle) {
    return {
        particle.eta,    particle.phi,         std::log10(particle.pt), std::log10(particle.energy),
        particle.vertex, double(particle.kind)};
}

}  // namespace pileup
