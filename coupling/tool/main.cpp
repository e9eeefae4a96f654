// SPDX-License-Identifier: Apache-2.0
// The `surrogate` command, which works on model files without a solver.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/plan_probe.hpp"
#include "coupling/tool/usage.hpp"
#include "coupling/training/dataset_trial.hpp"

namespace {

using namespace surrogate::tool;

/// Returns the options for surrogate_options_set.
std::vector<std::pair<std::string, std::string>> plan_options(const Arguments& arguments) {
    std::vector<std::pair<std::string, std::string>> options;
    for (const auto& [key, value] : arguments.plan_options)
        if (!value.empty()) options.emplace_back(key, value);
    if (arguments.is_reproducible) options.emplace_back("reproducible", "true");
    if (arguments.allows_code) options.emplace_back("allow_code", "true");
    return options;
}

void run_predict(Job& job, Arguments& arguments) {
    for (const auto& text : arguments.predict_maps)
        arguments.predict.maps.push_back(parse_map(text));
    for (const auto& text : arguments.predict_numbers)
        arguments.predict.numbers.push_back(parse_number(text));
    arguments.predict.options = plan_options(arguments);
    predict(job, arguments.predict);
}

void run_evaluate(const Job& job, Arguments& arguments) {
    for (const auto& text : arguments.evaluate_maps)
        arguments.evaluate.maps.push_back(parse_map(text));
    arguments.evaluate.options = plan_options(arguments);
    evaluate(job, arguments.evaluate);
}

void run_bench(const Job& job, Arguments& arguments) {
    arguments.bench.options = plan_options(arguments);
    bench(job, arguments.bench);
}

Exit run(Job& job, int argc, char** argv) {
    Arguments arguments;
    const auto [subcommand, status] = parse_command_line(job, argc, argv, arguments);
    if (subcommand == "check") return check(job, arguments.check);
    if (subcommand == "train") return train(job, arguments.train);
    if (subcommand == "predict") run_predict(job, arguments);
    if (subcommand == "evaluate") run_evaluate(job, arguments);
    if (subcommand == "convert") convert(job, arguments.convert);
    if (subcommand == "create") create(job, arguments.create);
    if (subcommand == "spectrum") spectrum(job, arguments.spectrum);
    if (subcommand == "bench") run_bench(job, arguments);
    if (subcommand == "info") info(job, arguments.info);
    return status;
}

Exit run_guarded(Job& job, int argc, char** argv) {
    const auto say = [&](const std::string& text) {
        if (job.is_root()) print_error("surrogate: " + text);
    };
    try {
        return run(job, argc, argv);
    } catch (const Failure& failure) {
        say(failure.what());
        return failure.status();
    } catch (const surrogate::Error& error) {
        const Exit status = job.exit_status(error);
        say(error.what());
        return status;
    } catch (const std::bad_alloc&) {
        job.abort("out of memory");
    } catch (const std::exception& error) {
        job.abort(error.what());
    }
}

/// Reports lost output as a failure of all ranks, so that a script that reads the output stops.
Exit finish(const Job& job, Exit status) {
    if (job.is_root()) {
        const std::string lost = finish_output();
        if (!lost.empty()) print_error("surrogate: cannot write to standard output: " + lost);
        if (!lost.empty() && status == Exit::success) status = Exit::bad_usage;
    }
    return static_cast<Exit>(job.max(static_cast<int64_t>(status)));
}

Exit run_job(int argc, char** argv) {
    Job job;
    // mpirun ends all ranks when the first rank exits with a nonzero status, so all output must be
    // flushed before.
    const Exit status = finish(job, run_guarded(job, argc, argv));
    std::fflush(nullptr);
    job.barrier();
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    if (is_dataset_trial(argc, argv)) return run_dataset_trial(argv);
    open_output();
    const int status = static_cast<int>(run_job(argc, argv));
    if (has_left_work()) std::_Exit(status);
    return status;
}
