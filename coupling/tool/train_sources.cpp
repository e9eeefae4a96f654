// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train_sources.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/training/augment.hpp"
#include "coupling/training/dataset_trial.hpp"
#include "coupling/training/hash.hpp"
#include "coupling/training/labels.hpp"
#include "coupling/training/rollout.hpp"
#include "coupling/training/run.hpp"
#include "coupling/training/sample.hpp"
#include "coupling/training/statistics.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

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

}  // namespace

TrainSources open_sources(const Job& job, const Context& data_parallel, const TrainConfig& config) {
    TrainSources sources;
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

std::vector<bool> check_zero_targets(const Job& job, const Context& data_parallel,
                                     const TrainConfig& config, const TrainSources& sources,
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

}  // namespace surrogate::tool
