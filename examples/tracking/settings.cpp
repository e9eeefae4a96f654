// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <stdexcept>

namespace tracking {

namespace {

std::vector<Option> options(Settings* s) {
    EventShape& e = s->shape;
    return {
        {"-hits", "N", "approximate number of hits in an event (default 3000)",
         number<int64_t>("-hits", 100, 100000000, &e.n_hit)},
        {"-events", "K", "number of simultaneous events (default 1)",
         number<int64_t>("-events", 1, 100000, &s->n_event)},
        {"-seed", "S", "seed of the first event (default 1); further events use the next seeds",
         number<uint64_t>("-seed", 0, 1000000000, &s->seed)},
        {"-pileup", "M", "collisions beside the first one, spread along the beam (default 0)",
         [&e](const std::string& text) {
             number<int64_t>("-pileup", 0, 100000, &e.n_collision)(text);
             ++e.n_collision;
         }},
        {"-noise", "X", "fraction of the hits that belong to no particle (default 0.05)",
         number<double>("-noise", 0, 0.9, &e.noise)},
        {"-efficiency", "X", "efficiency of a sensor that a particle crosses (default 0.98)",
         number<double>("-efficiency", 0.1, 1, &e.efficiency)},
        {"-model", "FILE", "model file of the surrogate; \"\": hits are joined by their direction",
         text_in(&s->model)},
        {"-radius", "R", "hits that are nearer in the embedding are joined",
         number<double>("-radius", 1e-6, 1e6, &s->radius)},
        {"-surrogate_reproducible", "", "bitwise identical embedding on any number of ranks",
         [=](const std::string&) { s->is_reproducible = true; }},
        {"-output", "DIR", "hits.pvd and tracks.pvd for ParaView, and tracks.png",
         text_in(&s->output)},
        {"-samples", "FILE", "write the events as a data set for training, and nothing else",
         text_in(&s->samples)},
        {"-help", "", "print this help", [=](const std::string&) { s->asks_for_help = true; }},
    };
}

}  // namespace

Settings Settings::read(const std::vector<std::string>& arguments) {
    Settings settings;
    settings.model = TRACKING_MODEL;
    read_options(options(&settings), arguments);
    if (settings.shape.n_hit > 100000000 / settings.n_event)
        throw std::invalid_argument("-hits times -events must be at most 100,000,000");
    return settings;
}

std::string Settings::help() {
    Settings defaults;
    return "Tracks of charged particles, from hits that a trained surrogate embeds.\n" +
           help_of(options(&defaults));
}

}  // namespace tracking
