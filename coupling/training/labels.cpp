// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/labels.hpp"

#include <algorithm>
#include <cmath>

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

constexpr int64_t part_points = int64_t{1} << 18;  // read at a time: 2 MB

/// Checks the labels and weights of one sample.
class SampleCheck {
public:
    SampleCheck(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                const LossPoints& points)
        : file_(data.file(pair.file)), channels_(channels), state_(pair.target), points_(points) {
        if (channels.is_pooled()) points_.n_drawn = 0;
    }

    void run() {
        const int64_t n_point = channels_.is_pooled() ? 1 : file_.n_point(state_.sample);
        for (int64_t first = 0; first < n_point; first += part_points)
            check({first, std::min(part_points, n_point - first)});
        const int64_t n_excluded = n_point - n_counted_, n_drawn = points_.n_drawn;
        if (n_counted_ == 0)
            fail("no point of " + where() + " counts in the loss: " + why() +
                 " at all of them; leave the sample out");
        const double excluded = static_cast<double>(n_excluded) / static_cast<double>(n_point);
        if (n_drawn == 0 || n_drawn > n_excluded ||
            std::pow(excluded, static_cast<double>(n_drawn)) < largest_chance)
            return;
        fail(std::to_string(n_excluded) + " of " + std::to_string(n_point) + " points of " +
             where() + " do not count in the loss (" + why() + "), and a draw of 'points' = " +
             std::to_string(n_drawn) + " may have only such points; increase 'points'");
    }

private:
    /// Chance at which a draw of excluded points only is not expected in any training.
    static constexpr double largest_chance = 1e-12;

    bool has_weight() const { return file_.form().has_weight && !channels_.is_pooled(); }
    std::string where() const {
        return "sample " + std::to_string(state_.sample) + " of '" + file_.path() + "'";
    }
    std::string why() const {
        std::string why = has_weight() ? "'weight' is 0" : "";
        if (channels_.labels) why = label_name() + " is -100" + (why.empty() ? "" : " or ") + why;
        return why;
    }
    std::string label_name() const { return "'" + one_line(channels_.labels->stored, 60) + "'"; }

    void check(const PointRange& range) {
        std::vector<int64_t> labels;
        std::vector<double> weights;
        if (channels_.labels)
            labels = read_labels(file_, channels_.labels->stored, state_, {}, range);
        if (has_weight()) weights = read_weights(file_, state_, {}, range);
        for (size_t i = 0; i < static_cast<size_t>(range.n); ++i) {
            const bool has_label = labels.empty() || labels[i] != ignored_label;
            const bool is_excluded = !weights.empty() && weights[i] == 0;
            if (!labels.empty() && has_label) check_label(labels[i], range.first, i);
            if (is_excluded && !points_.has_weights)
                fail("'weight' of " + where() + " is 0 at point " +
                     std::to_string(range.first + static_cast<int64_t>(i)) +
                     ", and loss 'mse' has no weights; set loss = \"weighted_mse\"");
            if (has_label && !is_excluded) ++n_counted_;
        }
    }

    void check_label(int64_t label, int64_t first, size_t i) const {
        const auto n_class = std::ssize(channels_.outputs);
        if (label >= 0 && label < n_class) return;
        fail(label_name() + " of " + where() + " has the label " + std::to_string(label) +
             " at point " + std::to_string(first + static_cast<int64_t>(i)) + ", expected 0 to " +
             std::to_string(n_class - 1) + " for the " + std::to_string(n_class) +
             " outputs, or -100 for a point to ignore");
    }

    const dataset::ReadFile& file_;
    const ModelChannels& channels_;
    dataset::State state_;
    LossPoints points_;
    int64_t n_counted_ = 0;
};

}  // namespace

std::vector<double> class_weights(const TrainConfig& config, const ModelChannels& channels) {
    std::vector<double> weights(channels.outputs.size(), 1.0);
    std::vector<std::string> names;
    for (const Channel& output : channels.outputs) names.push_back(output.name);
    for (const auto& [name, weight] : config.class_weights) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            const std::string near = near_word(name, names);
            fail("'class_weights' has '" + one_line(name, 60) + "', which is not an output" +
                 (near.empty() ? "" : "; did you mean '" + near + "'?"));
        }
        weights[static_cast<size_t>(found - names.begin())] = weight;
    }
    return weights;
}

void check_loss_points(const Job& job, const TrainData& data, const ModelChannels& channels,
                       const std::vector<Pair>& pairs, const LossPoints& points) {
    job.agree([&] {
        const auto size = static_cast<size_t>(job.size());
        std::vector<bool> is_checked(data.n_file());
        for (size_t i = static_cast<size_t>(job.rank()); i < pairs.size(); i += size) {
            const auto& form = data.file(pairs[i].file).form();
            const bool has_own = channels.labels || form.has_sample_weight;
            // All samples of a file may share their weights.
            if (!has_own && (!form.has_weight || is_checked[pairs[i].file])) continue;
            is_checked[pairs[i].file] = true;
            SampleCheck(data, channels, pairs[i], points).run();
        }
    });
}

}  // namespace surrogate::tool
