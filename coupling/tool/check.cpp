// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/check.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/tensor_file.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

/// Returns the report before the run, with the arguments. Null means unknown.
Json requested(const Job& job, const CheckArguments& arguments) {
    const CheckSettings& s = arguments.settings;
    Json report = {{"file", arguments.file},
                   {"family", nullptr},
                   {"ranks", job.size()},
                   {"partition", s.partition},
                   {"backend", text_or_null(s.backend)},
                   {"precision", text_or_null(s.precision)},
                   {"reproducible", s.is_reproducible},
                   {"threads", nullptr},
                   {"vector", text_or_null(s.vector)}};
    for (const char* key : {"relative_l2", "official_relative_l2", "max_abs", "truth", "hash"})
        report[key] = nullptr;
    report["passed"] = false;
    for (const char* key : {"bytes_sent_per_rank", "collectives", "seconds_plan", "seconds_run"})
        report[key] = nullptr;
    return report;
}

/// Returns the reason why a case that ran has not passed.
std::string reason_of(const CheckOutcome& outcome) {
    const std::string kind = outcome.is_absolute ? "root mean square error" : "relative_l2";
    if (outcome.is_contradictory)
        return "the check case contradicts itself: check/output and check/output64, which should "
               "be "
               "one model in single and in double precision, differ by " +
               number(outcome.official_relative_l2) + " (at most " +
               number(largest_official_error) + "; " + kind + " of this run " +
               number(outcome.relative_l2) + "). Export the case again";
    return kind + " is " + number(outcome.relative_l2) + ", more than " + number(outcome.bound);
}

void add(Json& report, const CheckResult& result) {
    const CheckOutcome& outcome = result.outcome;
    report["family"] = result.family;
    report["backend"] = result.backend;
    report["precision"] = result.precision;
    report["threads"] = result.threads;
    report["vector"] = result.vector;
    report["relative_l2"] = outcome.relative_l2;
    report["official_relative_l2"] = outcome.official_relative_l2;  // NaN becomes null
    report["max_abs"] = outcome.max_abs;
    report["truth"] = result.is_truth_double ? "double" : "single";
    report["hash"] = result.hash;
    report["passed"] = outcome.is_passed;
    report["bytes_sent_per_rank"] = result.bytes_sent_per_rank;
    report["collectives"] = result.collectives;
    report["seconds_plan"] = result.seconds_plan;
    report["seconds_run"] = result.seconds_run;
    if (!outcome.is_passed) report["error"] = reason_of(outcome);
}

/// Returns a text such as "1.2e-07 (allowed 2e-06, official code 1.8e-07)".
std::string error_of(const CheckResult& result) {
    const CheckOutcome& outcome = result.outcome;
    std::string text = number(outcome.relative_l2) + " (allowed " + number(outcome.bound);
    if (!std::isnan(outcome.official_relative_l2))
        text += ", official code " + number(outcome.official_relative_l2);
    return text + ")";
}

void print_result(const Job& job, const CheckArguments& arguments, const CheckResult& result) {
    if (!job.is_root()) return;
    const CheckSettings& s = arguments.settings;
    const CheckOutcome& outcome = result.outcome;
    const std::string mode = s.is_reproducible ? "reproducible" : "fast";
    Lines lines;
    lines.add("model", one_line(arguments.file) + " (" + result.family + ")");
    lines.add("ranks", std::to_string(job.size()) + " x " + std::to_string(result.threads) +
                           " threads, " + s.partition);
    lines.add("backend",
              result.backend + ", " + result.vector + ", " + result.precision + ", " + mode);
    if (!result.is_truth_double)
        lines.add(
            "truth",
            "single: the file has no check/output64. y is compared with the official run in\n"
            "single precision; how far that is from the truth is not known, and errors below\n"
            "the 1e-5 that it is allowed to be off do not show");
    lines.add(outcome.is_absolute ? "root mean square error" : "relative L2 error",
              error_of(result));
    if (outcome.is_absolute) lines.add("", "(not relative: the true output is zero)");
    lines.add("largest error", number(outcome.max_abs));
    lines.add("hash", result.hash);
    lines.add("sent by a rank", std::to_string(result.bytes_sent_per_rank) + " bytes in " +
                                    std::to_string(result.collectives) + " collectives");
    lines.add("seconds",
              number(result.seconds_plan) + " plan, " + number(result.seconds_run) + " run");
    lines.add("result", outcome.is_passed ? "passed" : "NOT PASSED: " + reason_of(outcome));
    print(lines.text());
}

/// Returns the report file of the command line. Repeated runs may overwrite it.
OutputFile report_file(const std::string& option, const std::string& path) {
    return {option_text(option, path), path, Earlier::report, "", true};
}

std::vector<OutputFile> json_file(const CheckArguments& arguments) {
    if (arguments.json.empty()) return {};
    return {report_file("--json", arguments.json)};
}

void write_report(const Job& job, const CheckArguments& arguments, const Json& report) {
    job.agree([&] {
        if (!job.is_root() || arguments.json.empty()) return;
        // ASCII, because a report may be printed.
        write_output(arguments.json,
                     report.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
    });
}

CheckResult evaluate(const Job& job, const CheckArguments& arguments) {
    if (!arguments.save.empty()) {
        std::vector<OutputFile> outputs = json_file(arguments);
        outputs.push_back(report_file("--save", arguments.save));
        check_outputs(job, {{"the model", arguments.file}}, outputs);
    }
    const Context context = job.make_context();
    const LoadedCase loaded = load_case(job, context, arguments.file);
    CheckResult result = run_check(job, context, loaded, arguments.settings);
    job.agree([&] {
        if (job.is_root() && !arguments.save.empty())
            write_tensor_file(arguments.save, "y", loaded.tensors.y_shape, result.y,
                              result.precision == "fp64");
    });
    return result;
}

}  // namespace

Exit check(const Job& job, const CheckArguments& arguments) {
    check_outputs(job, {{"the model", arguments.file}}, json_file(arguments));
    Json report = requested(job, arguments);
    Exit status = Exit::success;
    const auto note = [&](Exit why, const char* text) {
        status = why;
        report["error"] = text;
        if (job.is_root()) print_error(std::string("surrogate check: ") + text);
    };
    try {
        const CheckResult result = evaluate(job, arguments);
        add(report, result);
        print_result(job, arguments, result);
        status = result.outcome.is_passed ? Exit::success : Exit::not_passed;
    } catch (const Failure& failure) {
        note(failure.status(), failure.what());
    } catch (const Error& error) {
        note(job.exit_status(error), error.what());
    }
    write_report(job, arguments, report);
    return status;
}

void report_usage_error(const Job& job, const CheckArguments& arguments, const std::string& error,
                        const std::vector<std::string>& words) {
    Json report = requested(job, arguments);
    report["error"] = error;
    std::vector<InputFile> named;
    for (const std::string& word : words)
        named.push_back({"a file that the command line names", word});
    check_outputs(job, named, json_file(arguments));
    write_report(job, arguments, report);
}

}  // namespace surrogate::tool
