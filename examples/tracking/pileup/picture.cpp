// SPDX-License-Identifier: Apache-2.0
#include "pileup/picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <surrogate/surrogate_vtk.hpp>

#include "exchange.hpp"
#include "output.hpp"

namespace pileup {

namespace {

constexpr int64_t n_pixel = 640;  // per side
constexpr double half_eta = 2.6, half_phi = std::numbers::pi;

struct Disc {
    double eta, phi, pt, truth, probability;
};

/// Returns the scored particles of event 0, on rank 0; the softest ones first. Collective.
std::vector<Disc> discs_of(MPI_Comm comm, const std::vector<Particle>& particles,
                           const std::vector<float>& probability) {
    std::vector<std::vector<Disc>> to(std::size_t(tracking::size_of(comm)));
    for (std::size_t i = 0; i < particles.size(); ++i) {
        const Particle& p = particles[i];
        if (p.event == 0 && is_scored(p))
            to[0].push_back({p.eta, p.phi, p.pt, double(p.is_primary), double(probability[i])});
    }
    std::vector<Disc> discs = tracking::exchange_rows(comm, to);
    std::sort(discs.begin(), discs.end(), [](const Disc& a, const Disc& b) { return a.pt < b.pt; });
    return discs;
}

/// Returns the pixels, row by row from below; NaN where there is no particle.
std::vector<double> pixels_of(const std::vector<Disc>& discs, double Disc::*value) {
    std::vector<double> pixels(std::size_t(n_pixel * n_pixel),
                               std::numeric_limits<double>::quiet_NaN());
    for (const Disc& disc : discs) {
        const double radius = std::clamp(3 + 5 * std::log10(disc.pt / scored_pt), 3.0, 12.0);
        const double x = (disc.eta / half_eta + 1) / 2 * n_pixel;
        const double y = (disc.phi / half_phi + 1) / 2 * n_pixel;
        for (auto j = int64_t(y - radius); j <= int64_t(y + radius); ++j)
            for (auto i = int64_t(x - radius); i <= int64_t(x + radius); ++i)
                if (i >= 0 && i < n_pixel && j >= 0 && j < n_pixel &&
                    std::hypot(double(i) - x, double(j) - y) <= radius)
                    pixels[std::size_t(j * n_pixel + i)] = disc.*value;
    }
    return pixels;
}

void write_panels(const std::string& path, const std::vector<Disc>& discs) {
    const std::vector<double> truth = pixels_of(discs, &Disc::truth),
                              probability = pixels_of(discs, &Disc::probability);
    std::vector<surrogate_png_panel> panels;
    std::vector<surrogate_png_label> labels;
    for (const auto& [pixels, title] :
         {std::pair(&truth, "truth"), std::pair(&probability, "surrogate")}) {
        panels.push_back(surrogate::panel(surrogate::grid_values(pixels->data(), n_pixel, n_pixel),
                                          0, 1, SURROGATE_COLOR_ON_WHITE));
        surrogate_png_label label =
            surrogate::label(title, "probability of the primary collision", "1");
        label.nan = SURROGATE_NAN_WHITE;
        label.frame = SURROGATE_FRAME_AXES;
        label.x = {"pseudorapidity", "1", -half_eta, half_eta};
        label.y = {"azimuth", "rad", -half_phi, half_phi};
        labels.push_back(label);
    }
    surrogate::write_png(path, "Neutral particles of one event", panels, labels);
}

}  // namespace

void write_picture(MPI_Comm comm, const std::string& path, const std::vector<Particle>& particles,
                   const std::vector<float>& probability) {
    const std::vector<Disc> discs = discs_of(comm, particles, probability);
    tracking::write_on_root(comm, path, [&] { write_panels(path, discs); });
}

}  // namespace pileup
