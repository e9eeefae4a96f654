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

/// Outcomes of a step.
enum class StepOutcome : int32_t {
    accepted = SURROGATE_STEP_ACCEPTED,    ///< the surrogate's step
    corrected = SURROGATE_STEP_CORRECTED,  ///< the surrogate's step, corrected by a guard
    fallback = SURROGATE_STEP_FALLBACK,    ///< the step of the fallback function
    rejected = SURROGATE_STEP_REJECTED,    ///< no step: the caller makes it
    stopped = SURROGATE_STEP_STOPPED       ///< no step: a guard with policy stop has triggered
};

/// A surrogate in a solver's time loop. The plan must live as long as the loop.
class TimeLoop {
public:
    /// Function that makes the solver's own step: advances the state at time_s by dt_s. An
    /// exception on any rank is an error of TimeLoop::step() on all ranks; on its own rank it is
    /// thrown again.
    using Fallback = std::function<void(double time_s, double dt_s)>;

    /// Creates a loop around a plan, at time 0 and step 0. Collective; see
    /// surrogate_timeloop_create.
    explicit TimeLoop(Plan& plan)
        : fallback_(std::make_unique<Own>()),
          loop_(detail::made<surrogate_timeloop>([&](surrogate_timeloop** loop) {
              return surrogate_timeloop_create(plan.get(), loop);
          })) {}

    /// Sets an option. Collective; see surrogate_timeloop_set.
    void set(const std::string& key, const std::string& value) {
        check(surrogate_timeloop_set(get(), key.c_str(), value.c_str()));
    }
    /// Sets the function that receives the lines of guards; null: no log. See
    /// surrogate_timeloop_set_log.
    void set_log(surrogate_log_function log, void* user) {
        check(surrogate_timeloop_set_log(get(), log, user));
    }

    /// Binds a field to an array; unit null: not checked. See surrogate_timeloop_bind.
    void bind(const char* name, const surrogate_array& array, const char* unit = nullptr) {
        check(surrogate_timeloop_bind(get(), name, unit, &array));
    }
    /// Binds one number for all clouds to an input of role SURROGATE_CLOUD. Steps read the
    /// variable.
    void bind(const char* name, const double& value, const char* unit = nullptr) {
        bind(name, column(&value, 1), unit);
    }
    /// Rejects a temporary: steps read the variable, which must outlive the call.
    void bind(const char*, const double&&, const char* = nullptr) = delete;
    /// Binds a field to a strided block; see surrogate_timeloop_bind_block.
    void bind(const char* name, const surrogate_block& block, const char* unit = nullptr) {
        check(surrogate_timeloop_bind_block(get(), name, unit, &block));
    }
    /// Adds an array of the solver to the state; see surrogate_timeloop_bind_state.
    void bind_state(const char* name, const surrogate_array& array, const char* unit = nullptr) {
        check(surrogate_timeloop_bind_state(get(), name, unit, &array));
    }
    /// Adds a strided block of the solver to the state; see surrogate_timeloop_bind_state_block.
    void bind_state(const char* name, const surrogate_block& block, const char* unit = nullptr) {
        check(surrogate_timeloop_bind_state_block(get(), name, unit, &block));
    }
    /// Removes the bindings of all fields; see surrogate_timeloop_unbind.
    void unbind() { check(surrogate_timeloop_unbind(get())); }
    /// Connects an output to an input of the next evaluation; see surrogate_timeloop_connect.
    void connect(const char* output, const char* input) {
        check(surrogate_timeloop_connect(get(), output, input));
    }

    /// Sets the bounds of an output; -inf, inf: none. See surrogate_timeloop_set_bounds.
    void set_bounds(const char* output, double min, double max) {
        check(surrogate_timeloop_set_bounds(get(), output, min, max));
    }
    /// Declares an integral that steps must conserve; weight: [n_local] or null. Collective; see
    /// surrogate_timeloop_conserve.
    void conserve(const char* name, const char* field, double tolerance,
                  const double* weight = nullptr) {
        check(surrogate_timeloop_conserve(get(), name, field, weight, tolerance));
    }
    /// Declares a known change of an integral in the next step; see surrogate_timeloop_add_source.
    void add_source(const char* name, double amount) {
        check(surrogate_timeloop_add_source(get(), name, amount));
    }

    /// Sets the function that makes the solver's own step; an empty function: steps are rejected.
    void set_fallback(Fallback step) {
        fallback_->step = std::move(step);
        check(surrogate_timeloop_set_fallback(get(), fallback_->step ? &call : nullptr,
                                              fallback_.get()));
    }

    /// Makes one step of dt_s seconds. Collective; see surrogate_timeloop_step.
    StepOutcome step(double dt_s) {
        int32_t outcome = 0;
        check_own(surrogate_timeloop_step(get(), dt_s, &outcome));
        return static_cast<StepOutcome>(outcome);
    }
    /// Takes part in a step that this rank cannot make, and throws. Collective; see
    /// surrogate_timeloop_step_with_error.
    void step_with_error(surrogate_status status, const char* text) {
        check(surrogate_timeloop_step_with_error(get(), status, text));
    }
    /// Makes up to n_step steps, and returns the outcome of the last one tried. n_done (may be
    /// null) receives the number of steps made. Collective; see surrogate_timeloop_rollout.
    StepOutcome rollout(int64_t n_step, double dt_s, int64_t* n_done = nullptr) {
        int32_t outcome = 0;
        check_own(surrogate_timeloop_rollout(get(), n_step, dt_s, n_done, &outcome));
        return static_cast<StepOutcome>(outcome);
    }
    /// Reports a step of dt_s seconds that the caller has made itself. Collective; see
    /// surrogate_timeloop_advance.
    void advance(double dt_s) { check(surrogate_timeloop_advance(get(), dt_s)); }

    /// Returns the current time in s.
    double time() const {
        double time_s = 0;
        check(surrogate_timeloop_time(get(), &time_s, nullptr));
        return time_s;
    }
    /// Returns the step number.
    int64_t n_step() const {
        int64_t step = 0;
        check(surrogate_timeloop_time(get(), nullptr, &step));
        return step;
    }
    /// Sets time in s and step number, the same on all ranks.
    void set_time(double time_s, int64_t step) {
        check(surrogate_timeloop_set_time(get(), time_s, step));
    }

    /// Stores the state in memory. Collective; see surrogate_timeloop_snapshot.
    void snapshot() { check(surrogate_timeloop_snapshot(get())); }
    /// Restores the state of the last snapshot. Collective; see surrogate_timeloop_rollback.
    void rollback() { check(surrogate_timeloop_rollback(get())); }
    /// Writes a checkpoint. Collective; see surrogate_timeloop_save.
    void save(const std::string& path) { check(surrogate_timeloop_save(get(), path.c_str())); }
    /// Reads a checkpoint. Collective; see surrogate_timeloop_restore.
    void restore(const std::string& path) {
        check(surrogate_timeloop_restore(get(), path.c_str()));
    }

    /// Returns one line per guard that triggered in the last step; see surrogate_timeloop_reason.
    std::string reason() const { return detail::text_of(get(), surrogate_timeloop_reason); }
    /// Returns a table of the run so far; see surrogate_timeloop_report.
    std::string report() const { return detail::text_of(get(), surrogate_timeloop_report); }
    /// Returns the result of a guard in the last step; see surrogate_timeloop_guard.
    surrogate_guard_info guard(const char* name) const {
        surrogate_guard_info info{};
        check(surrogate_timeloop_guard(get(), name, &info));
        return info;
    }
    /// Returns a counter; see surrogate_timeloop_counter.
    int64_t counter(const char* key) const {
        int64_t value = 0;
        check(surrogate_timeloop_counter(get(), key, &value));
        return value;
    }

    /// Returns the handle of the C interface, borrowed.
    surrogate_timeloop* get() const { return loop_.get(); }

private:
    struct Own {
        Fallback step;
        std::exception_ptr thrown;
    };

    /// Calls the function without letting an exception pass through C. The exception is thrown
    /// again after all ranks have its status.
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
