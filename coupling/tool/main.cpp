// SPDX-License-Identifier: Apache-2.0
// The program `surrogate`: what can be done with a model file by those who have no solver at hand.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "coupling/tool/check.hpp"
#include "coupling/tool/info.hpp"
#include "coupling/tool/job.hpp"
#include "coupling/tool/predict.hpp"

namespace {

using namespace surrogate::tool;

/// The command line, understood.
struct Arguments {
    std::string info_file;
    CheckArguments check;
    PredictArguments predict;
    std::vector<std::string> predict_maps;
    std::map<std::string, std::string> predict_options;
};

const char* const check_footer =
    "Exit status: 0 passed, 1 ran and did not pass, 2 bad usage or bad file,\n"
    "3 no check case in the file or family not built.";

void add_info(CLI::App& app, Arguments& arguments) {
    auto* verb =
        app.add_subcommand("info", "What a model is; without MODEL: what this machine offers");
    verb->add_option("MODEL", arguments.info_file, "Model file (safetensors with a card)");
}

void add_check(CLI::App& app, CheckArguments& check) {
    auto* verb = app.add_subcommand("check", "Run the check case of a model file and compare");
    CheckSettings& s = check.settings;
    verb->add_option("MODEL", check.file, "Model file with a check case")->required();
    verb->add_option("--partition", s.partition, "contiguous, scattered or uneven")
        ->capture_default_str();
    verb->add_flag("--reproducible", s.is_reproducible,
                   "The same bits for any ranks, partition, threads and vector width");
    verb->add_option("--backend", s.backend, "ref, simd or cuda (default: the plan's choice)");
    verb->add_option("--precision", s.precision,
                     "fp32; fp64 with backend ref; tf32, fp16, bf16 with backend cuda");
    verb->add_option("--threads", s.threads, "Threads of a rank");
    verb->add_option("--vector", s.vector, "avx512, avx2 or scalar");
    verb->add_option("--json", check.json, "Write a report to this file, in every case");
    verb->add_option("--save", check.save, "Write the computed y to this file (safetensors)");
    verb->footer(check_footer);
}

void add_predict(CLI::App& app, Arguments& arguments) {
    auto* verb = app.add_subcommand("predict", "Evaluate a model on a mesh file (VTK)");
    PredictArguments& predict = arguments.predict;
    verb->add_option("MODEL", predict.model, "Model file (safetensors with a card)")->required();
    verb->add_option("--mesh", predict.mesh, "Input: .vtu .vti .vtp .vts, or parallel .pvtu ..")
        ->required();
    verb->add_option("--out", predict.out, "Output, the same kind of mesh")->required();
    verb->add_option("--map", arguments.predict_maps,
                     "FIELD=ARRAY: the array for a field of the card; ARRAY:2 is component 2");
    verb->add_option("--at", predict.at, "points or cells, where the arrays are at both");
    verb->add_flag("--ignore-units", predict.ignore_units, "Accept arrays whose unit is another");
    verb->add_flag("--overwrite", predict.overwrite, "Replace an output that exists");
    verb->add_flag("--strict", predict.strict,
                   "Inputs outside the training ranges: exit status 1, nothing is written");
    verb->add_flag("--quiet", predict.quiet, "Print warnings and errors only");
    verb->add_flag("--reproducible{true}", arguments.predict_options["reproducible"],
                   "The same bits for any ranks, cut, threads and vector width");
    for (const char* key : {"backend", "device", "threads", "vector", "precision"})
        verb->add_option(std::string("--") + key, arguments.predict_options[key],
                         "As surrogate_options_set takes it");
}

/// A command line that could not be understood, or a request for help: prints once, not once a
/// rank.
Exit answer(const Job& job, const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    if (job.is_root()) {
        std::cout << out.str();
        std::cerr << err.str();
    }
    return code == 0 ? Exit::success : Exit::bad_usage;
}

/// File and --json of a `check` whose options were refused: the report is written in every case.
CheckArguments salvage(int argc, char** argv) {
    CheckArguments check;
    const std::string json = "--json";
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == json && i + 1 < argc)
            check.json = argv[++i];
        else if (word.rfind(json + "=", 0) == 0)
            check.json = word.substr(json.size() + 1);
        else if (word.rfind('-', 0) != 0 && check.file.empty())
            check.file = word;
    }
    return check;
}

void run_predict(Job& job, Arguments& arguments) {
    for (const auto& text : arguments.predict_maps)
        arguments.predict.maps.push_back(parse_map(text));
    for (const auto& [key, value] : arguments.predict_options)
        if (!value.empty()) arguments.predict.options.emplace_back(key, value);
    predict(job, arguments.predict);
}

Exit run(Job& job, int argc, char** argv) {
    CLI::App app(
        "Learned attention surrogates: what a model is, whether it computes right, what it "
        "predicts.\nRuns on one rank or under mpirun.",
        "surrogate");
    Arguments arguments;
    app.set_version_flag("--version", std::string("surrogate ") + surrogate_version());
    app.require_subcommand(1);
    add_info(app, arguments);
    add_check(app, arguments.check);
    add_predict(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const Exit status = answer(job, app, error);
        if (status != Exit::success && argc > 1 && std::string(argv[1]) == "check")
            report_usage_error(job, salvage(argc, argv), error.what());
        return status;
    }
    if (app.got_subcommand("check")) return check(job, arguments.check);
    if (app.got_subcommand("predict")) run_predict(job, arguments);
    if (app.got_subcommand("info")) info(job, arguments.info_file);
    return Exit::success;
}

Exit run_guarded(Job& job, int argc, char** argv) {
    const auto say = [&](const char* text) {
        if (job.is_root()) std::fprintf(stderr, "surrogate: %s\n", text);
    };
    try {
        return run(job, argc, argv);
    } catch (const Failure& failure) {
        say(failure.what());
        return failure.status();
    } catch (const surrogate::Error& error) {
        say(error.what());
        return exit_status(error.status());
    } catch (const std::exception& error) {
        job.abort(error.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    Job job;
    const Exit status = run_guarded(job, argc, argv);
    // mpirun ends all ranks when the first one leaves with a status that is not 0: everything must
    // be out by then.
    std::cout.flush();
    std::fflush(nullptr);
    job.barrier();
    return static_cast<int>(status);
}
