// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/class_evaluation.hpp"

#include <algorithm>
#include <type_traits>

#include "coupling/job/classes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/training/labels.hpp"

namespace surrogate::tool {

ClassEvaluation::ClassEvaluation(const Job& job, const Context& context, const Model& model,
                                 const TrainData& data, const ModelChannels& channels,
                                 const Options& options, const std::vector<int64_t>& top_k)
    : job_(job),
      data_(data),
      channels_(channels),
      runs_(job, context, model, data, channels, options),
      is_probability_(returns_probability(model)),
      scores_(channels.outputs.size(), top_k) {}

ClassSample ClassEvaluation::evaluate(const Pair& pair) {
    std::vector<int64_t> labels;
    runs_.evaluate(pair, [&] {
        labels = read_labels(data_.file(pair.file), channels_.labels->stored, pair.target, {},
                             runs_.domain().range());
        require_classes(data_, channels_, pair, labels,
                        channels_.is_pooled() ? 0 : runs_.domain().range().first);
    });
    // One row per sample is the same on all ranks, and is taken from the first.
    const bool is_empty = channels_.is_pooled() && !job_.is_root();
    const auto gather = [&](const auto& values) {
        return job_.gather(is_empty ? std::decay_t<decltype(values)>() : values);
    };
    ClassSample sample{gather(labels), {}, {}};
    if (!channels_.is_pooled()) sample.weights = job_.gather(runs_.domain().weights());
    for (const std::vector<double>& logits : runs_.predictions())
        sample.logits.push_back(gather(logits));
    if (is_probability_) make_logits(&sample.logits[0]);
    return sample;
}

void ClassEvaluation::run() {
    for (const Pair& pair : data_.training()) {
        ClassSample sample = evaluate(pair);
        runs_.count_outside();
        job_.agree([&] {
            if (!job_.is_root() || scores_.add(std::move(sample))) return;
            fail("'" + one_line(channels_.labels->stored, 60) + "' of " +
                 sample_text(data_, pair.file, pair.target) +
                 " has no labeled point with a weight above 0; leave the sample out");
        });
    }
    runs_.finish_counts();
    const auto& accuracy = scores_.accuracy_of_samples();
    const auto worst = std::min_element(accuracy.begin(), accuracy.end());
    worst_ = static_cast<size_t>(job_.max(int64_t{worst - accuracy.begin()}));
}

GatheredClasses ClassEvaluation::gather(size_t index) {
    const Pair& pair = data_.training()[index];
    ClassSample sample = evaluate(pair);
    return {runs_.gather_points(pair), std::move(sample)};
}

}  // namespace surrogate::tool
