// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "coupling/job/output.hpp"
#include "coupling/job/read_text.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/train_sources.hpp"
#include "coupling/training/clouds.hpp"
#include "coupling/training/fingerprint.hpp"
#include "coupling/training/labels.hpp"
#include "coupling/training/rollout.hpp"
#include "coupling/training/run.hpp"
#include "coupling/training/statistics.hpp"
#include "coupling/training/weights.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

/// Returns the text of the configuration, which rank 0 reads, on all ranks.
std::string config_text(const Job& job, const std::string& path) {
    std::string text;
    job.agree([&] {
        if (!job.is_root()) return;
        auto content = read_text(path, largest_config);
        if (!content)
            throw Failure(Exit::bad_usage, "cannot read the configuration '" + path +
                                               "': " + why_unreadable(path, largest_config));
        text = std::move(*content);
    });
    return job.broadcast(text);
}

/// Checks values that only the library can validate. Errors name the location in the configuration.
void check_settings(const TrainConfig& config) {
    TrainerOptions training;
    Options options;
    std::string wrong;
    const auto attempt = [&](auto& target, const Setting& setting) {
        try {
            target.set(setting.key, setting.value);
        } catch (const Error& error) {
            wrong += (wrong.empty() ? "" : "\n") + setting.place + ": " + error.what();
        }
    };
    for (const Setting& setting : config.training) attempt(training, setting);
    for (const Setting& setting : config.training) {
        if (setting.key != "loss") continue;
        if (setting.value != "custom") continue;
        wrong += (wrong.empty() ? "" : "\n") + setting.place +
                 ": loss 'custom' is for programs that compute the loss themselves "
                 "(surrogate_trainer_forward), expected a loss of the library";
    }
    for (const Setting& setting : config.options) attempt(options, setting);
    if (!wrong.empty()) throw Failure(Exit::bad_usage, wrong);
    const std::string loss = loss_of(config);
    const bool is_classifier = uses_classes(loss), is_embedding = loss == "infonce";
    if ((is_classifier || is_embedding) && config.data.labels.empty())
        throw Failure(Exit::bad_usage,
                      "loss '" + loss + "' needs 'labels' in [data], the variable with the " +
                          (is_embedding ? "particle" : "class") + " of each point");
    if (!is_classifier && !is_embedding && !config.data.labels.empty())
        throw Failure(
            Exit::bad_usage,
            "'labels' in [data] needs loss = \"cross_entropy\", \"focal\" or \"infonce\", "
            "the loss is '" +
                loss + "'");
    if (!is_classifier && !config.class_weights.empty())
        throw Failure(Exit::bad_usage,
                      "'class_weights' needs loss = \"cross_entropy\" or \"focal\", the loss is '" +
                          loss + "'");
}

std::vector<InputFile> inputs_of(const TrainArguments& arguments, const TrainConfig& config) {
    std::vector<InputFile> inputs = {{"the configuration", arguments.config}};
    if (!config.model.file.empty())
        inputs.push_back({"the model to train further", config.model.file});
    for (const std::string& path : config.data.train) inputs.push_back({"a training set", path});
    for (const std::string& path : config.data.validation)
        inputs.push_back({"a validation set", path});
    return inputs;
}

EarlierTraining earlier_of(const TrainArguments& arguments) {
    if (arguments.resume) return EarlierTraining::resumed;
    return arguments.overwrite ? EarlierTraining::replaced : EarlierTraining::stays;
}

std::string points_text(const TrainData& data) {
    const auto extents = data.file(0).extents(0);
    std::string text;
    for (const int64_t extent : extents) text += (text.empty() ? "" : " x ") + grouped(extent);
    return text + " points" + (data.has_one_place() ? "" : " in the first");
}

std::string summary(const TrainParts& parts, int64_t n_batch) {
    Lines lines;
    lines.add("training", grouped(static_cast<int64_t>(parts.data.training().size())) +
                              " samples, " + points_text(parts.data));
    lines.add("validation",
              grouped(static_cast<int64_t>(parts.data.validation().size())) + " samples");
    lines.add("steps", grouped(n_batch) + " an epoch of " + std::to_string(parts.config.batch) +
                           " samples, " + grouped(n_batch * parts.config.n_epoch) + " in all");
    return lines.text();
}

/// Measures memory, bytes and the time of a step on one sample, with the average number of own
/// leads; writes nothing. The time is the least of three, or the first if it exceeds 2 s.
void dry_run(TrainParts& parts, int64_t n_batch) {
    using clock = std::chrono::steady_clock;
    const auto& pairs = parts.data.training();
    const int64_t n_mean = (parts.config.rollout - 1) / 2;
    const Pair& one = pairs[std::min(static_cast<size_t>(n_mean), pairs.size() - 1)];
    const int64_t n_own = most_own_leads(n_mean + 1, one);
    double least = 1e300;
    surrogate_step_report report{};
    for (int i = 0; i < 3 && (i == 0 || least < 2); ++i) {
        const auto begin = clock::now();
        int64_t n = 0;
        do {
            parts.engine.load({Draw{&one, {}, n_own}});
            report = parts.engine.trainer().step();
            ++n;
        } while (report.samples == 0);
        const std::chrono::duration<double> took = clock::now() - begin;
        least = std::min(least, parts.job.max(took.count()));
    }
    if (!parts.job.is_root()) return;
    print(summary(parts, n_batch) + parts.engine.plan().describe() + "\n" +
          parts.engine.trainer().describe() + "\n");
    Lines lines;
    lines.add("time of a step", number(least) + " s, measured on one sample, reading included");
    lines.add("an epoch", duration(least * static_cast<double>(n_batch)) + " without validation");
    lines.add("all epochs", duration(least * static_cast<double>(n_batch * parts.config.n_epoch)));
    print(lines.text());
}

void print_result(const TrainParts& parts, const TrainRun& run, Exit status) {
    if (!parts.job.is_root()) return;
    Lines lines;
    const auto& rows = run.history().rows();
    if (const EpochRow* const best = run.history().best()) {
        std::string errors;
        for (size_t i = 0; i < best->error.size(); ++i)
            errors += (i > 0 ? ", " : "") + parts.channels.outputs[i].name + " " +
                      (std::isnan(best->error[i]) ? "undefined (no points, or all are zero)"
                                                  : number(best->error[i]));
        const std::string what =
            best->error.empty()     ? ", loss on held-out samples: " + number(best->validation)
            : parts.channels.labels ? ", fraction of wrong points on held-out samples: "
                                    : ", relative L2 error on held-out samples: ";
        lines.add("best",
                  parts.folder.best() + ": epoch " + std::to_string(best->epoch) + what + errors);
    }
    lines.add("last", parts.folder.last() + ": epoch " +
                          std::to_string(rows.empty() ? 0 : rows.back().epoch));
    if (run.has_stalled())
        lines.add("ended", "early: the validation loss was not smaller in the last " +
                               std::to_string(parts.config.early_stopping) + " epochs");
    lines.add("curves", parts.folder.file("loss.csv") + ", loss.png");
    if (status == Exit::stopped)
        lines.add("stopped", "by a signal; surrogate train CONFIG --resume continues");
    print(lines.text());
}

}  // namespace

Exit train(Job& job, const TrainArguments& arguments) {
    const std::string text = config_text(job, arguments.config);
    TrainConfig config;
    std::optional<RankGroup> group;
    job.agree([&] {
        config = parse_train_config(text, arguments.config);
        check_settings(config);
        group = group_of(job, config.n_group);
        if (loss_of(config) == "infonce" && group->size > 1)
            throw Failure(Exit::bad_usage,
                          "loss 'infonce' needs each sample on one rank, and 'groups' = " +
                              std::to_string(group->n) + " makes groups of " +
                              std::to_string(group->size) + "; set 'groups' to the " +
                              std::to_string(job.size()) + " ranks");
    });
    const bool is_quiet = arguments.quiet || !job.is_root();
    const auto say = [&](const std::string& line) {
        if (!is_quiet) print_error("surrogate: " + line);
    };
    for (const std::string& line : config.old_keys)
        if (job.is_root()) print_error("surrogate: " + line);
    const Context data_parallel = job.make_context();
    const TrainSources sources = open_sources(job, data_parallel, config);
    TrainFolder folder(job, config.folder);
    json provenance = json::object(), fingerprint = json::object();
    if (!arguments.dry_run) {
        folder.claim(inputs_of(arguments, config), earlier_of(arguments));
        provenance = provenance_of(job, config, text);
        fingerprint = fingerprint_of(config, provenance);
        folder.compare(fingerprint);
    }
    check_clouds(job, *sources.data, sources.channels, sources.data->training());
    check_clouds(job, *sources.data, sources.channels, sources.data->validation());
    say("reading the training set for its means and ranges");
    const auto& inputs = sources.channels.inputs;
    const auto& outputs = sources.channels.outputs;
    const DataStatistics statistics =
        read_statistics(job, data_parallel, *sources.data, inputs, sources.channels.fields());
    const auto check = loss_of(config) == "infonce" ? check_particles : check_labels;
    check(job, *sources.data, sources.channels, sources.data->training());
    check(job, *sources.data, sources.channels, sources.data->validation());
    const bool is_weighted = loss_of(config) != "mse";
    check_weights(job, *sources.data, sources.channels, sources.data->training(),
                  {is_weighted, config.data.n_drawn});
    check_weights(job, *sources.data, sources.channels, sources.data->validation(),
                  {is_weighted, 0});
    std::vector<std::string> warnings;
    const std::vector<bool> zero_targets =
        check_zero_targets(job, data_parallel, config, sources, &warnings);
    json card;
    job.agree([&] {
        card = sources.start
                   ? adapted_card(*sources.start, config, inputs, outputs, statistics, &warnings)
                   : new_card(config, inputs, outputs, statistics);
    });
    for (const std::string& warning : warnings)
        if (job.is_root()) print_error("surrogate: warning: " + warning);
    const auto n_batch = static_cast<int64_t>(sources.data->training().size()) / config.batch;
    TrainEngine engine(job, data_parallel, config, *sources.data, sources.channels, card,
                       statistics, n_batch * config.n_epoch);
    TrainParts parts{job,          data_parallel,  config,     *sources.data, sources.channels,
                     folder,       card,           provenance, fingerprint,   engine,
                     zero_targets, arguments.quiet};
    if (arguments.dry_run) {
        dry_run(parts, n_batch);
        return Exit::success;
    }
    TrainRun run(parts);
    if (arguments.resume) run.resume();
    folder.begin(text);
    const Exit status = run.run();
    print_result(parts, run, status);
    return status;
}

}  // namespace surrogate::tool
