// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/loop.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "coupling/timeloop/error.hpp"
#include "coupling/timeloop/plan_parts.hpp"

namespace surrogate::timeloop {

namespace {

bool agrees(const surrogate_plan* plan) {
    char value[16] = "";
    int64_t size = sizeof value;
    require_success(surrogate_plan_option(plan, "agree", value, &size));
    return std::strcmp(value, "true") == 0;
}

}  // namespace

Loop::Loop(surrogate_context* context, surrogate_plan* plan) : context_(context), plan_(plan) {
    agreed(context_, [&] {
        model_.emplace(model_of(plan_));
        input_.emplace(domain_of(plan_, false));
        output_.emplace(domain_of(plan_, true));
        require_success(surrogate_context_rank(context_, &rank_, &n_rank_));
        agrees_ = agrees(plan_);
        fields_.emplace(plan_, model_->get());
        state_.emplace(&*fields_);
    });
    input_points_.emplace(context_, model_->get(), *input_, false);
    output_points_.emplace(context_, model_->get(), *output_, true);
    agreed(context_, [&] {
        rails_.emplace(plan_, model_->get(), &*fields_, &*input_points_, &*output_points_);
        sums_.resize(static_cast<size_t>(1 + n_fingerprint + rails_->n_sum()));
        worst_.resize(static_cast<size_t>(rails_->n_worst()));
    });
}

void Loop::set(const char* key, const char* value) {
    // The old name is from version 0.1.
    const bool is_old = key && std::string_view(key) == "range_share";
    set_option(&*rails_, &settings_, is_old ? "range_max_fraction" : key, value);
    if (is_old && log_)
        log_(log_user_,
             "option 'range_share' is now called 'range_max_fraction'; the old name ends with "
             "version 0.3\n");
}

void Loop::set_log(surrogate_log_function log, void* user) {
    log_ = rank_ == 0 ? log : nullptr;
    log_user_ = user;
}

void Loop::set_fallback(surrogate_fallback_function own_step, void* user) {
    fallback_ = own_step;
    fallback_user_ = user;
}

void Loop::set_time(double time, int64_t number) {
    if (!std::isfinite(time))
        fail(SURROGATE_INVALID_ARGUMENT,
             "time is " + std::to_string(time) + " s, expected a finite number");
    if (number < 0)
        fail(SURROGATE_INVALID_ARGUMENT,
             "the step number is " + std::to_string(number) + ", expected 0 or more");
    time_s_ = time;
    step_ = number;
}

void Loop::unbind() {
    ++n_bind_;
    fields_->unbind();
}

void Loop::feed(const char* output, const char* input) {
    ++n_bind_;
    fields_->feed(output, input);
}

/// Allocates the space of the sums first, so that steps do not allocate.
void Loop::conserve(const char* name, const char* field, const double* weight, double tolerance) {
    agreed(context_, [&] {
        output_points_->refresh();
        const int64_t more = 2 * ExactSum::n_limb + 1;
        const int64_t n_step = 1 + n_fingerprint + rails_->n_sum() + more;
        const int64_t n_take = 1 + rails_->drift().n_value() + more;
        sums_.resize(static_cast<size_t>(std::max(n_step, n_take)));
    });
    rails_->drift().declare(context_, name, field, weight, tolerance);
    ++n_bind_;
}

void Loop::time_goes_on(double dt_s) {
    time_s_ += dt_s;
    ++step_;
    ++counters_.steps;
}

void Loop::advance(double dt_s) {
    if (!(std::isfinite(dt_s) && dt_s > 0))
        fail(SURROGATE_INVALID_ARGUMENT,
             "the time step is " + std::to_string(dt_s) + " s, expected a number above 0");
    time_goes_on(dt_s);
    rails_->drift().forget();
}

void Loop::log_rail(const Rails::Rail& rail) const noexcept {
    if (!log_) return;
    char found[512], line[640];
    rail.guard->describe(rail.last, found, sizeof found);
    std::snprintf(line, sizeof line, "time loop, step %lld, %.6g s: %s\n",
                  static_cast<long long>(step_), time_s_, found);
    log_(log_user_, line);
}

std::string Loop::reason() const {
    if (is_skipped_)
        return "solver step (retry_after, " + std::to_string(n_skip_) + " steps left)\n";
    return rails_->reason();
}

const int64_t* Counters::find(const std::string& key) const {
    const struct {
        const char* key;
        const int64_t* value;
    } all[] = {{"steps", &steps},
               {"evaluations", &evaluations},
               {"accepted", &accepted},
               {"corrected", &corrected},
               {"fallback", &fallback},
               {"rejected", &rejected},
               {"stopped", &stopped},
               {"skipped", &skipped},
               {"snapshots", &snapshots},
               {"rollbacks", &rollbacks},
               {"saves", &saves},
               // Names of version 0.1.
               {"replaced", &fallback},
               {"marks", &snapshots},
               {"rewinds", &rollbacks}};
    for (const auto& counter : all) {
        if (key == counter.key) return counter.value;
    }
    return nullptr;
}

std::string Loop::report() const {
    char head[512];
    const auto number = [](int64_t value) { return static_cast<long long>(value); };
    std::snprintf(head, sizeof head,
                  "time loop: %lld steps, %lld evaluations, time %.10g s, step %lld\n"
                  "  accepted %lld, corrected %lld, fallback %lld, rejected %lld, stopped %lld, "
                  "skipped %lld\n",
                  number(counters_.steps), number(counters_.evaluations), time_s_, number(step_),
                  number(counters_.accepted), number(counters_.corrected),
                  number(counters_.fallback), number(counters_.rejected), number(counters_.stopped),
                  number(counters_.skipped));
    return head + rails_->table();
}

void Loop::log_report() const noexcept {
    if (!log_) return;
    try {
        log_(log_user_, report().c_str());
    } catch (...) {  // without memory the report is omitted
    }
}

}  // namespace surrogate::timeloop
