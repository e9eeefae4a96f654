// SPDX-License-Identifier: Apache-2.0
// The program `surrogate`: what can be done with a model file by those who have no solver at hand.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "coupling/tool/check.hpp"
#include "coupling/tool/info.hpp"
#include "coupling/tool/job.hpp"
#include "coupling/tool/output.hpp"
#include "coupling/tool/plan_trial.hpp"
#include "coupling/tool/predict.hpp"
#include "coupling/tool/text.hpp"
#include "coupling/tool/train.hpp"

namespace {

using namespace surrogate::tool;

/// The command line, understood.
struct Arguments {
    InfoArguments info;
    CheckArguments check;
    PredictArguments predict;
    TrainArguments train;
    std::vector<std::string> predict_maps;
    std::map<std::string, std::string> predict_options;
};

const char* const footer =
    "surrogate help COMMAND is surrogate COMMAND --help. Exit status: 0 done; 1 ran, and the "
    "result "
    "is not\nright; 2 bad usage or bad file, or the output could not be written; 3 see check; 4 "
    "see train.";

const char* const info_footer =
    "Exit status: 0 printed, 2 bad usage or bad file.\n"
    "Example: surrogate info share/models/darcy_flow.safetensors";

const char* const check_footer =
    "Exit status: 0 passed, 1 ran and did not pass, 2 bad usage or bad file,\n"
    "3 no check case in the file or family not built.\n"
    "Example: mpirun -n 4 surrogate check model.safetensors --partition scattered --json "
    "report.json";

const char* const predict_footer =
    "Exit status: 0 written; 1 a value is not finite, or --strict and inputs outside; 2 bad usage "
    "or\n"
    "bad file, or the output exists.\n"
    "Example: mpirun -n 4 surrogate predict model.safetensors --mesh in.pvtu --out out.pvtu\n"
    "  --map mobility=lambda";

const char* const train_footer =
    "Exit status: 0 done; 1 a number is not finite; 2 bad usage, configuration or data, or the "
    "output\n"
    "could not be written; 4 stopped by SIGTERM, SIGINT or SIGUSR1 after a checkpoint was "
    "written:\n"
    "--resume goes on.\n"
    "Example: mpirun -n 4 surrogate train darcy.toml";

void add_info(CLI::App& app, InfoArguments& info) {
    auto* verb =
        app.add_subcommand("info", "What a model is; without MODEL: what this machine offers");
    verb->add_option("MODEL", info.file, "Model file (safetensors with a card)");
    verb->add_flag("--memory", info.has_memory,
                   "The memory of a plan also where finding out takes more than 256 MB");
    verb->footer(info_footer);
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
    verb->add_option(
        "--map", arguments.predict_maps,
        "FIELD=ARRAY: the array for a field of the card; ARRAY:2 is component 2, ARRAY.x "
        "the first of a vector");
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
    verb->footer(predict_footer);
}

void add_train(CLI::App& app, TrainArguments& train) {
    auto* verb = app.add_subcommand("train", "Train a model on data sets (HDF5)");
    verb->add_option("CONFIG", train.config, "Configuration (TOML): model, data, training, output")
        ->required();
    verb->add_flag("--resume", train.resume, "Go on from the checkpoint in the output folder");
    auto* overwrite = verb->add_flag("--overwrite", train.overwrite,
                                     "Begin anew in a folder that has a training");
    overwrite->excludes("--resume");
    verb->add_flag("--dry-run", train.dry_run,
                   "Print memory, bytes and the time of a step; write nothing");
    verb->add_flag("--quiet", train.quiet, "Print warnings, errors and the result only");
    verb->footer(train_footer);
}

using Words = std::vector<std::string>;

bool is_option(const std::string& word) {
    return word.size() > 1 && word[0] == '-';
}

/// `help` and `help check` as the option that every command has.
Words understood(int argc, char** argv) {
    Words words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        words.push_back("--help");
    }
    return words;
}

std::string suggestion(const std::string& word, const Words& known) {
    const std::string near = near_word(word, known);
    return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_verb(const CLI::App& app, const Words& words) {
    for (const CLI::App* verb : verbs_of(app))
        if (!words.empty() && verb->get_name() == words[0]) return verb;
    return nullptr;
}

/// Throws for a first word that is no command: CLI11 would say that one is missing.
void require_verb(const CLI::App& app, const Words& words) {
    if (words.empty() || is_option(words[0]) || find_verb(app, words) != nullptr) return;
    Words known;
    std::string all;
    for (const CLI::App* verb : verbs_of(app)) {
        known.push_back(verb->get_name());
        all += (all.empty() ? "" : ", ") + known.back();
    }
    throw CLI::ExtrasError("surrogate: '" + one_line(words[0]) + "' is not a command (" + all +
                               ")" + suggestion(words[0], known),
                           CLI::ExitCodes::ExtrasError);
}

/// What the options that a command does not have were meant to be, a line each.
std::string suggestions(const CLI::App& app, const Words& words) {
    const CLI::App* verb = find_verb(app, words);
    if (verb == nullptr) return "";
    Words known;
    for (const CLI::Option* option : verb->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    std::string text;
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (!is_option(name) || verb->get_option_no_throw(name) != nullptr) continue;
        if (const std::string near = suggestion(name, known); !near.empty())
            text += one_line(name) + near + "\n";
    }
    return text;
}

/// A command line that could not be understood, or a request for help: prints once, not once a
/// rank.
Exit answer(const Job& job, const CLI::App& app, const CLI::ParseError& error, const Words& words) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    if (job.is_root()) {
        print(out.str());
        if (code != 0) complain(err.str() + suggestions(app, words));
    }
    return code == 0 ? Exit::success : Exit::bad_usage;
}

/// File and --json of a `check` whose options were refused: the report is written in every case.
/// `others`: the words that may name files.
CheckArguments salvage(const Words& words, Words& others) {
    CheckArguments check;
    const std::string json = "--json";
    for (size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == json && i + 1 < words.size()) {
            check.json = words[++i];
        } else if (word.rfind(json + "=", 0) == 0) {
            check.json = word.substr(json.size() + 1);
        } else if (!is_option(word)) {
            others.push_back(word);
            if (check.file.empty()) check.file = word;
        } else if (const size_t at = word.find('='); at != std::string::npos) {
            others.push_back(word.substr(at + 1));
        }
    }
    return check;
}

/// The report of a `check` whose command line could not be understood.
void report_refusal(const Job& job, const Words& words, const std::string& error) {
    if (words.empty() || words[0] != "check") return;
    Words others;
    const CheckArguments arguments = salvage(words, others);
    report_usage_error(job, arguments, error, others);
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
    app.set_version_flag("-V,--version", std::string("surrogate ") + surrogate_version());
    app.require_subcommand(1);
    app.footer(footer);
    add_info(app, arguments.info);
    add_check(app, arguments.check);
    add_predict(app, arguments);
    add_train(app, arguments.train);
    const Words words = understood(argc, argv);
    try {
        require_verb(app, words);
        app.parse(Words(words.rbegin(), words.rend()));  // CLI11 takes them from the end
    } catch (const CLI::ParseError& error) {
        const Exit status = answer(job, app, error, words);
        if (status != Exit::success) report_refusal(job, words, error.what());
        return status;
    }
    if (app.got_subcommand("check")) return check(job, arguments.check);
    if (app.got_subcommand("train")) return train(job, arguments.train);
    if (app.got_subcommand("predict")) run_predict(job, arguments);
    if (app.got_subcommand("info")) info(job, arguments.info);
    return Exit::success;
}

Exit run_guarded(Job& job, int argc, char** argv) {
    const auto say = [&](const std::string& text) {
        if (job.is_root()) complain("surrogate: " + text);
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

/// Lost output is a failure, of all ranks: a script that reads it must not go on with less.
Exit finish(const Job& job, Exit status) {
    if (job.is_root()) {
        const std::string lost = finish_output();
        if (!lost.empty()) complain("surrogate: cannot write to standard output: " + lost);
        if (!lost.empty() && status == Exit::success) status = Exit::bad_usage;
    }
    return static_cast<Exit>(job.max(static_cast<int64_t>(status)));
}

Exit run_job(int argc, char** argv) {
    Job job;
    // mpirun ends all ranks when the first one leaves with a status that is not 0: everything must
    // be out by then.
    const Exit status = finish(job, run_guarded(job, argc, argv));
    std::fflush(nullptr);
    job.barrier();
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    open_output();
    const int status = static_cast<int>(run_job(argc, argv));
    if (has_left_work()) std::_Exit(status);
    return status;
}
