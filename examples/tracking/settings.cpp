// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <stdexcept>

namespace tracking {

namespace {

struct Option {
    std::string flag, value, text;
    std::function<void(const std::string&)> read;  // value empty: called with ""
};

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", number);
    return text;
}

template <class Number>
std::function<void(const std::string&)> number(const char* flag, Number least, Number most,
                                               Number* result) {
    return [=](const std::string& text) {
        Number value{};
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || stop != end || text.empty() ||
            !(value >= least && value <= most))
            throw std::invalid_argument(std::string(flag) + " is " + (text.empty() ? "''" : text) +
                                        ", expected a number from " + text_of(double(least)) +
                                        " to " + text_of(double(most)));
        *result = value;
    };
}

std::function<void(const std::string&)> text_in(std::string* value) {
    return [=](const std::string& text) { *value = text; };
}

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
    const std::vector<Option> known = options(&settings);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto found = std::find_if(known.begin(), known.end(), [&](const Option& option) {
            return option.flag == arguments[i];
        });
        if (found == known.end())
            throw std::invalid_argument("unknown option '" + arguments[i] +
                                        "'; -help lists the options");
        if (!found->value.empty() && i + 1 == arguments.size())
            throw std::invalid_argument(found->flag + " needs a value: " + found->text);
        found->read(found->value.empty() ? "" : arguments[++i]);
    }
    if (settings.shape.n_hit > 100000000 / settings.n_event)
        throw std::invalid_argument("-hits times -events must be at most 100,000,000");
    return settings;
}

std::string Settings::help() {
    Settings defaults;
    std::string text = "Tracks of charged particles, from hits that a trained surrogate embeds.\n";
    for (const Option& option : options(&defaults)) {
        std::string head = "  " + option.flag + " " + option.value;
        head.resize(std::max<std::size_t>(head.size() + 1, 28), ' ');
        text += head + option.text + "\n";
    }
    return text;
}

}  // namespace tracking
