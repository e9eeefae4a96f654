// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cmath>
#include <cstdio>

namespace shallow_water {

namespace {

/// Returns true for the hours of the table: dense where an emulator is good, sparse later.
bool is_shown(int64_t hour, int64_t last) {
    for (const int64_t early : {1, 2, 3, 6, 9, 12, 18, 24})
        if (hour == early) return true;
    return hour == last || (hour > 0 && hour % (hour <= 48 ? 6 : 24) == 0);
}

/// Returns 0.0345 as "3.4 %"; large and non-finite numbers in few characters.
std::string percent(double share) {
    char text[32];
    if (!std::isfinite(share) || share > 1e3) return "-";
    std::snprintf(text, sizeof text, share < 0.1 ? "%.2f %%" : "%.0f %%", 100 * share);
    return text;
}

std::string drift(double now, double before) {
    char text[32];
    const double share = (now - before) / before;
    if (!std::isfinite(share) || std::abs(share) > 1e3) return "-";
    std::snprintf(text, sizeof text, "%+.1e", share);
    return text;
}

void print_drifts(const Budget& now, const Budget& before) {
    std::printf(" %10s %10s", drift(now.depth_m, before.depth_m).c_str(),
                drift(now.energy, before.energy).c_str());
}

/// Prints errors of the emulator and drifts of both.
void print_comparison(const std::vector<Sample>& samples) {
    std::printf("%5s  %-17s | %-17s | %-17s | %-21s %-21s\n", "lead", "geopotential", "vorticity",
                "divergence", "drift of the solver", "drift of the emulator");
    std::printf("%5s  %8s %8s | %8s %8s | %8s %8s | %10s %10s %10s %10s\n", "[h]", "emulator",
                "persist.", "emulator", "persist.", "emulator", "persist.", "mass", "energy",
                "mass", "energy");
    for (const Sample& sample : samples) {
        if (!is_shown(sample.hour, samples.back().hour)) continue;
        std::printf("%5lld ", static_cast<long long>(sample.hour));
        for (std::size_t f = 0; f < n_field; ++f)
            std::printf(" %8s %8s |", percent(sample.error[f]).c_str(),
                        percent(sample.persistence[f]).c_str());
        print_drifts(sample.solver, samples.front().solver);
        print_drifts(sample.emulator, samples.front().emulator);
        std::printf("\n");
    }
}

/// Prints drifts of the methods that ran.
void print_drift_table(const std::vector<Sample>& samples) {
    const auto of = [](const Sample& sample) {
        return sample.solver.depth_m != 0 ? sample.solver : sample.emulator;
    };
    std::printf("%5s  %-9s %10s %10s\n", "hour", "by", "mass", "energy");
    for (const Sample& sample : samples) {
        if (!is_shown(sample.hour, samples.back().hour)) continue;
        std::printf("%5lld  %-9s", static_cast<long long>(sample.hour),
                    sample.solver.depth_m != 0 ? "solver" : "emulator");
        print_drifts(of(sample), of(samples.front()));
        std::printf("\n");
    }
}

void print_cost(const char* name, const Cost& cost) {
    if (cost.n_hour == 0) return;
    std::printf("%-9s %9.4f s per simulated day (%lld hours in %.3f s)\n", name,
                24 * cost.seconds / double(cost.n_hour), static_cast<long long>(cost.n_hour),
                cost.seconds);
}

}  // namespace

void print_head(const Settings& settings, const Layout& layout, const Emulator* emulator,
                const std::string& problem) {
    if (layout.rank() != 0) return;
    const Resolution& r = layout.resolution();
    std::printf(
        "Shallow water on the sphere: %lld x %lld points, harmonics to degree %lld, %lld steps of "
        "%g s an hour, %d rank%s\n",
        static_cast<long long>(r.n_lat), static_cast<long long>(r.n_lon),
        static_cast<long long>(r.n_degree - 1), static_cast<long long>(settings.steps_per_hour()),
        settings.dt_s, layout.size(), layout.size() == 1 ? "" : "s");
    if (settings.restart.empty())
        std::printf("Initial state: %s\n", settings.initial.c_str());
    else
        std::printf("Continues from %s\n", settings.restart.c_str());
    if (emulator)
        std::printf("Surrogate: %s (%s)\n", settings.model.c_str(), emulator->how().c_str());
    else if (!problem.empty())
        std::printf("surrogate not available: %s\nThe solver continues without it.\n",
                    problem.c_str());
    std::printf("\n");
    std::fflush(stdout);
}

void print_report(const Settings& settings, const Layout& layout, const Record& record) {
    Cost solver = record.solver, emulator = record.emulator;
    for (Cost* cost : {&solver, &emulator})
        MPI_Allreduce(MPI_IN_PLACE, &cost->seconds, 1, MPI_DOUBLE, MPI_MAX, layout.comm());
    if (layout.rank() != 0) return;
    const bool has_both = settings.step == Step::both && emulator.n_hour > 0;
    if (has_both)
        print_comparison(record.samples);
    else
        print_drift_table(record.samples);
    std::printf("\n");
    if (has_both)
        std::printf(
            "Fields: relative L2 distance to the solver, weighted by area, after the model's mean "
            "is subtracted; persist.: of the initial state.\n");
    std::printf(
        "mass: mean depth; energy: kinetic and potential; relative changes since hour %lld, - "
        "beyond "
        "all bounds.\n",
        static_cast<long long>(record.samples.front().hour));
    if (record.lost_hour >= 0)
        std::printf("The emulator's numbers are not finite from hour %lld on%s.\n",
                    static_cast<long long>(record.lost_hour),
                    settings.step == Step::surrogate && record.hand_over_hour < 0
                        ? "; with -check_every the solver would have continued"
                        : "");
    if (record.hand_over_hour >= 0)
        std::printf("The solver took over at hour %lld: %s.\n",
                    static_cast<long long>(record.hand_over_hour), record.reason.c_str());
    if (!record.guards.empty()) std::printf("\n%s\n", record.guards.c_str());
    print_cost("solver", solver);
    print_cost("emulator", emulator);
    if (!settings.output.empty())
        std::printf("%s/*.pvd: time series for ParaView%s%s\n", settings.output.c_str(),
                    record.picture.empty() ? "" : "\n", record.picture.c_str());
    std::fflush(stdout);
}

}  // namespace shallow_water
