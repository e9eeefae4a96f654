// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_TIMELOOP_HPP
#define SURROGATE_TIMELOOP_HPP

// The C interface of surrogate_timeloop.h as an owner and exceptions; header-only, C++17. Guards,
// outcomes, collectivity and errors are documented there. A call that fails throws
// surrogate::Error.
//
//     surrogate::TimeLoop loop(plan);
//     loop.set("range", "fallback");
//     loop.bind("height", surrogate::column(height.data(), n), "m");
//     loop.set_fallback([&](double time_s, double dt_s) { my_step(dt_s); });
//     while (loop.time() < end) loop.step(dt_s);

#include <surrogate/surrogate_timeloop.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <utility>

namespace surrogate {

/// SURROGATE_STEP_ACCEPTED and its siblings.
enum class StepOutcome : int32_t {
    accepted = SURROGATE_STEP_ACCEPTED,
    corrected = SURROGATE_STEP_CORRECTED,
    fallback = SURROGATE_STEP_FALLBACK,
    rejected = SURROGATE_STEP_REJECTED,
    stopped = SURROGATE_STEP_STOPPED
};

/// A surrogate in a solver's time loop. The plan must live as long as the loop.
class TimeLoop {
public:
    /// The solver's own step: the state at time_s by dt_s. What it throws on any rank is an error
    /// of TimeLoop::step on all of them; on that rank it is thrown again as it was.
    using Fallback = std::function<void(double time_s, double dt_s)>;

    explicit TimeLoop(Plan& plan)
        : fallback_(std::make_unique<Own>()),
          loop_(detail::made<surrogate_timeloop>([&](surrogate_timeloop** loop) {
              return surrogate_timeloop_create(plan.get(), loop);
          })) {}

    void set(const std::string& key, const std::string& value) {
        check(surrogate_timeloop_set(get(), key.c_str(), value.c_str()));
    }
    void set_log(surrogate_log_function log, void* user) {
        check(surrogate_timeloop_set_log(get(), log, user));
    }

    void bind(const char* name, const surrogate_array& array, const char* unit = nullptr) {
        check(surrogate_timeloop_bind(get(), name, unit, &array));
    }
    void bind(const char* name, const surrogate_block& block, const char* unit = nullptr) {
        check(surrogate_timeloop_bind_block(get(), name, unit, &block));
    }
    void bind_state(const char* name, const surrogate_array& array, const char* unit = nullptr) {
        check(surrogate_timeloop_bind_state(get(), name, unit, &array));
    }
    void bind_state(const char* name, const surrogate_block& block, const char* unit = nullptr) {
        check(surrogate_timeloop_bind_state_block(get(), name, unit, &block));
    }
    void unbind() { check(surrogate_timeloop_unbind(get())); }
    void connect(const char* output, const char* input) {
        check(surrogate_timeloop_connect(get(), output, input));
    }

    void set_bounds(const char* output, double min, double max) {
        check(surrogate_timeloop_set_bounds(get(), output, min, max));
    }
    void conserve(const char* name, const char* field, double tolerance,
                  const double* weight = nullptr) {
        check(surrogate_timeloop_conserve(get(), name, field, weight, tolerance));
    }
    void add_source(const char* name, double amount) {
        check(surrogate_timeloop_add_source(get(), name, amount));
    }

    /// An empty function: steps are rejected instead.
    void set_fallback(Fallback step) {
        fallback_->step = std::move(step);
        check(surrogate_timeloop_set_fallback(get(), fallback_->step ? &call : nullptr,
                                              fallback_.get()));
    }

    StepOutcome step(double dt_s) {
        int32_t outcome = 0;
        check_own(surrogate_timeloop_step(get(), dt_s, &outcome));
        return static_cast<StepOutcome>(outcome);
    }
    /// Takes part in a step that this rank cannot make; throws.
    void step_with_error(surrogate_status status, const char* text) {
        check(surrogate_timeloop_step_with_error(get(), status, text));
    }
    /// Returns the outcome of the last step tried; n_done (may be null): steps made.
    StepOutcome rollout(int64_t n_step, double dt_s, int64_t* n_done = nullptr) {
        int32_t outcome = 0;
        check_own(surrogate_timeloop_rollout(get(), n_step, dt_s, n_done, &outcome));
        return static_cast<StepOutcome>(outcome);
    }
    void advance(double dt_s) { check(surrogate_timeloop_advance(get(), dt_s)); }

    double time() const {
        double time_s = 0;
        check(surrogate_timeloop_time(get(), &time_s, nullptr));
        return time_s;
    }
    int64_t n_step() const {
        int64_t step = 0;
        check(surrogate_timeloop_time(get(), nullptr, &step));
        return step;
    }
    void set_time(double time_s, int64_t step) {
        check(surrogate_timeloop_set_time(get(), time_s, step));
    }

    void snapshot() { check(surrogate_timeloop_snapshot(get())); }
    void rollback() { check(surrogate_timeloop_rollback(get())); }
    void save(const std::string& path) { check(surrogate_timeloop_save(get(), path.c_str())); }
    void restore(const std::string& path) {
        check(surrogate_timeloop_restore(get(), path.c_str()));
    }

    std::string reason() const { return detail::text_of(get(), surrogate_timeloop_reason); }
    std::string report() const { return detail::text_of(get(), surrogate_timeloop_report); }
    surrogate_guard_info guard(const char* name) const {
        surrogate_guard_info info{};
        check(surrogate_timeloop_guard(get(), name, &info));
        return info;
    }
    int64_t counter(const char* key) const {
        int64_t value = 0;
        check(surrogate_timeloop_counter(get(), key, &value));
        return value;
    }

    surrogate_timeloop* get() const { return loop_.get(); }

private:
    struct Own {
        Fallback step;
        std::exception_ptr thrown;
    };

    /// No exception passes through C: it waits until the ranks have heard of it.
    static surrogate_status call(void* user, double time_s, double dt_s) {
        Own* const own = static_cast<Own*>(user);
        try {
            own->step(time_s, dt_s);
            return SURROGATE_SUCCESS;
        } catch (const Error& error) {
            own->thrown = std::current_exception();
            return error.status();
        } catch (const std::exception& error) {
            own->thrown = std::current_exception();
            return surrogate_context_fail(nullptr, SURROGATE_CALLBACK, error.what());
        } catch (...) {
            own->thrown = std::current_exception();
            return surrogate_context_fail(nullptr, SURROGATE_CALLBACK,
                                          "an exception that is not a std::exception");
        }
    }
    void check_own(surrogate_status status) {
        if (std::exception_ptr thrown = std::exchange(fallback_->thrown, nullptr))
            std::rethrow_exception(thrown);
        check(status);
    }

    std::unique_ptr<Own> fallback_;
    detail::Owner<surrogate_timeloop, surrogate_timeloop_destroy> loop_;
};

}  // namespace surrogate

#endif
