// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "coupling/job/output.hpp"
#include "coupling/job/read_text.hpp"
#include "coupling/job/text.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/training/clouds.hpp"
#include "coupling/training/dataset_trial.hpp"
#include "coupling/training/fingerprint.hpp"
#include "coupling/training/hash.hpp"
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

/// Rejects samples that are listed twice for training, or that are used for training and
/// validation, because errors would be underestimated. `one_of(path)` is equal for equal data sets.
template <class OneOf>
void check_data_sets(const TrainConfig::Data& data, const OneOf& one_of) {
    std::map<std::decay_t<decltype(one_of(""))>, std::string> training, validation;
    const auto refuse = [](const std::string& text) {
        throw Failure(Exit::bad_usage, text + "; leave one of them out");
    };
    const auto twice = [&](const char* list, const std::string& a, const std::string& b) {
        refuse("the same data set is twice in '" + std::string(list) + "': '" + a + "' and '" + b +
               "'");
    };
    for (const std::string& path : data.train)
        if (const auto [it, is_new] = training.emplace(one_of(path), path); !is_new)
            twice("train", it->second, path);
    for (const std::string& path : data.validation) {
        const auto key = one_of(path);
        if (const auto [it, is_new] = validation.emplace(key, path); !is_new)
            twice("validation", it->second, path);
        if (const auto same = training.find(key); same != training.end())
            refuse("the data set '" + path + "' of 'validation' is '" + same->second +
                   "' of 'train', so its errors would not be errors of held-out samples");
    }
}

/// Inputs of a training, checked against each other.
struct Sources {
    std::unique_ptr<TrainData> data;
    std::optional<Model> start;  ///< model of the configuration's file
    ModelChannels channels;
};

/// Checks on rank 0 that the data sets can be opened. Collective.
void try_datasets(const Job& job, const TrainConfig& config) {
    std::set<std::string> paths(config.data.train.begin(), config.data.train.end());
    paths.insert(config.data.validation.begin(), config.data.validation.end());
    job.agree([&] {
        if (!job.is_root()) return;
        for (const std::string& path : paths) try_dataset(path);
    });
}

/// Rejects draws of points from data or for losses that need all points.
void check_draw(const TrainConfig& config, const TrainData& data) {
    if (config.data.n_drawn == 0) return;
    const std::string text = "'points' in [data] draws random points of each sample, ";
    if (data.form().points == dataset::PointForm::sphere)
        fail(text + "but a network on the sphere needs its whole grid");
    if (loss_of(config) == "gradient_l2")
        fail(text + "but loss 'gradient_l2' needs the whole structured grid");
    if (config.rollout > 1) fail(text + "expected 'rollout' = 1 with it");
    if (data.has_clouds()) fail(text + "but clouds of points ('cloud_index') need all of theirs");
}

/// Rejects weights of points for a loss that cannot use them.
void check_weight_use(const TrainConfig& config, const TrainData& data,
                      const ModelChannels& channels) {
    for (size_t i = 0; i < data.n_file(); ++i) {
        if (!data.file(i).form().has_weight) continue;
        const std::string text = "data set '" + data.file(i).path() + "' has weights of points, ";
        if (loss_of(config) == "gradient_l2")
            fail(text + "and loss 'gradient_l2' cannot use them; set another loss");
        if (channels.is_pooled())
            fail(text + "and its targets are numbers per sample; remove 'weight'");
    }
}

Sources open_sources(const Job& job, const Context& data_parallel, const TrainConfig& config) {
    Sources sources;
    job.agree([&] {
        if (job.is_root())
            check_data_sets(config.data, [](const std::string& path) {
                const auto identity = file::identity_of(path);  // a missing file is reported later
                return std::pair(identity, identity.exists ? "" : path);
            });
    });
    if (!config.model.file.empty()) sources.start.emplace(data_parallel, config.model.file);
    try_datasets(job, config);
    job.agree([&] {
        sources.data = std::make_unique<TrainData>(config);
        sources.channels = sources.start ? channels_of(*sources.start, *sources.data)
                                         : channels_of(config, *sources.data);
        std::vector<Channel> all = sources.channels.inputs;
        all.insert(all.end(), sources.channels.outputs.begin(), sources.channels.outputs.end());
        check_symmetries(config.data.symmetries, *sources.data, all);
        check_rollout(config.rollout, *sources.data, sources.channels);
        (void)class_weights(config, sources.channels);  // throws for a name that is not a class
        check_draw(config, *sources.data);
        check_weight_use(config, *sources.data, sources.channels);
        check_augmentation(config, *sources.data, sources.channels);
        if (config.early_stopping > 0 && sources.data->validation().empty())
            throw Failure(Exit::bad_usage,
                          "'early_stopping' needs held-out samples, and 'validation' has none");
        const size_t n = sources.data->training().size();
        if (n < static_cast<size_t>(config.batch))
            throw Failure(Exit::bad_usage, "the training set has " + std::to_string(n) +
                                               " samples, 'batch' is " +
                                               std::to_string(config.batch));
    });
    // These weights are not used. The library checks family and network before numbers are read.
    std::optional<Model> trial;
    if (!sources.start)
        trial.emplace(initialized_model(data_parallel, trial_card(config, sources.channels).dump(),
                                        config.seed, config.model.output_scale));
    job.agree([&] {
        const Model& model = sources.start ? *sources.start : *trial;
        check_ports(model, sources.channels, *sources.data);
        if (uses_point_weights(model)) sources.data->require_weights();
    });
    return sources;
}

bool has_relative_loss(const TrainConfig& config) {
    const std::string loss = loss_of(config);
    return loss == "relative_l2" || loss == "gradient_l2";
}

/// Returns the first pair whose targets are all zero; pairs.size() without such a pair.
size_t first_zero_pair(const std::vector<bool>& zero, size_t n_output) {
    size_t pair = 0;
    for (const size_t n = zero.size() / n_output; pair < n; ++pair) {
        const auto begin = zero.begin() + static_cast<ptrdiff_t>(pair * n_output);
        if (std::all_of(begin, begin + static_cast<ptrdiff_t>(n_output), std::identity())) break;
    }
    return pair;
}

/// Checks for zero targets, because relative errors divide by the norm of the target. Samples that
/// are zero at all points are reported before the first step: as an error if the loss is relative,
/// otherwise as a warning for held-out samples. Returns the flags of the held-out pairs
/// (find_zero_targets). Collective.
std::vector<bool> check_zero_targets(const Job& job, const Context& data_parallel,
                                     const TrainConfig& config, const Sources& sources,
                                     std::vector<std::string>* warnings) {
    const TrainData& data = *sources.data;
    const auto& outputs = sources.channels.outputs;
    if (sources.channels.labels)
        return std::vector<bool>(data.validation().size() * outputs.size());
    const bool is_relative = has_relative_loss(config);
    const auto require_nonzero = [&](const std::vector<bool>& zero, const std::vector<Pair>& pairs,
                                     const std::string& which) {
        const size_t at = first_zero_pair(zero, outputs.size());
        if (at == pairs.size()) return;
        throw Failure(Exit::bad_usage,
                      "the target of " + which + " " +
                          sample_text(data, pairs[at].file, pairs[at].target) +
                          " is zero everywhere, and a relative loss divides by its norm; leave the "
                          "sample out, or set loss = \"mse\" in [training]");
    };
    if (is_relative)
        require_nonzero(find_zero_targets(job, data_parallel, data, data.training(), outputs),
                        data.training(), "the training set's");
    std::vector<bool> held_out =
        find_zero_targets(job, data_parallel, data, data.validation(), outputs);
    if (is_relative) require_nonzero(held_out, data.validation(), "the held-out");
    for (size_t o = 0; o < outputs.size(); ++o) {
        int64_t n = 0;
        size_t first = held_out.size();
        for (size_t i = o; i < held_out.size(); i += outputs.size()) {
            if (!held_out[i]) continue;
            first = std::min(first, i);
            ++n;
        }
        if (n == 0) continue;
        const Pair& pair = data.validation()[first / outputs.size()];
        warnings->push_back("'" + one_line(outputs[o].name, 60) + "' is zero everywhere in " +
                            grouped(n) + " held-out samples, the first is " +
                            sample_text(data, pair.file, pair.target) +
                            "; they do not count in its relative L2 error");
    }
    return held_out;
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

json provenance_of(const Job& job, const TrainConfig& config, const std::string& text) {
    json data = json::array();
    std::string date;
    job.agree([&] {
        if (job.is_root()) date = date_text();
    });
    std::map<std::string, std::string> hashes;
    const auto add = [&](const std::vector<std::string>& paths, const char* use) {
        for (const std::string& path : paths)
            data.push_back({{"file", path.substr(path.rfind('/') + 1)},
                            {"use", use},
                            {"xxh3", hashes[path] = file_hash(job, path)}});
    };
    add(config.data.train, "training");
    add(config.data.validation, "validation");
    check_data_sets(config.data, [&](const std::string& path) { return hashes.at(path); });
    json provenance = {{"program", std::string("surrogate train ") + surrogate_version()},
                       {"date", job.broadcast(date)},
                       {"data", data},
                       {"configuration", text},
                       {"configuration (xxh3)", text_hash(text)}};
    if (!config.model.file.empty())
        provenance["trained further from"] = {{"file", config.model.file},
                                              {"xxh3", file_hash(job, config.model.file)}};
    return provenance;
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
    const Sources sources = open_sources(job, data_parallel, config);
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
