// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/settings.hpp"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

constexpr const char* known_keys =
    "range, range_max_fraction, distance, distance_factor, finite, bounds, drift, retry_after, "
    "step_s";

[[noreturn]] void refuse(const std::string& key, const std::string& value,
                         const std::string& expected) {
    fail(SURROGATE_INVALID_ARGUMENT,
         "option '" + key + "' is '" + value + "', expected " + expected);
}

std::string policies_of(const Guard& guard) {
    return std::string(guard.can_be_off() ? "off, warn, " : "warn, ") +
           (guard.can_correct() ? "correct, " : "") + "fallback or stop";
}

void set_policy(Rails* rails, Guard* guard, const std::string& value) {
    int i = 0;
    while (i <= static_cast<int>(Policy::stop) && value != name_of(static_cast<Policy>(i))) ++i;
    const auto policy = static_cast<Policy>(i);
    const bool is_known = policy <= Policy::stop &&
                          (policy != Policy::correct || guard->can_correct()) &&
                          (policy != Policy::off || guard->can_be_off());
    if (!is_known) refuse(guard->name(), value, policies_of(*guard));
    if (guard == &rails->distance() && policy != Policy::off && !rails->distance().is_possible())
        fail(SURROGATE_NOT_SUPPORTED,
             "option 'distance' is '" + value +
                 "', but the model's card has no statistics of pooled inputs (key `pooled`); "
                 "share/python/add_pooled.py puts them into a model file, from its training "
                 "samples");
    guard->set(policy);
    if (guard == &rails->drift() && policy == Policy::off) rails->drift().forget();
}

/// Parses a number, independent of the program's locale. Text behind the number is an error.
double number_of(const std::string& key, const std::string& value, const std::string& expected) {
    const char* const begin = value.c_str();
    char* end = nullptr;
    const double number = std::strtod(begin, &end);
    const bool is_plain = value.find_first_not_of("0123456789+-.eE") == std::string::npos;
    if (end == begin || *end != '\0' || !is_plain || !std::isfinite(number))
        refuse(key, value, expected);
    return number;
}

}  // namespace

void set_option(Rails* rails, Settings* settings, const char* key, const char* value) {
    require(key, "key");
    require(value, "value");
    const std::string name = key;
    if (const Rails::Rail* rail = rails->find(name)) return set_policy(rails, rail->guard, value);
    if (name == "range_max_fraction") {
        const std::string expected = "a fraction from 0 to 1";
        const double share = number_of(name, value, expected);
        if (!(share >= 0 && share <= 1)) refuse(name, value, expected);
        rails->range().set_share(share);
    } else if (name == "distance_factor") {
        const std::string expected = "a number above 0";
        const double factor = number_of(name, value, expected);
        if (!(factor > 0)) refuse(name, value, expected);
        rails->distance().set_factor(factor);
    } else if (name == "retry_after") {
        const std::string expected = "a whole number from 0 to 1e9";
        const double n = number_of(name, value, expected);
        if (!(n >= 0 && n <= 1e9 && n == std::floor(n))) refuse(name, value, expected);
        settings->retry_after = static_cast<int64_t>(n);
    } else if (name == "step_s") {
        const std::string expected = "0 or a time in seconds";
        const double step = number_of(name, value, expected);
        if (!(step >= 0)) refuse(name, value, expected);
        settings->step_s = step;
    } else {
        fail(SURROGATE_UNKNOWN_NAME,
             "no option '" + name + "' of a time loop (options: " + known_keys + ")");
    }
}

int64_t n_evaluation_of(const Settings& settings, double dt_s) {
    if (!(std::isfinite(dt_s) && dt_s > 0))
        fail(SURROGATE_INVALID_ARGUMENT,
             "the time step is " + std::to_string(dt_s) + " s, expected a number above 0");
    if (settings.step_s == 0) return 1;
    const double n = dt_s < settings.step_s * 1e9 ? std::round(dt_s / settings.step_s) : 0;
    // Decimal fractions such as 0.3 and 3 x 0.1 differ in their last bits.
    if (n < 1 || std::abs(dt_s - n * settings.step_s) > 1e-9 * dt_s)
        fail(SURROGATE_INVALID_ARGUMENT,
             "the time step is " + std::to_string(dt_s) + " s, expected a multiple of step_s = " +
                 std::to_string(settings.step_s) + " s, the time of one evaluation");
    return static_cast<int64_t>(n);
}

void write_fingerprint(const Rails& rails, const Fields& fields, const Settings& settings,
                       double dt_s, int64_t n_skip, double* slots) {
    uint64_t hash = 0;
    const auto mix = [&hash](uint64_t bits) {  // the finalizer of MurmurHash3
        hash = (hash ^ bits) + 0x9e3779b97f4a7c15;
        hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
        hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
        hash ^= hash >> 33;
    };
    mix(std::bit_cast<uint64_t>(dt_s));
    mix(std::bit_cast<uint64_t>(settings.step_s));
    mix(static_cast<uint64_t>(settings.retry_after));
    mix(static_cast<uint64_t>(n_skip));
    mix(std::bit_cast<uint64_t>(rails.range().share()));
    mix(std::bit_cast<uint64_t>(rails.distance().factor()));
    for (const Rails::Rail& rail : rails.rails()) mix(static_cast<uint64_t>(rail.guard->policy()));
    for (const Field& number : fields.numbers()) {
        for (int64_t row = 0; row < number.array.n_point(); ++row) {
            double value = 0;
            number.array.read(row, 1, &value);
            mix(std::bit_cast<uint64_t>(value));
        }
    }
    for (int i = 0; i < 4; ++i) {
        const auto piece = static_cast<double>((hash >> (16 * i)) & 0xffff);
        slots[2 * i] = piece;
        slots[2 * i + 1] = piece * piece;
    }
}

bool is_same_on_all(const double* sums, int32_t n_rank) {
    // The mean of the squares equals the square of the mean only if all numbers are equal. Products
    // are below 2^72, and for unequal numbers the two products differ by at least 1, so they are
    // compared as integers.
    bool is_same = true;
    for (int i = 0; i < 4; ++i) {
        __extension__ using Wide = unsigned __int128;
        const auto sum = static_cast<Wide>(sums[2 * i]),
                   squares = static_cast<Wide>(sums[2 * i + 1]);
        is_same &= squares * static_cast<Wide>(n_rank) == sum * sum;
    }
    return is_same;
}

}  // namespace surrogate::timeloop
