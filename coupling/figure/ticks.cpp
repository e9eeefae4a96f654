// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/ticks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace surrogate::vtk {

namespace {

/// Returns the smallest of 1, 2, 5 times a power of ten that is not below `value` > 0.
double round_up(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= value * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

}  // namespace

double round_down(double value) {
    const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
    for (const double factor : {5.0, 2.0})
        if (factor * power <= value * (1 + 1e-9)) return factor * power;
    return power;
}

std::vector<double> linear_ticks(double low, double high, int most, double least_step) {
    std::vector<double> ticks;
    if (!(high > low) || most < 1) return ticks;
    const double step = std::max(round_up((high - low) / most), least_step);
    const double room = 1e-9 * step;
    for (double k = std::ceil((low - room) / step); k * step <= high + room; ++k) {
        ticks.push_back(k == 0 ? 0 : k * step);                   // not -0
        if (ticks.size() > 2 * static_cast<size_t>(most)) break;  // k + 1 equals k
    }
    return ticks;
}

std::vector<double> log_ticks(double low, double high) {
    const double decades = std::log10(high / low);
    std::vector<double> factors = {1};
    if (decades < 4) factors = {1, 2, 5};
    if (decades < 1) factors = {1, 1.5, 2, 3, 4, 5, 6, 8};
    std::vector<double> ticks;
    const int first = static_cast<int>(std::floor(std::log10(low)));
    const int last = static_cast<int>(std::ceil(std::log10(high)));
    for (int power = first; power <= last; ++power)
        for (const double factor : factors) {
            const double tick = factor * std::pow(10, power);
            if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
        }
    return ticks;
}

std::string tick_text(double value) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return text.data();
}

}  // namespace surrogate::vtk
