// SPDX-License-Identifier: Apache-2.0
#include "initial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "shared_file.hpp"
#include "stop.hpp"

namespace shallow_water {

namespace {

using std::numbers::pi;

/// Returns splitmix64 of x: every bit of the input affects every bit of the result.
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Returns a uniform number in (0, 1), a function of its arguments.
double uniform(uint64_t seed, uint64_t index) {
    return (double(mix(mix(seed) ^ index) >> 11) + 0.5) * 0x1p-53;
}

/// Returns X + iY with X and Y normal, variance 1/2 each (Box and Muller).
Complex normal(uint64_t seed, uint64_t index) {
    const double radius = std::sqrt(-std::log(uniform(seed, 2 * index)));
    const double angle = 2 * pi * uniform(seed, 2 * index + 1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Returns the speed of the jet in m/s. Its edges and its scale are single precision numbers as in
/// the published solver: the exact ones would change vorticity by 1e-7 of its maximum.
double jet(double latitude) {
    constexpr float edge = float(pi / 7), other_edge = float(pi / 2) - edge;
    constexpr double south = edge, north = other_edge;
    static const float width = other_edge - edge, scale = std::exp(-4 / (width * width));
    static const float fastest = 80 / scale;
    if (latitude <= south || latitude >= north) return 0;
    return fastest * std::exp(1 / ((latitude - south) * (latitude - north)));
}

double bump(double latitude, double longitude) {
    const double east = (longitude - pi) * 3, north = pi / 4 - latitude;
    return Planet::bump_height_m * std::cos(latitude) * std::exp(-east * east) *
           std::exp(-15 * north * north);
}

/// Fills this rank's points with value(latitude, longitude).
template <class Function>
void fill(const Solver& solver, Transform& transform, double* field, Function value) {
    const Layout& layout = solver.layout();
    const int64_t n_lon = layout.resolution().n_lon;
    for (int64_t k = 0; k < layout.n_row(); ++k) {
        const double latitude = transform.latitudes().latitude(layout.first_row() + k);
        for (int64_t j = 0; j < n_lon; ++j)
            field[k * n_lon + j] = value(latitude, 2 * pi * double(j) / double(n_lon));
    }
}

/// Computes the geopotential in balance with u (2, n_row, n_lon), without its bump: coefficients.
void balance(Solver& solver, const std::vector<double>& u, const Complex* zeta_coefficients,
             std::vector<Complex>* phi) {
    const int64_t n = solver.layout().n_point(), n_lon = solver.layout().resolution().n_lon;
    const auto n_coefficient = static_cast<std::size_t>(solver.transform().n_coefficient());
    std::vector<double> zeta(static_cast<std::size_t>(n)), flux(u.size()), energy(zeta.size());
    solver.transform().to_grid({1, 0}, zeta_coefficients, zeta.data());
    for (std::size_t i = 0; i < zeta.size(); ++i) {
        const double absolute = zeta[i] + solver.coriolis(int64_t(i) / n_lon);
        flux[i] = absolute * u[i];
        flux[zeta.size() + i] = absolute * u[zeta.size() + i];
        energy[i] = 0.5 * (u[i] * u[i] + u[zeta.size() + i] * u[zeta.size() + i]);
    }
    std::vector<Complex> curl(2 * n_coefficient), kinetic(n_coefficient);
    solver.curl_div(flux.data(), curl.data());
    solver.divide_laplacian(curl.data());
    solver.transform().to_coefficients({1, 0}, energy.data(), kinetic.data());
    for (std::size_t i = 0; i < n_coefficient; ++i) (*phi)[i] = curl[i] - kinetic[i];
}

}  // namespace

void galewsky_jet(Solver& solver, State* state) {
    const auto n = static_cast<std::size_t>(solver.layout().n_point());
    const auto n_coefficient = static_cast<std::size_t>(solver.transform().n_coefficient());
    std::vector<double> u(2 * n), height(n);
    fill(solver, solver.transform(), u.data(), [](double lat, double) { return jet(lat); });
    fill(solver, solver.transform(), height.data(), [](double lat, double lon) {
        return Planet::gravity * (Planet::mean_depth_m + bump(lat, lon));
    });
    Complex* zeta = state->data() + n_coefficient;  // vorticity, divergence
    solver.curl_div(u.data(), zeta);
    std::vector<Complex> phi(n_coefficient);
    balance(solver, u, zeta, &phi);
    solver.transform().to_coefficients({1, 0}, height.data(), state->data());
    for (std::size_t i = 0; i < n_coefficient; ++i) (*state)[i] += phi[i];
}

void random_waves(const Solver& solver, uint64_t seed, State* state) {
    constexpr double n_spectrum = 120, mach = 0.2;
    constexpr uint64_t n_order = 1u << 20;  // more than any m or l
    const double base = std::sqrt(4 * pi / (n_spectrum * (n_spectrum + 1)));
    const double wave = mach * std::sqrt(Planet::gravity * Planet::mean_depth_m) / Planet::radius_m;
    const double amplitude[n_field] = {base * Planet::gravity * Planet::bump_height_m, base * wave,
                                       base * wave};
    const Layout& layout = solver.layout();
    const auto n_degree = static_cast<uint64_t>(layout.resolution().n_degree);
    std::size_t at = 0;
    for (uint64_t f = 0; f < n_field; ++f)
        for (const int64_t order : layout.orders())
            for (uint64_t l = 0; l < n_degree; ++l, ++at) {
                const auto m = static_cast<uint64_t>(order);
                const bool is_there = m <= l && l < static_cast<uint64_t>(n_spectrum);
                (*state)[at] =
                    is_there ? amplitude[f] * normal(seed, (f * n_order + l) * n_order + m) : 0;
            }
    if (!layout.orders().empty() && layout.orders().front() == 0)
        (*state)[0] += std::sqrt(4 * pi) * Planet::gravity * Planet::mean_depth_m;
}

void perturbed_jet(Solver& solver, uint64_t seed, State* state) {
    constexpr uint64_t of_share = ~uint64_t{0}, of_hemisphere = of_share - 1;
    State waves = solver.new_state();
    galewsky_jet(solver, state);
    random_waves(solver, seed, &waves);
    const Layout& layout = solver.layout();
    const double share = 0.2 * uniform(seed, of_share);
    const bool is_southern = uniform(seed, of_hemisphere) < 0.5;
    if (!layout.orders().empty() && layout.orders().front() == 0)
        waves[0] -= std::sqrt(4 * pi) * Planet::gravity * Planet::mean_depth_m;
    std::size_t at = 0;
    for (int64_t f = 0; f < n_field; ++f)
        for (const int64_t m : layout.orders())
            for (int64_t l = 0; l < layout.resolution().n_degree; ++l, ++at) {
                (*state)[at] += share * waves[at];
                // Rows in reverse order: odd l + m change sign. Rotation is reversed, too.
                const bool is_odd = ((l + m) % 2 != 0) != (f == vorticity);
                if (is_southern && is_odd) (*state)[at] = -(*state)[at];
            }
}

void read_initial(Solver& solver, const std::string& path, State* state) {
    const Layout& layout = solver.layout();
    const Resolution& r = layout.resolution();
    const int64_t n_sphere = r.n_lat * r.n_lon;
    std::vector<double> all(static_cast<std::size_t>(n_field * n_sphere));
    const std::vector<char> bytes = read_shared(layout.comm(), path);
    if (bytes.size() != all.size() * sizeof(double))
        throw Stop(path + " has " + std::to_string(bytes.size()) +
                   " bytes, three fields of this grid are " +
                   std::to_string(all.size() * sizeof(double)));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    if (!std::all_of(all.begin(), all.end(), [](double x) { return std::isfinite(x); }))
        throw Stop(path + " has numbers that are not finite");
    Fields fields = solver.new_fields();
    for (int64_t f = 0; f < n_field; ++f)
        std::copy_n(all.data() + f * n_sphere + layout.first_row() * r.n_lon, layout.n_point(),
                    fields.data() + f * layout.n_point());
    solver.to_state(fields, state);
}

void set_initial(const Settings& settings, Solver& solver, State* state) {
    if (settings.initial == "galewsky")
        galewsky_jet(solver, state);
    else if (settings.initial == "perturbed")
        perturbed_jet(solver, settings.seed, state);
    else if (settings.initial == "random")
        random_waves(solver, settings.seed, state);
    else
        read_initial(solver, settings.initial, state);
}

}  // namespace shallow_water
