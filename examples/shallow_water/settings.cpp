// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace shallow_water {

namespace {

struct Option {
    std::string flag, value, text;
    std::function<void(const std::string&)> read;  // value empty: called with ""
};

template <class Number>
Number number(const std::string& flag, const std::string& text, Number least) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || text.empty())
        throw std::invalid_argument(flag + " expects a number, found '" + text + "'");
    if (!(value >= least))
        throw std::invalid_argument(flag + " is " + text + ", which is too small");
    return value;
}

std::function<void(const std::string&)> count(const char* flag, int64_t least, int64_t* value) {
    return [=](const std::string& text) { *value = number<int64_t>(flag, text, least); };
}

std::function<void(const std::string&)> text_of(std::string* value) {
    return [=](const std::string& text) { *value = text; };
}

Step step_of(const std::string& text) {
    if (text == "solver") return Step::solver;
    if (text == "surrogate") return Step::surrogate;
    if (text == "both") return Step::both;
    throw std::invalid_argument("-step is '" + text + "', expected solver, surrogate or both");
}

int64_t hours_of(const std::string& text) {
    const double hours = 24 * number<double>("-days", text, 0);
    const double whole = std::round(hours);
    // Accepts a few minutes of rounding: -days 0.041667 is an hour.
    if (whole < 1 || whole > 1e9 || std::abs(hours - whole) > 1e-3)
        throw std::invalid_argument("-days is " + text + ", expected a whole number of hours");
    return static_cast<int64_t>(whole);
}

std::vector<Option> options(Settings* s) {
    return {
        {"-step", "WAY", "solver, surrogate or both (default): method for the hours",
         [=](const std::string& text) { s->step = step_of(text); }},
        {"-days", "D", "length of the run in days; whole hours (default 1)",
         [=](const std::string& text) { s->n_hour = hours_of(text); }},
        {"-initial", "STATE",
         "galewsky (default): an unstable jet; perturbed: jet and random waves, as the model was "
         "trained; random: waves; or a file of doubles [3][nlat][nlon]",
         text_of(&s->initial)},
        {"-seed", "N", "seed of perturbed and random states (default 1)",
         [=](const std::string& text) { s->seed = number<uint64_t>("-seed", text, 0); }},
        {"-check_every", "H",
         "with -step surrogate: guards check every hour and the state is stored every H hours; "
         "when "
         "they "
         "reject one (numbers that are not finite, outside the ranges of the model card, far "
         "from its training data), the solver continues from the last stored state",
         count("-check_every", 1, &s->check_every)},
        {"-truncate", "",
         "after each emulated hour, keep only the harmonics of the solver, and restore the mean "
         "depth",
         [=](const std::string&) { s->truncates = true; }},
        {"-output", "DIR", "time series for ParaView and a figure", text_of(&s->output)},
        {"-write_every", "H", "hours between states of the series (default 1)",
         count("-write_every", 1, &s->write_every)},
        {"-picture", "H", "hour of the figure, or the last one (default 12)",
         count("-picture", 0, &s->picture_hour)},
        {"-save", "FILE", "write the state at the end", text_of(&s->save)},
        {"-restart", "FILE", "continue from a saved state, bitwise identical",
         text_of(&s->restart)},
        {"-data", "FILE",
         "write a training set instead: hourly states of runs of the solver, 6 days each and from "
         "perturbed jets unless -days and -initial are set; see -runs, -seed",
         text_of(&s->data)},
        {"-runs", "N", "with -data: runs, from seeds S, S + 1, .. (default 20)",
         count("-runs", 1, &s->n_run)},
        {"-model", "FILE", "model file of the surrogate", text_of(&s->model)},
        {"-nlat", "N", "rows of the legendre-gauss grid (default 64)",
         count("-nlat", 2, &s->resolution.n_lat)},
        {"-nlon", "N", "columns (default 128)", count("-nlon", 4, &s->resolution.n_lon)},
        {"-L", "N", "degrees of the spherical harmonics (default 22)",
         count("-L", 2, &s->resolution.n_degree)},
        {"-dt", "S", "time step of the solver in seconds; divides an hour (default 150)",
         [=](const std::string& text) { s->dt_s = number<double>("-dt", text, 0); }},
        {"-official_rounding", "",
         "1 / (l (l + 1)) of the vector transform in single precision, as in torch-harmonics",
         [=](const std::string&) { s->official_rounding = true; }},
        {"-help", "", "print this help", [=](const std::string&) { s->asks_for_help = true; }},
    };
}

void check_together(const Settings& s) {
    if (s.check_every > 0 && s.step != Step::surrogate)
        throw std::invalid_argument("-check_every needs -step surrogate");
    if (!s.data.empty() && !(s.output + s.save + s.restart).empty())
        throw std::invalid_argument("-data excludes -output, -save and -restart");
    const double n_step = 3600 / s.dt_s;
    if (!(n_step >= 1 && n_step < 1e6) || n_step != std::round(n_step))
        throw std::invalid_argument(
            "-dt must divide an hour of 3600 s into at most a million steps");
}

}  // namespace

int64_t Settings::steps_per_hour() const {
    return static_cast<int64_t>(std::llround(3600 / dt_s));
}

Settings Settings::read(const std::vector<std::string>& arguments) {
    Settings settings;
    settings.model = SHALLOW_WATER_MODEL;
    const std::vector<Option> known = options(&settings);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Option* found = nullptr;
        for (const Option& option : known)
            if (option.flag == arguments[i]) found = &option;
        if (!found)
            throw std::invalid_argument("unknown option '" + arguments[i] +
                                        "'; -help lists the options");
        if (!found->value.empty() && i + 1 == arguments.size())
            throw std::invalid_argument(found->flag + " needs a value: " + found->text);
        found->read(found->value.empty() ? "" : arguments[++i]);
    }
    const auto is_given = [&](const char* flag) {
        return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
    };
    if (!settings.data.empty() && !is_given("-days")) settings.n_hour = 6 * 24;
    if (!settings.data.empty() && !is_given("-initial")) settings.initial = "perturbed";
    if (settings.data.empty() && is_given("-runs"))
        throw std::invalid_argument("-runs needs -data");
    check_together(settings);
    return settings;
}

std::string Settings::help() {
    Settings defaults;
    std::string text = "Shallow water on the sphere: a spectral solver and a trained emulator.\n";
    for (const Option& option : options(&defaults)) {
        std::string head = "  " + option.flag + " " + option.value;
        head.resize(std::max<std::size_t>(head.size() + 1, 22), ' ');
        text += head + option.text + "\n";
    }
    return text;
}

}  // namespace shallow_water
