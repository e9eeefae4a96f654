// SPDX-License-Identifier: Apache-2.0
#include "coupling/case/check_outcome.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surrogate::tool {

namespace {

double largest_truth(const Evidence& evidence) {
    double largest = 0;
    for (size_t i = 0; i < evidence.n; ++i)
        largest = std::max(largest, std::abs(evidence.truth(i)));
    return largest;
}

/// See CheckOutcome. Numbers are scaled by a power of two before they are squared. The scaling is
/// exact, and squares neither overflow nor underflow.
template <class T>
double distance(const T* a, const Evidence& evidence, double largest) {
    const bool is_absolute = largest == 0;
    const int exponent = is_absolute ? 0 : std::ilogb(largest);
    double error = 0, norm = 0;
    for (size_t i = 0; i < evidence.n; ++i) {
        const double truth = std::ldexp(evidence.truth(i), -exponent);
        const double difference = std::ldexp(static_cast<double>(a[i]), -exponent) - truth;
        error += difference * difference;
        norm += truth * truth;
    }
    if (is_absolute) norm = static_cast<double>(evidence.n);
    return std::sqrt(error) / std::sqrt(norm);
}

double largest_difference(const Evidence& evidence, const double* y) {
    double largest = 0;
    for (size_t i = 0; i < evidence.n; ++i) {
        const double difference = std::abs(y[i] - evidence.truth(i));
        if (std::isnan(difference)) return difference;
        largest = std::max(largest, difference);
    }
    return largest;
}

}  // namespace

CheckOutcome judge(const Evidence& evidence, const double* y, const Bound& bound) {
    const bool has_both = evidence.official != nullptr && evidence.exact != nullptr;
    const double largest = largest_truth(evidence);
    CheckOutcome outcome;
    outcome.is_absolute = largest == 0;
    outcome.relative_l2 = distance(y, evidence, largest);
    outcome.official_relative_l2 = has_both ? distance(evidence.official, evidence, largest)
                                            : std::numeric_limits<double>::quiet_NaN();
    outcome.is_contradictory =
        has_both && !(outcome.official_relative_l2 <= largest_official_error);
    outcome.bound = bound(evidence.is_double(), outcome.official_relative_l2);
    outcome.max_abs = largest_difference(evidence, y);
    outcome.is_passed = !outcome.is_contradictory && outcome.relative_l2 <= outcome.bound;
    return outcome;
}

}  // namespace surrogate::tool
