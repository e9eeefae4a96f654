// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/plan_probe.hpp"

#include <pthread.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <surrogate/surrogate.hpp>
#include <thread>
#include <vector>

#include "coupling/job/weighted_model.hpp"
#include "coupling/tool/memory_budget.hpp"

namespace surrogate::tool {

namespace {

constexpr size_t n_trial_axes = 8;  // the maximum of a domain
bool is_work_left = false;

enum class Outcome { passed, too_large, out_of_memory };

/// Shared by the working thread and the waiting thread; the last of them frees it.
struct Trial {
    std::mutex mutex;
    std::condition_variable is_over;
    bool has_ended = false;
    Outcome outcome = Outcome::passed;
};

Domain whole_grid(const Context& context, const surrogate_domain_info& grid) {
    surrogate_sphere sphere{};
    sphere.grid = grid.grid;
    sphere.n_lat = sphere.n_lat_local = grid.n_lat;
    sphere.n_lon = sphere.n_lon_local = grid.n_lon;
    return Domain(context, sphere);
}

void plan(const std::string& file, int64_t n_point) {
    const Context context{Options()};
    const Model model(context, file);
    const std::optional<Domain> points =
        n_point > 0 ? std::optional(trial_points(context, model, n_point, 0)) : std::nullopt;
    const MemoryBudget budget(trial_bytes);
    if (points)
        Plan(model, *points);
    else
        Plan(model, whole_grid(context, model.input_domain()),
             whole_grid(context, model.output_domain()));
}

Outcome outcome_without_memory() {
    return MemoryBudget::was_exceeded() ? Outcome::too_large : Outcome::out_of_memory;
}

Outcome try_to_plan(const std::string& file, int64_t n_point) {
    try {
        plan(file, n_point);
    } catch (const Error& error) {
        if (error.status() == SURROGATE_NO_MEMORY) return outcome_without_memory();
    } catch (const std::bad_alloc&) {  // while the Error was created, or outside of the library
        return outcome_without_memory();
    }
    return Outcome::passed;
}

void work(const std::shared_ptr<Trial>& trial, const std::string& file, int64_t n_point) {
    const Outcome outcome = try_to_plan(file, n_point);
    const std::lock_guard lock(trial->mutex);
    trial->outcome = outcome;
    trial->has_ended = true;
    trial->is_over.notify_one();
}

/// Returns the processor time of the thread, including reading the file.
double seconds_of(std::thread& thread) {
    clockid_t clock{};
    timespec now{};
    if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;
    if (clock_gettime(clock, &now) != 0) return 0;
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TrialPoints::TrialPoints(const Model& model, int64_t n, int64_t first)
    : x(n_trial_axes * static_cast<size_t>(n)),
      ids(static_cast<size_t>(n)),
      weights(uses_point_weights(model) ? static_cast<size_t>(n) : 0) {
    for (size_t i = 0; i < ids.size(); ++i) {
        ids[i] = first + static_cast<int64_t>(i);
        if (!weights.empty()) weights[i] = ids[i] % 2 == 0 ? 1 : 0.5;  // equal ones cost nothing
        const auto place = static_cast<double>(ids[i]);
        for (size_t axis = 0; axis < n_trial_axes; ++axis)
            x[n_trial_axes * i + axis] =
                0.5 + 0.5 * std::sin(place * (1.0 + 0.37 * static_cast<double>(axis)));
    }
}

Domain TrialPoints::domain(const Context& context) {
    return Domain(context, surrogate_points{matrix(x.data(), std::ssize(ids), n_trial_axes),
                                            ids.data(), nullptr, weights.data()});
}

Domain trial_points(const Context& context, const Model& model, int64_t n, int64_t first) {
    return TrialPoints(model, n, first).domain(context);
}

bool can_plan(const std::string& file, int64_t n_point) {
    const auto trial = std::make_shared<Trial>();
    std::thread thread(work, trial, file, n_point);
    std::unique_lock lock(trial->mutex);
    const auto a_while = std::chrono::milliseconds(2);
    while (!trial->is_over.wait_for(lock, a_while, [&] { return trial->has_ended; })) {
        if (seconds_of(thread) < trial_seconds) continue;
        is_work_left = true;
        thread.detach();
        return false;
    }
    lock.unlock();
    thread.join();
    if (trial->outcome == Outcome::out_of_memory) throw std::bad_alloc();
    return trial->outcome == Outcome::passed;
}

bool has_left_work() {
    return is_work_left;
}

}  // namespace surrogate::tool
