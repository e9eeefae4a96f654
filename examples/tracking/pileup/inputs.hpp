// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "pileup/particles.hpp"

namespace pileup {

/// An input of the model, with its name on the card.
struct Input {
    const char *name, *unit;
};

/// Coordinates: pseudorapidity and azimuth; twice, as in the paper, to be weighted twice.
constexpr std::size_t n_coordinate = 4;
constexpr std::array<Input, n_coordinate> coordinates = {
    {{"eta", "1"}, {"phi", "rad"}, {"eta.2", "1"}, {"phi.2", "rad"}}};
constexpr std::array<const char*, n_coordinate> axes = {"X", "Y", "Z", "4"};

/// Features; the last one is the class of the particle.
constexpr std::size_t n_feature = 6;
constexpr std::array<Input, n_feature> features = {{{"particle.eta", "1"},
                                                    {"particle.phi", "rad"},
                                                    {"pt.log10", "1"},
                                                    {"energy.log10", "1"},
                                                    {"vertex", "1"},
                                                    {"kind", "1"}}};

std::array<double, n_coordinate> coordinates_of(const Particle& particle);
/// Returns the features in the order of `features`; logarithms of GeV.
std::array<double, n_feature> features_of(const Particle& particle);

}  // namespace pileup
