// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/rails.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace surrogate::timeloop {

const char* name_of(Policy policy) {
    constexpr const char* names[] = {"off", "warn", "correct", "fallback", "stop"};
    return names[static_cast<size_t>(policy)];
}

Rails::Rails(const surrogate_plan* plan, const surrogate_model* model, Fields* fields,
             PointWeights* inputs, PointWeights* outputs)
    : fields_(fields),
      inputs_(inputs),
      outputs_(outputs),
      finite_(fields, inputs, outputs),
      range_(fields, plan, model, inputs),
      distance_(fields, model, inputs),
      bounds_(fields, model, outputs),
      drift_(fields, outputs) {
    Guard* const guards[] = {&range_, &distance_, &finite_, &bounds_, &drift_};
    for (size_t i = 0; i < rails_.size(); ++i) rails_[i].guard = guards[i];
}

const Rails::Rail* Rails::find(const std::string& name) const {
    const auto found =
        std::ranges::find_if(rails_, [&](const Rail& rail) { return name == rail.guard->name(); });
    return found == rails_.end() ? nullptr : &*found;
}

void Rails::begin_step() {
    for (Rail& rail : rails_) rail.last = {};
    found_ = {};
}

/// Counts values that are not finite first, and corrects ranges before the distance is computed.
void Rails::look_at_inputs(bool is_again) {
    for (const Rail& rail : rails_) rail.guard->begin();
    const std::array<Guard*, 3> guards = {&finite_, &range_, &distance_};
    for (size_t f = 0; f < fields_->inputs().size(); ++f) {
        Field& field = fields_->inputs()[f];
        for (int64_t first = 0; first < field.n(); first += n_chunk) {
            const int64_t n = std::min(n_chunk, field.n() - first);
            fields_->read(f, is_again, first, n);
            const std::span<double> values(field.work.data() + first, static_cast<size_t>(n));
            for (Guard* guard : guards) {
                if (is_active(*guard)) guard->look_at_input(f, first, values);
            }
        }
    }
}

void Rails::look_at_outputs() {
    const std::array<Guard*, 3> guards = {&finite_, &bounds_, &drift_};
    for (size_t f = 0; f < fields_->outputs().size(); ++f) {
        Field& field = fields_->outputs()[f];
        for (int64_t first = 0; first < field.n(); first += n_chunk) {
            const int64_t n = std::min(n_chunk, field.n() - first);
            const std::span<double> values(field.work.data() + first, static_cast<size_t>(n));
            if (field.array.is_single()) std::ranges::transform(values, values.begin(), as_single);
            for (Guard* guard : guards) {
                if (is_active(*guard)) guard->look_at_output(f, first, values);
            }
        }
    }
}

int64_t Rails::n_sum() const {
    int64_t n = inputs_->n_sum() + outputs_->n_sum();
    for (const Rail& rail : rails_) n += rail.guard->n_sum();
    return n;
}

void Rails::write_sums(double* sums) {
    inputs_->write_sums(sums);
    sums += inputs_->n_sum();
    outputs_->write_sums(sums);
    sums += outputs_->n_sum();
    for (const Rail& rail : rails_) {
        rail.guard->write_sums(sums);
        sums += rail.guard->n_sum();
    }
}

Policy Rails::judge(const double* sums, bool only_inputs) {
    distance_.set_total(inputs_->total(sums));
    sums += inputs_->n_sum();
    drift_.set_total(outputs_->total(sums));
    sums += outputs_->n_sum();
    Policy action = Policy::off;
    for (size_t i = 0; i < rails_.size(); ++i) {
        Guard& guard = *rails_[i].guard;
        const bool is_asked = is_active(guard) && (!only_inputs || i < n_input_guard);
        found_[i] = is_asked ? guard.judge(sums) : Finding{};
        action = std::max(action, found_[i].action);
        sums += guard.n_sum();
    }
    return action;
}

bool Rails::rejects_inputs() const {
    const Finding &outside = found_[0], &far = found_[1], &not_finite = found_[2];
    return outside.action >= Policy::fallback || far.action >= Policy::fallback ||
           (not_finite.action >= Policy::fallback && FiniteGuard::is_of_input(not_finite));
}

int64_t Rails::n_worst() const {
    int64_t n = 0;
    for (const Rail& rail : rails_) n += rail.guard->n_worst();
    return n;
}

void Rails::write_worst(double* worst) const {
    for (const Rail& rail : rails_) {
        rail.guard->write_worst(worst);
        worst += rail.guard->n_worst();
    }
}

void Rails::complete(const double* worst) {
    for (size_t i = 0; i < rails_.size(); ++i) {
        const Guard& guard = *rails_[i].guard;
        if (found_[i].has_spoken()) guard.complete(worst, &found_[i]);
        worst += guard.n_worst();
    }
}

bool Rails::keep(Rail* rail, const Finding& found) {
    const bool is_first = rail->n_violations == 0;
    if (!rail->last.has_spoken()) ++rail->n_violations;
    rail->last = found;
    const auto size = [](const Finding& finding) {
        return finding.fraction > 0 ? finding.fraction : std::abs(finding.value);
    };
    if (!rail->worst.has_spoken() || size(found) > size(rail->worst)) rail->worst = found;
    return is_first;
}

std::string Rails::reason() const {
    std::string text;
    for (const Rail& rail : rails_) {
        if (!rail.last.has_spoken()) continue;
        char line[512];
        rail.guard->describe(rail.last, line, sizeof line);
        text += std::string(line) + "\n";
    }
    return text;
}

std::string Rails::table() const {
    std::string text = "  guard     policy    steps  worst\n";
    for (const Rail& rail : rails_) {
        char line[512], worst[384] = "";
        if (rail.worst.has_spoken()) rail.guard->describe(rail.worst, worst, sizeof worst);
        const char* const found = std::strstr(worst, ": ");
        std::snprintf(line, sizeof line, "  %-9s %-9s %5lld  %s\n", rail.guard->name(),
                      name_of(rail.guard->policy()), static_cast<long long>(rail.n_violations),
                      found ? found + 2 : "-");
        text += line;
    }
    return text;
}

}  // namespace surrogate::timeloop
