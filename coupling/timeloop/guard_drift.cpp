// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/guard_drift.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

/// Products of numbers up to this size are finite. The integral of a larger field is not usable.
constexpr double largest_size = 1e150;

/// Returns true if a number, which may be NaN, is at most `largest_size` in magnitude.
bool is_small(double value) {
    constexpr uint64_t without_sign = ~uint64_t{0} >> 1;
    return (std::bit_cast<uint64_t>(value) & without_sign) <= std::bit_cast<uint64_t>(largest_size);
}

/// Adds weight times value of up to n_chunk points to `sum`, and with `sizes` weight times |value|
/// to `sizes`. Returns the number of values that are too large.
int64_t add_terms(std::span<const double> values, const double* weights, ExactSum* sum,
                  ExactSum* sizes) {
    double terms[n_chunk];
    int64_t n_bad = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        const double weight = weights ? weights[i] : 1;
        const bool is_good = is_small(values[i]) && is_small(weight);
        terms[i] = is_good ? weight * values[i] : 0;
        n_bad += !is_good;
    }
    const auto n = static_cast<int64_t>(values.size());
    sum->add(terms, n);
    if (!sizes) return n_bad;
    for (size_t i = 0; i < values.size(); ++i) terms[i] = std::abs(terms[i]);
    sizes->add(terms, n);
    return n_bad;
}

}  // namespace

DriftGuard::DriftGuard(Fields* fields, const PointWeights* points)
    : Guard(Policy::warn), fields_(fields), points_(points) {}

const double* DriftGuard::weights_of(const Integral& integral) const {
    return integral.has_weights ? integral.weights.data() : points_->values();
}

void DriftGuard::declare(surrogate_context* context, const char* name, const char* field,
                         const double* weight, double tolerance) {
    // Ranks without points cannot pass weights.
    double has_weights = weight ? 1 : 0;
    require_success(surrogate_context_reduce(context, SURROGATE_MAX, 1, &has_weights));
    Integral integral{};
    agreed(context, [&] {
        require(name, "name");
        const std::string what = std::string("integral '") + name + "'";
        for (const Integral& other : integrals_) {
            if (other.expected.name == name)
                fail(SURROGATE_INVALID_ARGUMENT, what + " is declared already");
        }
        integral.output = fields_->output_of(field);
        for (const Integral& other : integrals_) {
            if (other.output == integral.output)
                fail(SURROGATE_INVALID_ARGUMENT, what + ": integral '" + other.expected.name +
                                                     "' keeps output '" + field + "' already");
        }
        if (!(tolerance >= 0) || std::isinf(tolerance))
            fail(SURROGATE_INVALID_ARGUMENT, what + ": tolerance is " + std::to_string(tolerance) +
                                                 ", expected 0 or a positive number");
        const int64_t n = points_->n_point();
        if (has_weights > 0 && !weight && n > 0)
            fail(SURROGATE_INVALID_ARGUMENT,
                 what + ": weight is NULL on this rank, and given on others");
        integral.expected.name = name;
        integral.tolerance = tolerance;
        integral.has_weights = has_weights > 0;
        if (integral.has_weights) integral.weights.assign(weight, weight + n);
        for (int64_t i = 0; i < std::ssize(integral.weights); ++i) {
            const double w = weight[i];
            const std::string where = what + ": the weight of local point " + std::to_string(i);
            if (!std::isfinite(w)) fail(SURROGATE_NOT_FINITE, where + " is not finite");
            if (w < 0 || w > largest_size)
                fail(SURROGATE_INVALID_ARGUMENT,
                     where + " is " + std::to_string(w) + ", expected 0 .. 1e150");
        }
        integrals_.reserve(integrals_.size() + 1);
    });
    if (integral.has_weights) {
        integral.total = sum_over_ranks(context, integral.weights.data(), points_->n_point());
        if (integral.total == 0)
            agreed(context, [&] {
                fail(SURROGATE_INVALID_ARGUMENT,
                     std::string("integral '") + name + "': all weights are 0");
            });
    }
    integrals_.push_back(std::move(integral));
}

void DriftGuard::add_source(const char* name, double amount) {
    require(name, "name");
    std::string known;
    for (Integral& integral : integrals_) {
        if (integral.expected.name == name) {
            if (!std::isfinite(amount))
                fail(SURROGATE_NOT_FINITE,
                     "the source of integral '" + integral.expected.name + "' is not finite");
            integral.source += amount;
            return;
        }
        known += (known.empty() ? "" : ", ") + integral.expected.name;
    }
    fail(SURROGATE_UNKNOWN_NAME,
         "no integral '" + std::string(name) +
             "' is declared (integrals: " + (known.empty() ? "none" : known) + ")");
}

void DriftGuard::require_weights() const {
    for (const Integral& integral : integrals_) {
        if (!integral.has_weights || std::ssize(integral.weights) == points_->n_point()) continue;
        fail(SURROGATE_SHAPE,
             "integral '" + integral.expected.name + "' has weights of " +
                 std::to_string(integral.weights.size()) + " points, the output domain now has " +
                 std::to_string(points_->n_point()) + "; weights of the domain follow its points");
    }
}

bool DriftGuard::needs_values() const {
    return policy() != Policy::off && std::ranges::any_of(integrals_, [](const Integral& integral) {
               return !integral.expected.is_known;
           });
}

int64_t DriftGuard::n_value() const {
    return std::ssize(integrals_) * (2 * ExactSum::n_limb + 1);
}

void DriftGuard::write_values(double* sums) {
    for (Integral& integral : integrals_) {
        const Field& field = fields_->outputs()[integral.output];
        const double* const weights = weights_of(integral);
        double values[n_chunk];
        ExactSum sizes;
        int64_t n_bad = 0;
        integral.sum.clear();
        for (int64_t first = 0; first < field.n(); first += n_chunk) {
            const int64_t n = std::min(n_chunk, field.n() - first);
            field.array.read(first, n, values);
            n_bad += add_terms({values, static_cast<size_t>(n)},
                               weights ? weights + first : nullptr, &integral.sum, &sizes);
        }
        *sums++ = static_cast<double>(n_bad);
        integral.sum.write(sums);
        sizes.write(sums + ExactSum::n_limb);
        sums += 2 * ExactSum::n_limb;
    }
}

void DriftGuard::take_values(const double* sums) {
    for (Integral& integral : integrals_) {
        ExpectedIntegral& expected = integral.expected;
        if (!expected.is_known && sums[0] == 0) {
            expected.value = ExactSum::value(sums + 1);
            expected.scale = ExactSum::value(sums + 1 + ExactSum::n_limb);
            expected.is_known = true;
        }
        sums += 2 * ExactSum::n_limb + 1;
    }
}

void DriftGuard::begin() {
    for (Integral& integral : integrals_) {
        integral.sum.clear();
        integral.n_bad = 0;
        integral.shift = 0;
    }
}

void DriftGuard::look_at_output(size_t field, int64_t first, std::span<double> values) {
    for (Integral& integral : integrals_) {
        if (integral.output != field) continue;
        const double* const weights = weights_of(integral);
        integral.n_bad +=
            add_terms(values, weights ? weights + first : nullptr, &integral.sum, nullptr);
    }
}

int64_t DriftGuard::n_sum() const {
    return std::ssize(integrals_) * (ExactSum::n_limb + 1);
}

void DriftGuard::write_sums(double* sums) {
    for (Integral& integral : integrals_) {
        *sums = static_cast<double>(integral.n_bad);
        integral.sum.write(sums + 1);
        sums += ExactSum::n_limb + 1;
    }
}

Finding DriftGuard::judge(Integral* integral, const double* sums) const {
    const ExpectedIntegral& expected = integral->expected;
    if (!expected.is_known) return {};
    const bool has_sum = sums[0] == 0;
    const double target = expected.value + progress_ * integral->source;
    const double change =
        has_sum ? ExactSum::value(sums + 1) - target : std::numeric_limits<double>::infinity();
    const double limit = integral->tolerance * expected.scale;
    if (std::abs(change) <= limit) return {};
    const double total = integral->has_weights ? integral->total : total_;
    // A correction that is larger than the field itself would replace the field.
    const bool is_correctable = has_sum && std::abs(change) <= expected.scale &&
                                std::abs(change) <= largest_size * std::min(total, 1.0) &&
                                total > 0;
    Finding finding;
    finding.action = policy() == Policy::correct && !is_correctable ? Policy::fallback : policy();
    finding.field = expected.name.c_str();
    finding.value = change;
    finding.limit = limit;
    if (finding.action == Policy::correct) integral->shift = -change / total;
    return finding;
}

Finding DriftGuard::judge(const double* sums) {
    Finding worst;
    for (Integral& integral : integrals_) {
        const Finding finding = judge(&integral, sums);
        if (finding.action > worst.action) worst = finding;
        sums += ExactSum::n_limb + 1;
    }
    return worst;
}

void DriftGuard::correct() {
    for (const Integral& integral : integrals_) {
        if (integral.shift == 0) continue;
        Field& field = fields_->outputs()[integral.output];
        const bool is_single = field.array.is_single();
        for (double& value : field.work) {
            value += integral.shift;
            if (is_single) value = as_single(value);
        }
    }
}

void DriftGuard::accept() {
    for (Integral& integral : integrals_) {
        integral.expected.value += integral.source;
        integral.source = 0;
    }
}

void DriftGuard::forget() {
    for (Integral& integral : integrals_) {
        integral.expected.is_known = false;
        integral.source = 0;
    }
}

void DriftGuard::save(std::vector<ExpectedIntegral>* expected) const {
    expected->resize(integrals_.size());
    for (size_t i = 0; i < integrals_.size(); ++i) (*expected)[i] = integrals_[i].expected;
}

void DriftGuard::load(const std::vector<ExpectedIntegral>& expected) {
    for (size_t i = 0; i < integrals_.size(); ++i) {
        integrals_[i].expected = expected[i];
        integrals_[i].source = 0;
    }
}

void DriftGuard::describe(const Finding& finding, char* text, size_t size) const {
    const bool is_too_large = policy() == Policy::correct && finding.action == Policy::fallback;
    std::snprintf(text, size, "drift (%s): integral '%s' changed by %.6g (limit %.6g)%s",
                  name_of(finding.action), finding.field, finding.value, finding.limit,
                  is_too_large ? "; a correction would be larger than the field itself" : "");
}

}  // namespace surrogate::timeloop
