// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate_particles.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/evaluate_report.hpp"
#include "coupling/training/embedding_evaluation.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

std::string csv_of(const TrainData& data, const std::vector<EmbeddingScore>& samples) {
    std::string text = "file,sample,state,hits,accuracy,precision,recall\n";
    for (size_t i = 0; i < samples.size(); ++i)
        text += sample_cells(data, data.training()[i]) + "," + std::to_string(samples[i].n_hit) +
                "," + csv_number(samples[i].accuracy) + "," + csv_number(samples[i].precision) +
                "," + csv_number(samples[i].recall) + "\n";
    return text;
}

json json_of(const EmbeddingScore& score) {
    return {{"hits", score.n_hit},
            {"accuracy", score.accuracy},
            {"precision", score.precision},
            {"recall", score.recall}};
}

/// Returns the hits that --min-pt scores; none without the option. Throws Failure.
std::optional<MomentumCut> cut_of(const EvaluateArguments& arguments, const TrainData& data) {
    const std::string& text = arguments.min_pt;
    if (text.empty()) return {};
    const auto least = finite_number(text);
    if (!least || *least < 0)
        fail("--min-pt is '" + one_line(text, 60) + "', expected a number of at least 0");
    const MomentumCut cut{data.channel("pt", false), *least};
    if (cut.pt.is_per_sample) fail("'pt' has one number per sample, expected one per point");
    return cut;
}

std::string report_of(const EvaluateArguments& arguments, const TrainData& data,
                      const EmbeddingEvaluation& evaluation,
                      const std::optional<MomentumCut>& cut) {
    json own = json_of(evaluation.mean());
    if (cut) own["min_pt"] = cut->least;
    own["samples"] = json::array();
    for (size_t i = 0; i < evaluation.samples().size(); ++i) {
        json sample = sample_json(data, data.training()[i]);
        sample.update(json_of(evaluation.samples()[i]));
        own["samples"].push_back(sample);
    }
    return report_text(arguments, evaluation.outside(), own);
}

}  // namespace

void evaluate_particles(const Job& job, const Context& context, const Model& model,
                        const EvaluateArguments& arguments, const TrainData& data,
                        const ModelChannels& channels, const Options& options) {
    std::optional<MomentumCut> cut;
    job.agree([&] { cut = cut_of(arguments, data); });
    EmbeddingEvaluation evaluation(job, context, model, data, channels, options, cut);
    evaluation.run();
    job.agree([&] {
        if (!job.is_root()) return;
        if (!arguments.csv.empty()) write_output(arguments.csv, csv_of(data, evaluation.samples()));
        if (!arguments.json.empty())
            write_output(arguments.json, report_of(arguments, data, evaluation, cut));
    });
    if (!job.is_root()) return;
    const EmbeddingScore mean = evaluation.mean();
    Lines lines;
    lines.add("samples", grouped(std::ssize(evaluation.samples())));
    lines.add(cut ? "scored hits of pt above " + number(cut->least) : "scored hits",
              grouped(mean.n_hit));
    lines.add("accuracy@k", number(mean.accuracy));
    lines.add("precision", number(mean.precision));
    lines.add("recall", number(mean.recall));
    print(lines.text() + outside_text(evaluation.outside()));
}

}  // namespace surrogate::tool
