// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/weights.hpp"

#include <surrogate/surrogate_train.h>

#include <cmath>

#include "coupling/job/output.hpp"
#include "coupling/training/labels.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

/// Chance of a draw without a point that counts which no training meets.
constexpr double least_chance = 1e-12;

/// Checks the points of one sample.
class WeightCheck {
public:
    WeightCheck(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                const WeightUse& use)
        : file_(data.file(pair.file)),
          channels_(channels),
          state_(pair.target),
          where_(sample_text(data, pair.file, pair.target)),
          use_(use) {}

    void run() const {
        const int64_t n_point = file_.n_point(state_.sample);
        int64_t n_counted = 0;
        for_each_part(n_point, [&](const PointRange& range) { n_counted += count(range); });
        if (n_counted == 0)
            fail("no point of " + where_ + " counts in the loss: " + why() +
                 " at all of them; leave the sample out");
        const int64_t n_excluded = n_point - n_counted;
        const double excluded = static_cast<double>(n_excluded) / static_cast<double>(n_point);
        const auto n_drawn = static_cast<double>(use_.n_drawn);
        if (use_.n_drawn == 0 || use_.n_drawn > n_excluded ||
            std::pow(excluded, n_drawn) < least_chance)
            return;
        fail(std::to_string(n_excluded) + " of " + std::to_string(n_point) + " points of " +
             where_ + " do not count in the loss (" + why() + "), and a draw of 'points' = " +
             std::to_string(use_.n_drawn) + " may have only such points; increase 'points'");
    }

private:
    bool has_weight() const { return file_.form().has_weight; }
    std::string why() const {
        std::string why = has_weight() ? "'weight' is 0" : "";
        if (channels_.labels)
            why = "'" + one_line(channels_.labels->stored, 60) + "' is -100" +
                  (why.empty() ? "" : " or ") + why;
        return why;
    }

    /// Returns the number of points of a range that count.
    int64_t count(const PointRange& range) const {
        std::vector<int64_t> labels(static_cast<size_t>(range.n));
        std::vector<double> weights(labels.size(), 1.0);
        if (channels_.labels)
            labels = read_labels(file_, channels_.labels->stored, state_, {}, range);
        if (has_weight()) weights = read_weights(file_, state_, {}, range);
        int64_t n = 0;
        for (size_t i = 0; i < labels.size(); ++i) {
            if (weights[i] == 0 && !use_.is_in_loss)
                fail("'weight' of " + where_ + " is 0 at point " +
                     std::to_string(range.first + static_cast<int64_t>(i)) +
                     ", and loss 'mse' has no weights; set loss = \"weighted_mse\"");
            if (weights[i] > 0 && labels[i] != SURROGATE_IGNORED_LABEL) ++n;
        }
        return n;
    }

    const dataset::ReadFile& file_;
    const ModelChannels& channels_;
    dataset::State state_;
    std::string where_;
    WeightUse use_;
};

}  // namespace

void check_weights(const Job& job, const TrainData& data, const ModelChannels& channels,
                   const std::vector<Pair>& pairs, const WeightUse& use) {
    if (channels.is_pooled()) return;
    std::vector<bool> is_checked(data.n_file());
    for_own_pairs(job, pairs, [&](const Pair& pair) {
        const auto& form = data.file(pair.file).form();
        const bool has_draw = channels.labels && use.n_drawn > 0;
        if (!form.has_weight && !has_draw) return;
        // All samples of a file may share their weights.
        const bool is_same = !form.has_sample_weight && !channels.labels;
        if (is_same && is_checked[pair.file]) return;
        is_checked[pair.file] = true;
        WeightCheck(data, channels, pair, use).run();
    });
}

}  // namespace surrogate::tool
