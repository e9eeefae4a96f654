// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/plan_memory.hpp"

#include <algorithm>
#include <vector>

#include "coupling/case/grid_domain.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/plan_probe.hpp"

namespace surrogate::tool {

namespace {

const std::string beside = ", beside the solver's own arrays";

PlanMemory unknown(const std::string& why) {
    PlanMemory memory;
    memory.text = "not computed: " + why;
    return memory;
}

PlanMemory not_found_out(const std::string& what) {
    return unknown(what + " takes more than " + bytes(static_cast<double>(trial_bytes)) + " or " +
                   number(trial_seconds) + " s;\n--memory measures it without limits");
}

/// Rank 0 tries the plan first; on all ranks the plan needs no more work, because each has a part
/// of the points.
bool can_all_plan(const Job& job, const std::string& file, int64_t n_point, bool has_no_limit) {
    if (has_no_limit) return true;
    bool can_root_plan = false;
    job.agree([&] { can_root_plan = job.is_root() && can_plan(file, n_point); });
    return job.max(static_cast<int64_t>(can_root_plan)) != 0;
}

/// Returns the bytes of a plan on n points of this rank.
double bytes_of_points(const Job& job, const Context& context, const Model& model, int64_t n) {
    const Domain domain = trial_points(context, model, n, job.rank() * n);
    return static_cast<double>(Plan(model, domain).counter("workspace_bytes"));
}

/// Computes the two numbers from plans of n and of 2 n points of this rank.
PlanMemory memory_of(const Job& job, const Context& context, const Model& model, int64_t n) {
    const double small = bytes_of_points(job, context, model, n);
    const double large = bytes_of_points(job, context, model, 2 * n);
    const double of_point = (large - small) / static_cast<double>(n);
    const double fixed = std::max(0.0, small - of_point * static_cast<double>(n));
    PlanMemory memory{job.max(of_point), job.max(fixed), ""};
    memory.text =
        bytes(memory.of_point) + " a point and " + bytes(memory.of_rank) + " a rank" + beside;
    return memory;
}

/// Fits two numbers to two sizes. The sizes are far above any tile, so that the growth with the
/// points is visible, or smaller if a point is large or the model has a limit.
PlanMemory memory_of_points(const Job& job, const Context& context, const Model& model,
                            const std::string& file, bool has_no_limit) {
    constexpr int64_t sizes[] = {20000, 2000, 200};
    bool is_too_many = false;
    for (const int64_t n : sizes) {
        if (!can_all_plan(job, file, 2 * n, has_no_limit)) continue;
        try {
            return memory_of(job, context, model, n);
        } catch (const Error& error) {  // errors of planning are the same on all ranks
            if (error.status() != SURROGATE_SHAPE) throw;
            is_too_many = true;
        }
    }
    const std::string least = std::to_string(2 * sizes[2]) + " points";
    if (is_too_many) return unknown("the model does not accept " + least + " a rank");
    return not_found_out("a plan of " + least);
}

/// Returns the memory of the plan on the ranks of this job, because the grid is fixed.
PlanMemory memory_of_grid(const Job& job, const Context& context, const Model& model,
                          const std::string& file, bool has_no_limit) {
    const surrogate_domain_info in = model.input_domain(), out = model.output_domain();
    if (!can_all_plan(job, file, 0, has_no_limit))
        return not_found_out("a plan for " + std::to_string(out.n_lat) + " x " +
                             std::to_string(out.n_lon) + " points");
    const Domain input = grid_domain(job, context, "contiguous", in);
    const Domain output = grid_domain(job, context, "contiguous", out);
    const Plan plan(model, input, is_same_grid(in, out) ? input : output);
    PlanMemory memory;
    memory.of_rank = job.max(static_cast<double>(plan.counter("workspace_bytes")));
    memory.text = bytes(memory.of_rank) + " a rank on " + std::to_string(job.size()) +
                  (job.size() == 1 ? " rank" : " ranks") + beside;
    return memory;
}

}  // namespace

PlanMemory plan_memory(const Job& job, const Context& context, const Model& model,
                       const std::string& file, bool has_no_limit) {
    if (model.family() == "torch")
        return unknown("the model is a package of machine code, which this command does not open");
    return model.input_domain().kind == SURROGATE_SPHERE
               ? memory_of_grid(job, context, model, file, has_no_limit)
               : memory_of_points(job, context, model, file, has_no_limit);
}

}  // namespace surrogate::tool
