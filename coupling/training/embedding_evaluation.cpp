// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/embedding_evaluation.hpp"

#include <surrogate/surrogate_train.h>

#include <array>
#include <stdexcept>

#include "coupling/training/labels.hpp"
#include "kernels/hept/metrics.hpp"

namespace surrogate::tool {

namespace {

/// Scores embeddings (by channel) of hits on all threads of this rank.
EmbeddingScore score_of(const std::vector<std::vector<double>>& embedding,
                        const std::vector<int64_t>& particles, const std::vector<double>& weights,
                        const std::vector<double>& pt, const std::optional<MomentumCut>& cut) {
    using namespace kernels;
    const auto n_hit = std::ssize(particles), n_channel = std::ssize(embedding);
    std::vector<float> rows(particles.size() * embedding.size());
    std::vector<int64_t> ids;  // 0: no particle
    std::vector<uint8_t> is_scored;
    for (size_t i = 0; i < particles.size(); ++i) {
        for (size_t c = 0; c < embedding.size(); ++c)
            rows[i * embedding.size() + c] = static_cast<float>(embedding[c][i]);
        ids.push_back(particles[i] == SURROGATE_IGNORED_LABEL ? 0 : particles[i] + 1);
        is_scored.push_back(weights.empty() || weights[i] > 0);
    }
    // Without a cut all momenta are 1.
    std::vector<float> momentum(particles.size(), 1);
    for (size_t i = 0; i < pt.size(); ++i) momentum[i] = static_cast<float>(pt[i]);
    const std::array<double, 1> threshold = {cut ? static_cast<float>(cut->least) : 0.0f};
    const Queue queue(Backend::simd, best_vector_level(), openmp_threads());
    const auto found =
        hept::tracking_scores<float>(queue, make_view<const float>(rows.data(), n_hit, n_channel),
                                     {ids, is_scored, momentum}, threshold);
    return {found[0].accuracy, found[0].precision, found[0].recall, found[0].n_point};
}

}  // namespace

EmbeddingEvaluation::EmbeddingEvaluation(const Job& job, const Context& context, const Model& model,
                                         const TrainData& data, const ModelChannels& channels,
                                         const Options& options,
                                         const std::optional<MomentumCut>& cut)
    : job_(job),
      data_(data),
      channels_(channels),
      cut_(cut),
      runs_(job, context, model, data, channels, options) {}

void EmbeddingEvaluation::run() {
    for (const Pair& pair : data_.training()) {
        std::vector<int64_t> particles;
        std::vector<double> pt;
        runs_.evaluate(pair, [&] {
            particles = read_labels(data_.file(pair.file), channels_.labels->stored, pair.target,
                                    {}, runs_.domain().range());
            require_particles(data_, channels_, pair, particles, runs_.domain().range().first);
            if (cut_)
                pt = read_range(data_.file(pair.file), cut_->pt.stored, pair.target, {},
                                runs_.domain().range());
        });
        runs_.count_outside();
        particles = job_.gather(particles);
        pt = job_.gather(pt);
        const std::vector<double> weights = job_.gather(runs_.domain().weights());
        std::vector<std::vector<double>> embedding;
        for (const std::vector<double>& channel : runs_.predictions())
            embedding.push_back(job_.gather(channel));
        job_.agree([&] {
            if (!job_.is_root()) return;
            try {
                samples_.push_back(score_of(embedding, particles, weights, pt, cut_));
            } catch (const std::runtime_error& error) {
                fail(sample_text(data_, pair.file, pair.target) + ": " + error.what());
            }
        });
    }
    runs_.finish_counts();
}

EmbeddingScore EmbeddingEvaluation::mean() const {
    EmbeddingScore mean;
    double n = 0;
    for (const EmbeddingScore& sample : samples_) {
        if (sample.n_hit == 0) continue;
        mean.accuracy += sample.accuracy;
        mean.precision += sample.precision;
        mean.recall += sample.recall;
        mean.n_hit += sample.n_hit;
        n += 1;
    }
    if (n == 0) return mean;
    for (double* const score : {&mean.accuracy, &mean.precision, &mean.recall}) *score /= n;
    return mean;
}

}  // namespace surrogate::tool
