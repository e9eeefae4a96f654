// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/check.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "coupling/tool/tensor_file.hpp"
#include "coupling/tool/text.hpp"

namespace surrogate::tool {

namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

/// The report before anything ran: what was asked for. Null: not known (yet).
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
    for (const char* key : {"relative_l2", "official_relative_l2", "max_abs", "hash"})
        report[key] = nullptr;
    report["passed"] = false;
    for (const char* key : {"bytes_sent_per_rank", "collectives", "seconds_plan", "seconds_run"})
        report[key] = nullptr;
    return report;
}

void add(Json& report, const CheckResult& result) {
    report["family"] = result.family;
    report["backend"] = result.backend;
    report["precision"] = result.precision;
    report["threads"] = result.threads;
    report["vector"] = result.vector;
    report["relative_l2"] = result.relative_l2;
    report["official_relative_l2"] = result.official_relative_l2;
    report["max_abs"] = result.max_abs;
    report["hash"] = result.hash;
    report["passed"] = result.is_passed;
    report["bytes_sent_per_rank"] = result.bytes_sent_per_rank;
    report["collectives"] = result.collectives;
    report["seconds_plan"] = result.seconds_plan;
    report["seconds_run"] = result.seconds_run;
    if (!result.is_passed)
        report["error"] =
            "relative_l2 is " + number(result.relative_l2) + ", more than " + number(result.bound);
}

void print(const Job& job, const CheckArguments& arguments, const CheckResult& result) {
    if (!job.is_root()) return;
    const CheckSettings& s = arguments.settings;
    const std::string mode = s.is_reproducible ? "reproducible" : "fast";
    Lines lines;
    lines.add("model", arguments.file + " (" + result.family + ")");
    lines.add("ranks", std::to_string(job.size()) + " x " + std::to_string(result.threads) +
                           " threads, " + s.partition);
    lines.add("backend",
              result.backend + ", " + result.vector + ", " + result.precision + ", " + mode);
    lines.add("relative L2 error", number(result.relative_l2) + " (allowed " +
                                       number(result.bound) + ", official code " +
                                       number(result.official_relative_l2) + ")");
    lines.add("largest error", number(result.max_abs));
    lines.add("hash", result.hash);
    lines.add("sent by a rank", std::to_string(result.bytes_sent_per_rank) + " bytes in " +
                                    std::to_string(result.collectives) + " collectives");
    lines.add("seconds",
              number(result.seconds_plan) + " plan, " + number(result.seconds_run) + " run");
    lines.add("result", result.is_passed ? "passed" : "NOT PASSED");
    std::fputs(lines.text().c_str(), stdout);
}

void write_report(const Job& job, const CheckArguments& arguments, const Json& report) {
    job.agree([&] {
        if (job.is_root() && !arguments.json.empty())
            write_text_file(arguments.json,
                            report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    });
}

CheckResult evaluate(const Job& job, const CheckArguments& arguments) {
    const Context context = job.make_context();
    const LoadedCase loaded = load_case(job, context, arguments.file);
    CheckResult result = run_check(job, context, loaded, arguments.settings);
    job.agree([&] {
        if (job.is_root() && !arguments.save.empty())
            write_tensor_file(arguments.save, "y", loaded.y_shape, result.y,
                              result.precision == "fp64");
    });
    return result;
}

}  // namespace

Exit check(const Job& job, const CheckArguments& arguments) {
    Json report = requested(job, arguments);
    Exit status = Exit::success;
    const auto note = [&](Exit why, const char* text) {
        status = why;
        report["error"] = text;
        if (job.is_root()) std::fprintf(stderr, "surrogate check: %s\n", text);
    };
    try {
        const CheckResult result = evaluate(job, arguments);
        add(report, result);
        print(job, arguments, result);
        status = result.is_passed ? Exit::success : Exit::not_passed;
    } catch (const Failure& failure) {
        note(failure.status(), failure.what());
    } catch (const Error& error) {
        note(exit_status(error.status()), error.what());
    }
    write_report(job, arguments, report);
    return status;
}

void report_usage_error(const Job& job, const CheckArguments& arguments, const std::string& error) {
    Json report = requested(job, arguments);
    report["error"] = error;
    write_report(job, arguments, report);
}

}  // namespace surrogate::tool
