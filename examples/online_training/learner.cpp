// SPDX-License-Identifier: Apache-2.0
#include "learner.hpp"

#include <surrogate/surrogate_petsc.h>

#include <surrogate/surrogate_mpi.hpp>

namespace darcy {

namespace {

/// Card of a small FLARE of x, y and mobility. Means and deviations are known from the
/// distribution of the fluids (darcy_data) before the solver has run; ranges cover its
/// mobilities, until the training extends them.
constexpr const char* card = R"json({"format": 1, "family": "flare",
"network": {"model": "FLAREModel", "in_dim": 3, "out_dim": 1, "channel_dim": 32, "num_blocks": 2,
            "num_heads": 4, "num_latents": 32, "num_layers_k_proj": 1, "num_layers_v_proj": 1,
            "num_layers_ffn": 1, "num_layers_in_out_proj": 1},
"inputs": [{"name": "x", "role": "coordinate", "axis": 0, "unit": "m",
            "mean": 0.5, "std": 0.29, "min": 0, "max": 1},
           {"name": "y", "role": "coordinate", "axis": 1, "unit": "m",
            "mean": 0.5, "std": 0.29, "min": 0, "max": 1},
           {"name": "mobility", "role": "field", "unit": "m^2/(Pa s)",
            "mean": 8.3, "std": 3.4, "min": 3, "max": 12}],
"outputs": [{"name": "pressure", "unit": "Pa",
             "mean": 0.005, "std": 0.0039, "min": -0.001, "max": 0.03}],
"provenance": {"title": "Pressure of two fluids, learnt while a solver ran"}})json";

surrogate::Domain domain_of(const surrogate::Context& context, DM dm) {
    surrogate_domain* domain = nullptr;
    if (surrogate_domain_create_dm(context.get(), dm, &domain) != 0)
        throw surrogate::Error(SURROGATE_INVALID_ARGUMENT, surrogate_error(context.get()));
    return surrogate::Domain(domain);
}

}  // namespace

Learner::Learner(DM dm, int64_t n_local, const Settings& settings)
    : settings_(settings),
      mobility_(static_cast<std::size_t>(n_local)),
      prediction_(mobility_.size()),
      solved_(mobility_.size()) {
    const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(dm));
    context_.emplace(surrogate::mpi_context(comm, {{"reproducible", "true"}}));
    if (settings.model.empty())
        model_.emplace(surrogate::initialized_model(*context_, card, settings.seed));
    else
        model_.emplace(*context_, settings.model);
    domain_.emplace(domain_of(*context_, dm));
    plan_.emplace(*model_, *domain_);
    learning_plan_.emplace(*model_, *domain_,
                           surrogate::Options{{"gradients", "true"}, {"reproducible", "true"}});
    const surrogate_array mobility = surrogate::column(mobility_.data(), n_local);
    loop_.emplace(*plan_);
    loop_->bind("mobility", mobility, "m^2/(Pa s)");
    loop_->bind("pressure", surrogate::column(prediction_.data(), n_local), "Pa");
    for (const char* guard : {"range", "finite", "bounds"}) loop_->set(guard, "fallback");
    loop_->set("range_max_fraction", "0.01");
    learning_plan_->bind_input("mobility", mobility, "m^2/(Pa s)");
    trainer_.emplace(*learning_plan_, surrogate::TrainerOptions{
                                          {"learning_rate", std::to_string(settings.learning_rate)},
                                          {"warmup", "50"},
                                          {"accumulate", "2"},
                                          {"reservoir", std::to_string(settings.reservoir)},
                                          {"seed", std::to_string(settings.seed)}});
    trainer_->bind_target("pressure", surrogate::column(solved_.data(), n_local), "Pa");
}

bool Learner::predict(double dt_s, const std::vector<double>& mobility,
                      std::vector<double>* pressure) {
    mobility_ = mobility;
    if (loop_->step(dt_s) == surrogate::StepOutcome::rejected) {
        loop_->advance(dt_s);
        return false;
    }
    *pressure = prediction_;
    return true;
}

double Learner::learn(const std::vector<double>& mobility, const std::vector<double>& pressure) {
    mobility_ = mobility;
    solved_ = pressure;
    trainer_->reservoir_add();
    ++n_learnt_;
    return trainer_->reservoir_step(settings_.steps_per_state).loss;
}

int32_t Learner::widen_ranges_if_due() {
    return n_learnt_ % settings_.widen_every == 0 ? trainer_->widen_ranges() : 0;
}

}  // namespace darcy
