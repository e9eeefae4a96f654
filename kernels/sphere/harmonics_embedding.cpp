// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/sphere/harmonics.hpp"
#include "kernels/sphere/harmonics_legendre.hpp"

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;

double largest(const std::vector<double>& values) {
    double found = 0;
    for (double value : values) found = std::max(found, std::abs(value));
    return found;
}

/// Degree and order of a channel: 0, then -1, 0, 1, then -2 ..
struct Harmonic {
    explicit Harmonic(int64_t channel) {
        while ((l + 1) * (l + 1) <= channel) ++l;
        m = channel - l * l - l;
    }
    int64_t l = 0, m = 0;
};

/// Returns cos(m lambda), or for m < 0 sin(|m| lambda), with the corresponding factor and sign.
std::vector<double> wave(int64_t m, int64_t n_lon) {
    std::vector<double> values;
    for (int64_t j = 0; j < n_lon; ++j) {
        const double angle =
            2 * pi * static_cast<double>(std::abs(m) * j % n_lon) / static_cast<double>(n_lon);
        values.push_back(m == 0 ? 1 : m > 0 ? 2 * std::cos(angle) : -2 * std::sin(angle));
    }
    return values;
}

}  // namespace

std::vector<float> spectral_embedding(const Grid& grid, int64_t n_channel, int64_t first_row,
                                      int64_t end_row) {
    const int64_t n_known = default_truncation(grid).n_degree;
    if (n_channel < 1 || n_channel > n_known * n_known)
        throw Error(Status::invalid_argument,
                    "a spectral position embedding on " + std::to_string(grid.n_lat) + " x " +
                        std::to_string(grid.n_lon) + " points supports 1 to " +
                        std::to_string(n_known * n_known) + " channels, got " +
                        std::to_string(n_channel));
    const int64_t n_degree = Harmonic(n_channel - 1).l + 1;
    const LegendreRecurrence recurrence(n_degree);
    const std::vector<double> theta = latitudes(grid.kind, grid.n_lat).theta;
    const size_t size = triangle_size(n_degree);
    std::vector<double> p(theta.size() * size);  // (n_lat, triangle)
    for (size_t row = 0; row < theta.size(); ++row)
        recurrence.evaluate(theta[row], p.data() + row * size);

    const auto n_lon = static_cast<size_t>(grid.n_lon);
    std::vector<float> embedding(static_cast<size_t>((end_row - first_row) * n_channel) * n_lon);
    for (int64_t channel = 0; channel < n_channel; ++channel) {
        const Harmonic harmonic(channel);
        const int64_t m = std::abs(harmonic.m);
        std::vector<double> along(theta.size());
        for (size_t row = 0; row < theta.size(); ++row)
            along[row] = (m % 2 == 1 ? -1 : 1) * p[row * size + triangle_index(harmonic.l, m)];
        const std::vector<double> around = wave(harmonic.m, grid.n_lon);
        // sin(n_lon / 2 lambda) consists only of rounding errors.
        if (!(largest(around) > 1e-9))
            throw Error(Status::invalid_argument,
                        "channel " + std::to_string(channel) +
                            " of a spectral position embedding is zero on " +
                            std::to_string(grid.n_lon) + " longitudes; use at most " +
                            std::to_string(channel) + " channels");
        // The maximum of a product of two functions of two variables.
        const double scale = 1 / (largest(along) * largest(around));
        for (int64_t row = first_row; row < end_row; ++row) {
            float* to = embedding.data() +
                        static_cast<size_t>((row - first_row) * n_channel + channel) * n_lon;
            for (size_t j = 0; j < n_lon; ++j)
                to[j] = static_cast<float>(along[static_cast<size_t>(row)] * around[j] * scale);
        }
    }
    return embedding;
}

std::vector<float> sequence_embedding(const Grid& grid, int64_t n_channel, int64_t first_row,
                                      int64_t end_row) {
    std::vector<float> embedding;
    for (int64_t row = first_row; row < end_row; ++row) {
        for (int64_t channel = 0; channel < n_channel; ++channel) {
            const double period = std::pow(
                10000.0, 2 * static_cast<double>(channel) / static_cast<double>(n_channel));
            for (int64_t j = 0; j < grid.n_lon; ++j) {
                const double angle = static_cast<double>(row * grid.n_lon + j) / period;
                embedding.push_back(
                    static_cast<float>(channel % 2 == 0 ? std::sin(angle) : std::cos(angle)));
            }
        }
    }
    return embedding;
}

}  // namespace surrogate::kernels::sphere
