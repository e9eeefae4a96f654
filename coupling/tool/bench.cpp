// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "coupling/case/grid_domain.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/layer_costs.hpp"
#include "coupling/tool/machine_limits.hpp"
#include "coupling/tool/plan_probe.hpp"

namespace surrogate::tool {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check_arguments(const BenchArguments& arguments) {
    if (arguments.n_point < 1 || arguments.n_run < 1)
        throw Failure(Exit::bad_usage, "--points and --runs are at least 1");
    if (arguments.json.empty()) return;
    OutputFile report{option_text("--json", arguments.json), arguments.json};
    report.earlier = arguments.overwrite ? Earlier::replaced : Earlier::stays;
    report.may_be_device = true;
    check_outputs({{"the model", arguments.model}}, {report});
}

Options plan_options(const BenchArguments& arguments) {
    Options options{{"coordinates", "normalized"}};
    for (const auto& [key, value] : arguments.options) options.set(key, value);
    return options;
}

/// Runs local work that allocates memory for the points. Collective; throws Failure on all ranks.
template <class Work>
void with_memory(const Job& job, int64_t n_point, const Work& work) {
    job.agree([&] {
        const auto refuse = [&] {
            throw Failure(Exit::bad_usage, "--points is " + std::to_string(n_point) +
                                               ", for which this machine has no memory; give "
                                               "fewer points or more ranks");
        };
        try {
            work();
        } catch (const std::bad_alloc&) {
            refuse();
        } catch (const std::length_error&) {
            refuse();
        }
    });
}

/// Domains of generated points, or of the grids of the model. Collective.
struct Domains {
    Domain input;
    std::optional<Domain> output;  ///< none: the input's domain is used
    int64_t n_input, n_output;     ///< on this rank
};

Domains make_domains(const Job& job, const Context& context, const Model& model, int64_t n_point) {
    if (model.input_domain().kind == SURROGATE_POINTS) {
        const int64_t rank = job.rank(), size = job.size();
        const int64_t n_more = n_point % size, n = n_point / size + (rank < n_more ? 1 : 0);
        const int64_t first = n_point / size * rank + std::min(rank, n_more);
        std::optional<TrialPoints> points;
        with_memory(job, n_point, [&] { points.emplace(model, n, first); });
        return {points->domain(context), std::nullopt, n, n};
    }
    const surrogate_domain_info in = model.input_domain(), out = model.output_domain();
    Domains domains{grid_domain(job, context, "contiguous", in), std::nullopt, 0, 0};
    domains.n_input = domains.n_output = domains.input.n_local();
    if (is_same_grid(in, out)) return domains;
    domains.output = grid_domain(job, context, "contiguous", out);
    domains.n_output = domains.output->n_local();
    return domains;
}

/// Allocates arrays for all ports that a run requires: waves of amplitude 1, as in normalized
/// fields; zeros for integers.
class Arrays {
public:
    Arrays(const Model& model, const Plan& plan, const Domains& domains) : ports_(model.ports()) {
        for (size_t p = 0; p < ports_.size(); ++p) {
            const surrogate_port_info& port = ports_[p];
            if (port.location == SURROGATE_COORDINATES ||
                model.port_is_optional(static_cast<int32_t>(p)))
                continue;
            add(port, rows_of(port, plan, domains));
        }
    }

    void run(const Job& job, Plan& plan) const {
        job.agree([&] { plan.run_network(inputs_, outputs_); });
    }

private:
    static int64_t rows_of(const surrogate_port_info& port, const Plan& plan,
                           const Domains& domains) {
        switch (port.location) {
            case SURROGATE_ON_CLOUDS: return domains.input.n_clouds();
            case SURROGATE_ON_NODES: return plan.counter("nodes");
            case SURROGATE_ON_OUTPUT: return domains.n_output;
            default: return domains.n_input;
        }
    }

    void add(const surrogate_port_info& port, int64_t n) {
        const auto size = static_cast<size_t>(n * port.n_channel);
        if (port.kind == SURROGATE_INTEGER) {
            integers_.emplace_back(size, 0);
            inputs_.push_back({port.name,
                               {integers_.back().data(),
                                {n, port.n_channel},
                                {port.n_channel, 1},
                                SURROGATE_INT64,
                                SURROGATE_HOST}});
            return;
        }
        reals_.emplace_back(size);
        for (size_t i = 0; i < size; ++i)
            reals_.back()[i] = std::sin(0.37f * static_cast<float>(i % 1000003));
        (port.is_output != 0 ? outputs_ : inputs_)
            .push_back({port.name, matrix(reals_.back().data(), n, port.n_channel)});
    }

    std::vector<surrogate_port_info> ports_;
    std::vector<std::vector<float>> reals_;
    std::vector<std::vector<int64_t>> integers_;
    std::vector<surrogate_named_array> inputs_, outputs_;
};

/// Measurements over all ranks.
struct Measured {
    int64_t n_point = 0, n_thread = 1;  ///< threads per rank
    double plan_s = 0, best_s = 0, median_s = 0;
    double bytes_sent = 0, collectives = 0, workspace = 0;  ///< all ranks; largest of a rank; all
    std::vector<LayerWork> layers;
    LayerWork total;
    MachineLimits limits;

    double limit_s(const LayerWork& work) const {
        return work.flops / 2 / limits.multiply_adds + work.exponentials / limits.exponentials;
    }
};

Measured measure(const Job& job, const Context& context, const Model& model,
                 const BenchArguments& arguments, Json& choices) {
    const Options options = plan_options(arguments);
    const Domains domains = make_domains(job, context, model, arguments.n_point);
    job.barrier();
    const auto begin = Clock::now();
    Plan plan(model, domains.input, domains.output ? *domains.output : domains.input, options);
    Measured m;
    m.plan_s = job.max(seconds_since(begin));
    for (const char* key : {"backend", "precision", "vector", "threads", "reproducible"})
        choices[key] = plan.option(key);
    m.n_point = job.sum(domains.n_output);
    m.n_thread = std::stoll(plan.option("threads"));
    std::optional<Arrays> made;
    with_memory(job, arguments.n_point, [&] { made.emplace(model, plan, domains); });
    const Arrays& arrays = *made;
    arrays.run(job, plan);  // touches memory for the first time
    std::vector<double> seconds;
    for (int64_t run = 0; run < arguments.n_run; ++run) {
        job.barrier();
        const auto start = Clock::now();
        arrays.run(job, plan);
        seconds.push_back(job.max(seconds_since(start)));
    }
    std::sort(seconds.begin(), seconds.end());
    m.best_s = seconds.front();
    m.median_s = seconds[seconds.size() / 2];
    m.bytes_sent = static_cast<double>(job.sum(plan.counter("bytes_sent")));
    m.collectives = static_cast<double>(job.max(plan.counter("collectives")));
    m.workspace = static_cast<double>(job.sum(plan.counter("workspace_bytes")));
    m.layers = work_of_layers(job, plan);
    for (const LayerWork& layer : m.layers) {
        m.total.flops += layer.flops;
        m.total.exponentials += layer.exponentials;
    }
    m.limits = measure_limits(job, static_cast<int>(m.n_thread));
    return m;
}

std::string percent(double share) {
    return number(100 * share) + " %";
}

std::string layers_of(const Measured& m) {
    std::vector<std::vector<std::string>> rows = {
        {"layer", "multiply-adds", "exponentials", "bytes sent", "seconds at the limit"}};
    for (const LayerWork& layer : m.layers)
        rows.push_back({one_line(layer.name, 60), number(layer.flops / 2),
                        number(layer.exponentials), number(layer.bytes), number(m.limit_s(layer))});
    return table(rows);
}

void print_result(const Job& job, const BenchArguments& arguments, const Json& choices,
                  const Measured& m) {
    const double n_core = static_cast<double>(m.n_thread * job.size());
    const auto choice = [&](const char* key) { return choices.at(key).get<std::string>(); };
    Lines lines;
    lines.add("model", one_line(arguments.model));
    lines.add("points", grouped(m.n_point) + " on " + std::to_string(job.size()) + " x " +
                            choice("threads") + " threads");
    lines.add("backend", choice("backend") + ", " + choice("vector") + ", " + choice("precision") +
                             (choice("reproducible") == "true" ? ", reproducible" : ", fast"));
    lines.add("a run", number(m.best_s) + " s, median " + number(m.median_s) + " s of " +
                           std::to_string(arguments.n_run) + "; planning " + number(m.plan_s) +
                           " s");
    lines.add("a point and core",
              number(m.best_s * n_core / static_cast<double>(m.n_point)) + " s");
    lines.add("memory", bytes(m.workspace) + " of the plan, on all ranks");
    lines.add("sent", bytes(m.bytes_sent) + " by all ranks, in " +
                          std::to_string(static_cast<int64_t>(m.collectives)) + " collectives");
    if (m.total.flops > 0) {
        lines.add("work", number(m.total.flops / 2) + " multiply-adds, " +
                              number(m.total.exponentials) + " exponentials");
        lines.add("share of the limit", percent(m.limit_s(m.total) / m.best_s) +
                                            ": bare loops would take " +
                                            number(m.limit_s(m.total)) + " s for this work");
    }
    lines.add("limits here", number(m.limits.multiply_adds) + " multiply-adds, " +
                                 number(m.limits.exponentials) + " exponentials, " +
                                 bytes(m.limits.memory_bytes) + " read a second (" +
                                 m.limits.vectors + ", single precision)");
    print(lines.text() + (m.layers.empty() ? "" : "\n" + layers_of(m)));
}

Json report_of(const Job& job, const BenchArguments& arguments, const Json& choices,
               const Measured& m) {
    Json report = {{"file", arguments.model},
                   {"points", m.n_point},
                   {"ranks", job.size()},
                   {"plan", choices},
                   {"runs", arguments.n_run},
                   {"seconds_plan", m.plan_s},
                   {"seconds_best", m.best_s},
                   {"seconds_median", m.median_s},
                   {"workspace_bytes", m.workspace},
                   {"bytes_sent", m.bytes_sent},
                   {"collectives", m.collectives},
                   {"flops", m.total.flops},
                   {"exponentials", m.total.exponentials}};
    report["seconds_at_limit"] = m.limit_s(m.total);
    report["limits"] = {{"multiply_adds_per_second", m.limits.multiply_adds},
                        {"exponentials_per_second", m.limits.exponentials},
                        {"memory_bytes_per_second", m.limits.memory_bytes},
                        {"vectors", m.limits.vectors}};
    report["layers"] = Json::array();
    for (const LayerWork& layer : m.layers)
        report["layers"].push_back({{"name", layer.name},
                                    {"flops", layer.flops},
                                    {"exponentials", layer.exponentials},
                                    {"bytes_sent", layer.bytes},
                                    {"collectives", layer.collectives},
                                    {"seconds_at_limit", m.limit_s(layer)}});
    return report;
}

}  // namespace

void bench(const Job& job, const BenchArguments& arguments) {
    job.agree([&] {
        if (job.is_root()) check_arguments(arguments);
    });
    const Context context = job.make_context();
    const Model model(context, arguments.model);
    Json choices;
    const Measured measured = measure(job, context, model, arguments, choices);
    job.agree([&] {
        if (job.is_root() && !arguments.json.empty())
            write_output(arguments.json,
                         report_of(job, arguments, choices, measured).dump(2, ' ', true) + "\n");
    });
    if (job.is_root()) print_result(job, arguments, choices, measured);
}

}  // namespace surrogate::tool
