// SPDX-License-Identifier: Apache-2.0
#include "pileup/classifier.hpp"

#include <surrogate/surrogate_mpi.hpp>

#include "pileup/inputs.hpp"

namespace pileup {

Prediction classify(MPI_Comm comm, const std::string& model_file, bool is_reproducible,
                    const std::vector<Particle>& particles) {
    const auto n = static_cast<int64_t>(particles.size());
    std::vector<double> places, fields;
    std::vector<int64_t> ids, events;
    for (const Particle& particle : particles) {
        for (const double x : coordinates_of(particle)) places.push_back(x);
        for (const double x : features_of(particle)) fields.push_back(x);
        ids.push_back(particle.id);
        events.push_back(particle.event);
    }
    const surrogate::Context context = surrogate::mpi_context(comm);
    const surrogate::Model model(context, model_file);
    surrogate_points points{};
    points.x = surrogate::matrix(places.data(), n, int64_t(n_coordinate));
    points.global_id = ids.data();
    points.cloud = events.data();
    const double begin = MPI_Wtime();
    const surrogate::Domain domain(context, points);
    surrogate::Plan plan(model, domain, {{"reproducible", is_reproducible ? "true" : "false"}});
    Prediction prediction;
    prediction.probability.resize(particles.size());
    for (std::size_t f = 0; f < n_feature; ++f)
        plan.bind_input(features[f].name,
                        surrogate::column(fields.data() + f, n, int64_t(n_feature)),
                        features[f].unit);
    plan.bind_output("primary", surrogate::column(prediction.probability.data(), n), "1");
    const double planned = MPI_Wtime();
    plan.run();
    prediction.seconds_plan = planned - begin;
    prediction.seconds_run = MPI_Wtime() - planned;
    for (const char* key : {"backend", "vector", "threads"})
        prediction.how +=
            (prediction.how.empty() ? "" : ", ") + std::string(key) + " " + plan.option(key);
    return prediction;
}

}  // namespace pileup
