// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <surrogate/surrogate_vtk.hpp>

#include "output.hpp"

namespace tracking {

namespace {

constexpr int64_t n_pixel = 640;   // per side
constexpr double half_mm = 335;    // per side: the detector and a margin
constexpr double nothing = -1e30;  // below all logarithms

class Canvas {
public:
    Canvas() : pixel_(std::size_t(n_pixel * n_pixel), nothing) {}

    void draw(const Track& track) {
        double x = 0, y = 0;  // the beam
        for (const Hit& hit : track.hits) {
            const double to_x = hit.radius * std::cos(hit.azimuth);
            const double to_y = hit.radius * std::sin(hit.azimuth);
            line(x, y, to_x, to_y, std::log10(track.momentum));
            x = to_x, y = to_y;
        }
    }

    /// Combines the drawings of all ranks on rank 0. Pixels that no rank has drawn are NaN.
    void reduce(MPI_Comm comm) {
        const int rank = rank_of(comm);
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : pixel_.data(), pixel_.data(), int(pixel_.size()),
                   MPI_DOUBLE, MPI_MAX, 0, comm);
        for (double& p : pixel_)
            if (p == nothing) p = std::numeric_limits<double>::quiet_NaN();
    }

    const std::vector<double>& pixels() const { return pixel_; }

private:
    void line(double x, double y, double to_x, double to_y, double value) {
        const double scale = n_pixel / (2 * half_mm);
        const int n = 1 + int(scale * std::max(std::abs(to_x - x), std::abs(to_y - y)));
        for (int k = 0; k <= n; ++k) {
            const double share = double(k) / n;
            const auto i = int64_t(scale * (x + share * (to_x - x) + half_mm));
            const auto j = int64_t(scale * (y + share * (to_y - y) + half_mm));
            if (i < 0 || i >= n_pixel || j < 0 || j >= n_pixel) continue;
            double& pixel = pixel_[std::size_t(j * n_pixel + i)];
            pixel = std::max(pixel, value);
        }
    }

    std::vector<double> pixel_;  // row by row from below
};

void write_panels(const std::string& path, const Canvas& particles, const Canvas& candidates) {
    std::vector<surrogate_png_panel> panels;
    std::vector<surrogate_png_label> labels;
    for (const auto& [canvas, title] :
         {std::pair(&particles, "particles to be found"), std::pair(&candidates, "tracks found")}) {
        panels.push_back(
            surrogate::panel(surrogate::grid_values(canvas->pixels().data(), n_pixel, n_pixel),
                             std::log10(0.3), std::log10(10), SURROGATE_COLOR_ON_WHITE));
        surrogate_png_label label = surrogate::label(title, "transverse momentum", "GeV");
        label.is_log10 = 1;
        label.nan = SURROGATE_NAN_WHITE;
        label.frame = SURROGATE_FRAME_AXES;
        label.x = {"x", "mm", -half_mm, half_mm};
        label.y = {"y", "mm", -half_mm, half_mm};
        labels.push_back(label);
    }
    surrogate::write_png(path, "One event, seen along the beam", panels, labels);
}

}  // namespace

void write_picture(MPI_Comm comm, const std::string& path, const std::vector<Track>& particles,
                   const std::vector<Track>& candidates) {
    Canvas left, right;
    for (const auto& [tracks, canvas] :
         {std::pair(&particles, &left), std::pair(&candidates, &right)}) {
        for (const Track& track : *tracks)
            if (track.hits[0].event == 0) canvas->draw(track);
        canvas->reduce(comm);
    }
    write_on_root(comm, path, [&] { write_panels(path, left, right); });
}

}  // namespace tracking
