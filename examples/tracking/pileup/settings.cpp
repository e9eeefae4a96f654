// SPDX-License-Identifier: Apache-2.0
#include "pileup/settings.hpp"

#include <stdexcept>

namespace pileup {

namespace {

std::vector<tracking::Option> options(Settings* s) {
    using tracking::number, tracking::text_in;
    return {
        {"-particles", "N", "number of particles in an event (default 10000)",
         number<int64_t>("-particles", 200, 1000000, &s->shape.n_particle)},
        {"-pileup", "M", "collisions beside the primary one (default 100)",
         number<int64_t>("-pileup", 1, 100000, &s->shape.n_pileup)},
        {"-events", "K", "number of simultaneous events (default 1)",
         number<int64_t>("-events", 1, 100000, &s->n_event)},
        {"-seed", "S", "seed of the first event (default 1); further events use the next seeds",
         number<uint64_t>("-seed", 0, 1000000000, &s->seed)},
        {"-model", "FILE", "model file of the surrogate; \"\": without one", text_in(&s->model)},
        {"-surrogate_reproducible", "", "bitwise identical predictions on any number of ranks",
         [=](const std::string&) { s->is_reproducible = true; }},
        {"-output", "DIR", "pileup.png: the neutral particles of the first event",
         text_in(&s->output)},
        {"-samples", "FILE", "write the events as a data set for training, and nothing else",
         text_in(&s->samples)},
        {"-help", "", "print this help", [=](const std::string&) { s->asks_for_help = true; }},
    };
}

}  // namespace

Settings Settings::read(const std::vector<std::string>& arguments) {
    Settings settings;
    settings.model = PILEUP_MODEL;
    tracking::read_options(options(&settings), arguments);
    if (settings.shape.n_particle > 100000000 / settings.n_event)
        throw std::invalid_argument("-particles times -events must be at most 100,000,000");
    return settings;
}

std::string Settings::help() {
    Settings defaults;
    return "Neutral particles of the primary collision, among those of pile-up.\n" +
           tracking::help_of(options(&defaults));
}

}  // namespace pileup
