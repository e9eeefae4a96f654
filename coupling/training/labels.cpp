// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/labels.hpp"

#include <surrogate/surrogate_train.h>

#include <algorithm>

#include "coupling/job/classes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

std::string label_text(const TrainData& data, const ModelChannels& channels, const Pair& pair) {
    return "'" + one_line(channels.labels->stored, 60) + "' of " +
           sample_text(data, pair.file, pair.target);
}

void check_sample(const TrainData& data, const ModelChannels& channels, const Pair& pair) {
    const dataset::ReadFile& file = data.file(pair.file);
    bool has_class = false;
    for_each_part(file.n_point(pair.target.sample), [&](const PointRange& range) {
        const auto labels = read_labels(file, channels.labels->stored, pair.target, {}, range);
        require_classes(data, channels, pair, labels, channels.is_pooled() ? 0 : range.first);
        has_class = has_class || std::any_of(labels.begin(), labels.end(), [](int64_t label) {
                        return label != SURROGATE_IGNORED_LABEL;
                    });
    });
    if (!has_class)
        fail(label_text(data, channels, pair) +
             " ignores all points (label -100), and its loss is undefined; leave the "
             "sample out");
}

void check_particles_of(const TrainData& data, const ModelChannels& channels, const Pair& pair) {
    const dataset::ReadFile& file = data.file(pair.file);
    const int64_t n_point = file.n_point(pair.target.sample);
    const std::string where = label_text(data, channels, pair);
    std::vector<int64_t> ids =
        read_labels(file, channels.labels->stored, pair.target, {}, {0, n_point});
    const std::vector<double> weights = read_weights(file, pair.target, {}, {0, n_point});
    require_particles(data, channels, pair, ids, 0);
    for (size_t i = 0; i < ids.size(); ++i) {
        if (weights.empty() || weights[i] == 1) continue;
        if (weights[i] != 0)
            fail(where + ": the weight of point " + std::to_string(i) + " is " +
                 number(weights[i]) + ", expected 0 or 1 with loss 'infonce'");
        ids[i] = SURROGATE_IGNORED_LABEL;
    }
    std::erase(ids, SURROGATE_IGNORED_LABEL);
    std::sort(ids.begin(), ids.end());
    if (std::adjacent_find(ids.begin(), ids.end()) == ids.end())
        fail(where +
             " has no particle with two points of weight 1, and its loss is undefined; "
             "leave the sample out");
}

}  // namespace

bool uses_classes(const std::string& loss) {
    return loss == "cross_entropy" || loss == "focal";
}

std::vector<std::string> class_names(const ModelChannels& channels) {
    return class_names(names_of(channels.outputs));
}

std::vector<double> class_weights(const TrainConfig& config, const ModelChannels& channels) {
    std::vector<double> weights(class_names(channels).size(), 1.0);
    const std::vector<std::string> names = names_of(channels.outputs);
    for (const auto& [name, weight] : config.class_weights) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            const std::string near = near_word(name, names);
            fail("'class_weights' has '" + one_line(name, 60) + "', which is not an output" +
                 (near.empty() ? "" : "; did you mean '" + near + "'?"));
        }
        const auto output = static_cast<size_t>(found - names.begin());
        weights[output + weights.size() - names.size()] = weight;
    }
    return weights;
}

void require_classes(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                     const std::vector<int64_t>& labels, int64_t first) {
    const auto n_class = static_cast<int64_t>(n_class_of(channels.outputs.size()));
    const bool is_of_clouds = channels.is_pooled() && data.file(pair.file).form().has_clouds;
    for (size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == SURROGATE_IGNORED_LABEL || (labels[i] >= 0 && labels[i] < n_class))
            continue;
        fail(label_text(data, channels, pair) + " has the label " + std::to_string(labels[i]) +
             (is_of_clouds ? " at cloud " : " at point ") +
             std::to_string(first + static_cast<int64_t>(i)) + ", expected 0 to " +
             std::to_string(n_class - 1) + ", or -100 for a point to ignore");
    }
}

void require_particles(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                       const std::vector<int64_t>& ids, int64_t first) {
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 || ids[i] == SURROGATE_IGNORED_LABEL) continue;
        fail(label_text(data, channels, pair) + " has the id " + std::to_string(ids[i]) +
             " at point " + std::to_string(first + static_cast<int64_t>(i)) +
             ", expected 0 or more, or -100 for a point of no particle");
    }
}

void check_labels(const Job& job, const TrainData& data, const ModelChannels& channels,
                  const std::vector<Pair>& pairs) {
    if (!channels.labels) return;
    for_own_pairs(job, pairs, [&](const Pair& pair) { check_sample(data, channels, pair); });
}

void check_particles(const Job& job, const TrainData& data, const ModelChannels& channels,
                     const std::vector<Pair>& pairs) {
    for_own_pairs(job, pairs, [&](const Pair& pair) { check_particles_of(data, channels, pair); });
}

}  // namespace surrogate::tool
