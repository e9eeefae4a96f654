// SPDX-License-Identifier: Apache-2.0
#include "sweep_report.hpp"

#include <algorithm>
#include <functional>

namespace airflow {

namespace {

using Cases = std::vector<SweepCase>;

std::vector<double> of_each(const Cases& cases,
                            const std::function<double(const SweepCase&)>& value) {
    std::vector<double> values;
    for (const SweepCase& one : cases) values.push_back(value(one));
    return values;
}

double seconds_at_equal_error(const SweepCase& one) {
    return cost_at_error(one.solver, one.surrogate.error).seconds;
}

/// Returns the words behind "upper bound" and "lower bound": none for a single body.
std::string of_bodies(int n, const Cases& cases) {
    return cases.size() == 1 ? "" : " for " + std::to_string(n) + " of the bodies";
}

/// Returns the measurement of a method in a case.
using Method = std::function<Measurement(const SweepCase&)>;

/// Returns medians over the cases.
Measurement median_of(const Cases& cases, const Method& method) {
    return {median(of_each(cases, [&](const SweepCase& one) { return method(one).error; })),
            median(of_each(cases, [&](const SweepCase& one) { return method(one).seconds; })),
            median(of_each(cases, [&](const SweepCase& one) { return method(one).lift_error; })),
            median(of_each(cases, [&](const SweepCase& one) { return method(one).drag_error; }))};
}

/// Prints a row of the table of a size: errors, medians of seconds and of ratios.
PetscErrorCode print_method(MPI_Comm comm, const std::string& name, const Cases& cases,
                            const Method& method) {
    PetscFunctionBegin;
    const Measurement middle = median_of(cases, method);
    const std::vector<double> error =
        of_each(cases, [&](const SweepCase& one) { return method(one).error; });
    const std::vector<double> ratio = of_each(
        cases, [&](const SweepCase& one) { return method(one).seconds / one.surrogate.seconds; });
    PetscCall(PetscPrintf(
        comm, "%12s %6.1f %% %6.1f %% %6.1f %% %7.1f %% %8.3f %9.4f %8.2f\n", name.c_str(),
        100 * middle.error, 100 * *std::min_element(error.begin(), error.end()),
        100 * *std::max_element(error.begin(), error.end()), 100 * middle.lift_error,
        middle.drag_error, middle.seconds, median(ratio)));
    PetscFunctionReturn(0);
}

PetscErrorCode print_break_even(MPI_Comm comm, double cost_s, double saved_s,
                                const char* compared) {
    PetscFunctionBegin;
    if (saved_s > 0)
        PetscCall(PetscPrintf(comm,
                              "break-even against %s: %.0f bodies (%.0f s of training and data, "
                              "%.3f s saved per body)\n",
                              compared, cost_s / saved_s, cost_s, saved_s));
    else
        PetscCall(PetscPrintf(comm, "break-even against %s: never, nothing is saved\n", compared));
    PetscFunctionReturn(0);
}

PetscErrorCode print_equal_error(MPI_Comm comm, const Settings& settings, const Cases& cases) {
    PetscFunctionBegin;
    std::vector<double> ratio, saved, saved_reference;
    int n_upper = 0, n_lower = 0;
    for (const SweepCase& one : cases) {
        const CostAtError cost = cost_at_error(one.solver, one.surrogate.error);
        n_upper += cost.kind == CostAtError::Kind::upper_bound;
        n_lower += cost.kind == CostAtError::Kind::lower_bound;
        ratio.push_back(cost.seconds / one.surrogate.seconds);
        saved.push_back(cost.seconds - one.surrogate.seconds);
        saved_reference.push_back(one.reference.seconds - one.surrogate.seconds);
    }
    PetscCall(PetscPrintf(comm, "at equal error: solver %.4f s, ratio %.2f",
                          median(of_each(cases, seconds_at_equal_error)), median(ratio)));
    if (cases.size() > 1)
        PetscCall(PetscPrintf(comm, " (%.2f .. %.2f by body)",
                              *std::min_element(ratio.begin(), ratio.end()),
                              *std::max_element(ratio.begin(), ratio.end())));
    PetscCall(PetscPrintf(comm, "\n"));
    if (n_upper)
        PetscCall(PetscPrintf(comm,
                              "    upper bound%s: the coarsest solver is more accurate than the "
                              "surrogate; add smaller -sweep_panels\n",
                              of_bodies(n_upper, cases).c_str()));
    if (n_lower)
        PetscCall(PetscPrintf(comm,
                              "    lower bound%s: the surrogate is more accurate than the finest "
                              "solver; add larger -sweep_panels\n",
                              of_bodies(n_lower, cases).c_str()));
    if (settings.training_seconds > 0) {
        PetscCall(print_break_even(comm, settings.training_seconds, median(saved),
                                   "the solver at equal error"));
        PetscCall(print_break_even(comm, settings.training_seconds, median(saved_reference),
                                   "the reference"));
    }
    PetscFunctionReturn(0);
}

/// Prints what panels can do in the time of the surrogate, and the time that they need for its
/// lift.
PetscErrorCode print_forces(MPI_Comm comm, const Settings& settings, const Cases& cases) {
    PetscFunctionBegin;
    const Measurement surrogate =
        median_of(cases, [](const SweepCase& one) { return one.surrogate; });
    std::vector<Measurement> solver, of_lift;
    for (std::size_t k = 0; k < settings.sweep_panels.size(); ++k) {
        solver.push_back(median_of(cases, [k](const SweepCase& one) { return one.solver[k]; }));
        of_lift.push_back({solver[k].lift_error, solver[k].seconds});
    }
    const Measurement equal = errors_at_cost(solver, surrogate.seconds);
    const CostAtError lift = cost_at_error(of_lift, surrogate.lift_error);
    PetscCall(PetscPrintf(comm, "at equal time: solver error %.1f %%, lift %.1f %%, drag %.3f m^2",
                          100 * equal.error, 100 * equal.lift_error, equal.drag_error));
    if (equal.seconds > surrogate.seconds)
        PetscCall(PetscPrintf(comm, " (lower bounds: %d panels take longer than the surrogate)",
                              int(settings.sweep_panels.front())));
    PetscCall(PetscPrintf(comm, "\n"));
    const char* bound = lift.kind == CostAtError::Kind::upper_bound   ? "at most "
                        : lift.kind == CostAtError::Kind::lower_bound ? "at least "
                                                                      : "";
    PetscCall(PetscPrintf(comm, "at equal error of lift: solver %s%.4f s, ratio %.2f\n", bound,
                          lift.seconds, lift.seconds / surrogate.seconds));
    PetscFunctionReturn(0);
}

PetscErrorCode print_size(MPI_Comm comm, const Settings& settings, const Cases& cases) {
    PetscFunctionBegin;
    const auto [low, high] = std::minmax_element(
        cases.begin(), cases.end(),
        [](const SweepCase& a, const SweepCase& b) { return a.n_point < b.n_point; });
    const std::string lowest =
        low->n_point < high->n_point ? std::to_string(low->n_point) + " to " : "";
    PetscCall(PetscPrintf(comm, "\n%s%lld points, %d %s\n", lowest.c_str(),
                          static_cast<long long>(high->n_point), int(cases.size()),
                          cases.size() == 1 ? "body" : "bodies"));
    PetscCall(PetscPrintf(comm, "%12s %8s %8s %8s %9s %8s %9s %8s\n", "method", "error", "least",
                          "largest", "lift", "drag", "seconds", "ratio"));
    PetscCall(
        print_method(comm, "surrogate", cases, [](const SweepCase& one) { return one.surrogate; }));
    for (std::size_t k = 0; k < settings.sweep_panels.size(); ++k)
        PetscCall(print_method(comm, std::to_string(settings.sweep_panels[k]) + " panels", cases,
                               [k](const SweepCase& one) { return one.solver[k]; }));
    PetscCall(print_method(comm, std::to_string(settings.n_panel) + " panels", cases,
                           [](const SweepCase& one) { return one.reference; }));
    PetscCall(PetscPrintf(comm, "lift of the reference: %.3f m^2\n",
                          median(of_each(cases, [](const SweepCase& one) { return one.lift; }))));
    PetscCall(print_equal_error(comm, settings, cases));
    PetscCall(print_forces(comm, settings, cases));
    PetscFunctionReturn(0);
}

/// Prints a fit to the medians over all cases. The number of panels that are close enough to a
/// point for exact integrals is nearly constant, so that their cost is linear. The cost of all
/// pairs is the quadratic term.
PetscErrorCode print_cost(MPI_Comm comm, const Settings& settings, const Cases& cases) {
    PetscFunctionBegin;
    std::vector<double> n, seconds;
    for (std::size_t k = 0; k < settings.sweep_panels.size(); ++k) {
        n.push_back(double(settings.sweep_panels[k]));
        seconds.push_back(
            median(of_each(cases, [k](const SweepCase& one) { return one.solver[k].seconds; })));
    }
    n.push_back(double(settings.n_panel));
    seconds.push_back(
        median(of_each(cases, [](const SweepCase& one) { return one.reference.seconds; })));
    const CostModel cost = fit_cost(n, seconds);
    PetscCall(PetscPrintf(comm,
                          "\nsolver with N panels, fitted: %.3g s * (N / 1000) + %.3g s * "
                          "(N / 1000)^2\n",
                          1e3 * cost.linear, 1e6 * cost.quadratic));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode print_sweep_head(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    PetscMPIInt size = 0;
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(PetscPrintf(comm,
                          "Solver and surrogate against the solver with %d panels: bodies from "
                          "seed %d, %d round%s, %d rank%s\nSurrogate: %s\n\n",
                          int(settings.n_panel), int(settings.seed), int(settings.n_sweep_round),
                          settings.n_sweep_round == 1 ? "" : "s", size, size == 1 ? "" : "s",
                          settings.model.c_str()));
    PetscCall(PetscPrintf(comm, "%6s %8s %12s %13s %16s %12s\n", "seed", "points", "surrogate",
                          "surrogate[s]", "equal error [s]", "reference[s]"));
    PetscFunctionReturn(0);
}

PetscErrorCode print_sweep_cases(MPI_Comm comm, const Cases& cases) {
    PetscFunctionBegin;
    for (const SweepCase& one : cases)
        PetscCall(PetscPrintf(comm, "%6lld %8lld %10.2f %% %13.4f %16.4f %12.4f\n",
                              static_cast<long long>(one.seed), static_cast<long long>(one.n_point),
                              100 * one.surrogate.error, one.surrogate.seconds,
                              seconds_at_equal_error(one), one.reference.seconds));
    PetscFunctionReturn(0);
}

PetscErrorCode print_sweep_tables(MPI_Comm comm, const Settings& settings,
                                  const std::vector<Cases>& bodies) {
    PetscFunctionBegin;
    Cases all;
    for (std::size_t m = 0; m < settings.sweep_points.size(); ++m) {
        Cases size;
        for (const Cases& body : bodies) size.push_back(body[m]);
        PetscCall(print_size(comm, settings, size));
        all.insert(all.end(), size.begin(), size.end());
    }
    PetscCall(print_cost(comm, settings, all));
    PetscCall(PetscPrintf(
        comm,
        "\nerror: relative L2 distance from the reference over the points, median over the bodies, "
        "least and\nlargest; lift: relative distance from the lift of the reference; drag: in m^2 "
        "(force over dynamic\npressure), an error as a whole, because such a flow has no drag; "
        "seconds: processor time of the\nslowest rank, median over the rounds and bodies; ratio: "
        "seconds over those of the surrogate, whose plan\nand run are counted for each body. Equal "
        "error and equal time: between two numbers of panels seconds\nare interpolated over the "
        "error, both logarithmic.\n"));
    PetscFunctionReturn(0);
}

}  // namespace airflow
