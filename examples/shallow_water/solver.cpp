// SPDX-License-Identifier: Apache-2.0
#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace shallow_water {

namespace {

constexpr double diffusion_time_s = 7200;

/// The right-hand side transforms two scalars and one vector to the grid, one scalar and two
/// vectors back.
constexpr Batch to_the_grid{2, 1}, from_the_grid{1, 2};

}  // namespace

Solver::Solver(const Layout& layout, double dt_s, bool official_rounding)
    : transform_(layout, official_rounding), dt_s_(dt_s) {
    if (!(dt_s > 0)) throw std::invalid_argument("the time step must be positive");
    const int64_t n_degree = layout.resolution().n_degree;
    for (int64_t l = 0; l < n_degree; ++l)
        laplacian_.push_back(-double(l * (l + 1)) / (Planet::radius_m * Planet::radius_m));
    for (const double lap : laplacian_) {
        inverse_laplacian_.push_back(lap == 0 ? 0 : 1 / lap);
        const double ratio = lap / laplacian_.back(), square = ratio * ratio;
        diffusion_.push_back(std::exp(-dt_s / diffusion_time_s * (square * square)));
    }
    for (int64_t k = layout.first_row(); k < layout.first_row() + layout.n_row(); ++k)
        coriolis_.push_back(2 * Planet::rotation_per_s *
                            transform_.latitudes().sine[static_cast<std::size_t>(k)]);
    for (State& rate : rates_) rate = new_state();
    const auto n_batch = static_cast<std::size_t>(from_the_grid.n_field());
    coefficients_.resize(n_batch * static_cast<std::size_t>(transform_.n_coefficient()));
    grid_.resize(n_batch * static_cast<std::size_t>(layout.n_point()));
    flux_.resize(grid_.size());
}

State Solver::new_state() const {
    return State(static_cast<std::size_t>(n_field * transform_.n_coefficient()));
}

Fields Solver::new_fields() const {
    return Fields(static_cast<std::size_t>(n_field * layout().n_point()));
}

void Solver::to_grid(const State& state, Fields* fields) {
    transform_.to_grid({n_field, 0}, state.data(), fields->data());
}

void Solver::to_state(const Fields& fields, State* state) {
    transform_.to_coefficients({n_field, 0}, fields.data(), state->data());
}

void Solver::scale(const std::vector<double>& by_degree, Complex* coefficients) const {
    const auto n_degree = static_cast<int64_t>(by_degree.size());
    for (int64_t i = 0; i < transform_.n_coefficient(); ++i)
        coefficients[i] *= by_degree[static_cast<std::size_t>(i % n_degree)];
}

void Solver::velocity(const State& state, double* u) {
    const int64_t n = transform_.n_coefficient();
    std::copy_n(state.data() + n, 2 * n, coefficients_.data());
    for (int64_t i = 0; i < 2 * n; ++i)
        coefficients_[static_cast<std::size_t>(i)] /= Planet::radius_m;
    for (int64_t part = 0; part < 2; ++part) divide_laplacian(coefficients_.data() + part * n);
    transform_.to_grid({0, 1}, coefficients_.data(), u);
}

void Solver::curl_div(const double* u, Complex* coefficients) {
    const int64_t n = transform_.n_coefficient();
    transform_.to_coefficients({0, 1}, u, coefficients);
    for (int64_t i = 0; i < 2 * n; ++i) coefficients[i] *= Planet::radius_m;
    for (int64_t part = 0; part < 2; ++part) multiply_laplacian(coefficients + part * n);
}

/// Computes fluxes: grid_ (Phi, vorticity, u, v) -> flux_ (Phi + |u|^2 / 2; (vorticity + f) u,
/// (vorticity + f) v; Phi u, Phi v).
void Solver::fluxes() {
    const int64_t n = layout().n_point(), n_lon = layout().resolution().n_lon;
    const double *phi = grid_.data(), *zeta = phi + n, *u = zeta + n, *v = u + n;
    double* flux = flux_.data();
    for (int64_t i = 0; i < n; ++i) {
        const double absolute = zeta[i] + coriolis(i / n_lon);
        flux[i] = phi[i] + 0.5 * (u[i] * u[i] + v[i] * v[i]);
        flux[n + i] = absolute * u[i];
        flux[2 * n + i] = absolute * v[i];
        flux[3 * n + i] = phi[i] * u[i];
        flux[4 * n + i] = phi[i] * v[i];
    }
}

void Solver::tendency(const State& state, State* rate) {
    const int64_t n = transform_.n_coefficient();
    const auto n_degree = static_cast<std::size_t>(layout().resolution().n_degree);
    Complex* c = coefficients_.data();
    std::copy_n(state.data(), 2 * n, c);                          // geopotential, vorticity
    std::copy_n(state.data() + vorticity * n, 2 * n, c + 2 * n);  // velocity, from both
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const double factor = inverse_laplacian_[i % n_degree] / Planet::radius_m;
        c[2 * n + int64_t(i)] *= factor;
        c[3 * n + int64_t(i)] *= factor;
    }
    transform_.to_grid(to_the_grid, c, grid_.data());
    fluxes();
    transform_.to_coefficients(from_the_grid, flux_.data(), c);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const auto at = int64_t(i);
        const double lap = laplacian_[i % n_degree], curl = Planet::radius_m * lap;
        (*rate)[static_cast<std::size_t>(vorticity * n + at)] = -curl * c[2 * n + at];
        (*rate)[static_cast<std::size_t>(divergence * n + at)] = curl * c[n + at] - lap * c[at];
        (*rate)[static_cast<std::size_t>(geopotential * n + at)] = -curl * c[4 * n + at];
    }
}

void Solver::advance(State* state) const {
    const auto n = static_cast<std::size_t>(transform_.n_coefficient());
    const std::size_t n_degree = diffusion_.size();
    for (std::size_t i = 0; i < state->size(); ++i) {
        (*state)[i] +=
            dt_s_ * (23.0 / 12 * rates_[0][i] - 16.0 / 12 * rates_[1][i] + 5.0 / 12 * rates_[2][i]);
        if (i >= n) (*state)[i] *= diffusion_[i % n_degree];  // all but the geopotential
    }
}

void Solver::step(int64_t n, State* state) {
    for (int64_t i = 0; i < n; ++i) {
        std::swap(rates_[1], rates_[2]);
        std::swap(rates_[0], rates_[1]);
        tendency(*state, &rates_[0]);
        if (i == 0) rates_[1] = rates_[0];
        // This is not a second order scheme: it uses the newest rate instead of the rate before the
        // first step.
        if (i <= 1) rates_[2] = rates_[0];
        advance(state);
    }
}

}  // namespace shallow_water
