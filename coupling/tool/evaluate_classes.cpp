// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate_classes.hpp"

#include <surrogate/surrogate_train.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "coupling/job/classes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/evaluate_figures.hpp"
#include "coupling/tool/evaluate_report.hpp"
#include "coupling/training/class_evaluation.hpp"
#include "coupling/training/labels.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

/// Returns --top-k, or 1 and, of more than 5 classes, 5.
std::vector<int64_t> top_k_of(const EvaluateArguments& arguments, size_t n_class) {
    const auto most = static_cast<int64_t>(n_class);
    for (const int64_t k : arguments.top_k)
        if (k < 1 || k > most)
            fail("--top-k is " + std::to_string(k) + ", expected 1 to " + std::to_string(most) +
                 ", the number of classes");
    if (!arguments.top_k.empty()) return arguments.top_k;
    return most > 5 ? std::vector<int64_t>{1, 5} : std::vector<int64_t>{1};
}

std::string shown(double value) {
    return std::isnan(value) ? "-" : number(value);
}

int64_t n_labeled(const ClassScores& scores, size_t label) {
    int64_t n = 0;
    for (size_t c = 0; c < scores.n_class(); ++c) n += scores.count(label, c);
    return n;
}

std::string class_table(const std::vector<std::string>& names, const ClassScores& scores) {
    std::vector<std::vector<std::string>> rows = {
        {"class", "points", "precision", "recall", "F1", "IoU", "average precision", "ROC AUC"}};
    const auto add = [&](const std::string& name, int64_t n, const ClassScore& score) {
        rows.push_back({name, grouped(n), shown(score.precision), shown(score.recall),
                        shown(score.f1), shown(score.iou), shown(score.average_precision),
                        shown(score.roc_auc)});
    };
    int64_t n_point = 0;
    for (size_t label = 0; label < names.size(); ++label) {
        const int64_t n = n_labeled(scores, label);
        add(one_line(names[label], 60), n, scores.of_class(label));
        n_point += n;
    }
    add("mean", n_point, scores.mean());
    return table(rows);
}

/// Returns the confusion matrix: a row for each label, a column for each predicted class.
std::string confusion_table(const std::vector<std::string>& names, const ClassScores& scores) {
    std::vector<std::vector<std::string>> rows = {{"label / predicted"}};
    for (const std::string& name : names) rows[0].push_back(one_line(name, 40));
    for (size_t label = 0; label < names.size(); ++label) {
        rows.push_back({one_line(names[label], 40)});
        for (size_t c = 0; c < names.size(); ++c)
            rows.back().push_back(grouped(scores.count(label, c)));
    }
    return table(rows);
}

std::string csv_of(const std::vector<std::string>& names, const ClassScores& scores) {
    std::string text = "label,predicted,points\n";
    for (size_t label = 0; label < names.size(); ++label)
        for (size_t c = 0; c < names.size(); ++c)
            text += csv_text(names[label]) + "," + csv_text(names[c]) + "," +
                    std::to_string(scores.count(label, c)) + "\n";
    return text;
}

json json_of(const ClassScore& score) {
    return {{"precision", json_number(score.precision)},
            {"recall", json_number(score.recall)},
            {"f1", json_number(score.f1)},
            {"iou", json_number(score.iou)},
            {"average_precision", json_number(score.average_precision)},
            {"roc_auc", json_number(score.roc_auc)}};
}

std::string report_of(const EvaluateArguments& arguments, const TrainData& data,
                      const std::vector<std::string>& names, const std::vector<int64_t>& top_k,
                      const ClassEvaluation& evaluation) {
    const ClassScores& scores = evaluation.scores();
    json classes = json::array(), confusion = json::array(), samples = json::array();
    for (size_t label = 0; label < names.size(); ++label) {
        classes.push_back(json_of(scores.of_class(label)));
        classes.back()["name"] = names[label];
        classes.back()["points"] = n_labeled(scores, label);
        json row = json::array();
        for (size_t c = 0; c < names.size(); ++c) row.push_back(scores.count(label, c));
        confusion.push_back(row);
    }
    json best = json::array();
    const std::vector<double> accuracy = scores.top_k_accuracy();
    for (size_t i = 0; i < top_k.size(); ++i)
        best.push_back({{"k", top_k[i]}, {"accuracy", accuracy[i]}});
    for (size_t i = 0; i < data.training().size(); ++i) {
        samples.push_back(sample_json(data, data.training()[i]));
        samples.back()["accuracy"] = scores.accuracy_of_samples()[i];
    }
    return report_text(arguments, evaluation.outside(),
                       {{"accuracy", scores.accuracy()},
                        {"balanced_accuracy", scores.balanced_accuracy()},
                        {"iou", scores.iou()},
                        {"cross_entropy", json_number(scores.cross_entropy())},
                        {"top_k", best},
                        {"mean", json_of(scores.mean())},
                        {"classes", classes},
                        {"confusion", confusion},
                        {"worst", samples[evaluation.worst_sample()]},
                        {"samples", samples}});
}

void print_summary(const TrainData& data, const std::vector<std::string>& names,
                   const std::vector<int64_t>& top_k, const ClassEvaluation& evaluation) {
    const ClassScores& scores = evaluation.scores();
    Lines lines;
    lines.add("samples", grouped(std::ssize(data.training())));
    lines.add("accuracy", number(scores.accuracy()));
    const std::vector<double> accuracy = scores.top_k_accuracy();
    for (size_t i = 0; i < top_k.size(); ++i)
        if (top_k[i] > 1)
            lines.add("top " + std::to_string(top_k[i]) + " accuracy", number(accuracy[i]));
    lines.add("balanced accuracy", number(scores.balanced_accuracy()));
    lines.add("IoU", number(scores.iou()));
    lines.add("cross-entropy", number(scores.cross_entropy()));
    const Pair& worst = data.training()[evaluation.worst_sample()];
    lines.add("worst sample", sample_text(data, worst.file, worst.target) + ", accuracy " +
                                  number(scores.accuracy_of_samples()[evaluation.worst_sample()]));
    print(lines.text() + class_table(names, scores) + confusion_table(names, scores) +
          outside_text(evaluation.outside()));
}

/// Classes of one sample for a figure or file.
struct ShownClasses {
    ShownField predicted{"class", "", {}}, label{"class.target", "", {}};
    std::vector<ShownField> probabilities;  ///< by class
    ShownField of_label{"probability", "", {}};
};

ShownClasses shown_classes(const ClassSample& sample, const std::vector<std::string>& names) {
    ShownClasses shown;
    for (const std::string& name : names) shown.probabilities.push_back({name, "", {}});
    std::vector<double> logits(sample.logits.size()), probabilities(names.size());
    for (size_t i = 0; i < sample.labels.size(); ++i) {
        for (size_t o = 0; o < logits.size(); ++o) logits[o] = sample.logits[o][i];
        shown.predicted.values.push_back(static_cast<double>(classify(logits, probabilities)));
        const int64_t label = sample.labels[i];
        const bool is_ignored = label == SURROGATE_IGNORED_LABEL;
        const double nan = std::numeric_limits<double>::quiet_NaN();
        shown.label.values.push_back(is_ignored ? nan : static_cast<double>(label));
        shown.of_label.values.push_back(is_ignored ? nan
                                                   : probabilities[static_cast<size_t>(label)]);
        for (size_t c = 0; c < names.size(); ++c)
            shown.probabilities[c].values.push_back(probabilities[c]);
    }
    return shown;
}

/// Draws and writes the sample with the smallest accuracy. Collective.
void write_worst(const Job& job, const EvaluateArguments& arguments, const TrainData& data,
                 const std::vector<std::string>& names, ClassEvaluation& evaluation) {
    const size_t worst = evaluation.worst_sample();
    const GatheredClasses gathered = evaluation.gather(worst);
    job.agree([&] {
        if (!job.is_root()) return;
        const ShownSample sample{data, data.training()[worst], gathered.points};
        const ShownClasses shown = shown_classes(gathered.sample, names);
        const double last = static_cast<double>(names.size()) - 1;
        if (!arguments.plot.empty())
            write_figure(arguments.plot, sample,
                         "worst of " + std::to_string(data.training().size()) +
                             " samples: sample " + std::to_string(sample.pair.target.sample) +
                             ", accuracy " +
                             number(evaluation.scores().accuracy_of_samples()[worst]),
                         {{"label", shown.label, 0, last},
                          {"class", shown.predicted, 0, last},
                          {"probability of the label", shown.of_label, 0, 1}});
        if (arguments.worst.empty()) return;
        std::vector<ShownField> fields = {shown.predicted, shown.label};
        fields.insert(fields.end(), shown.probabilities.begin(), shown.probabilities.end());
        write_sample(arguments.worst, sample, fields);
    });
}

}  // namespace

void evaluate_classes(const Job& job, const Context& context, const Model& model,
                      const EvaluateArguments& arguments, const TrainData& data,
                      const ModelChannels& channels, const Options& options) {
    const std::vector<std::string> names = class_names(channels);
    const std::vector<int64_t> top_k = top_k_of(arguments, names.size());
    ClassEvaluation evaluation(job, context, model, data, channels, options, top_k);
    evaluation.run();
    job.agree([&] {
        if (!job.is_root()) return;
        if (!arguments.csv.empty()) write_output(arguments.csv, csv_of(names, evaluation.scores()));
        if (!arguments.json.empty())
            write_output(arguments.json, report_of(arguments, data, names, top_k, evaluation));
    });
    if (!arguments.plot.empty() || !arguments.worst.empty())
        write_worst(job, arguments, data, names, evaluation);
    if (job.is_root()) print_summary(data, names, top_k, evaluation);
}

}  // namespace surrogate::tool
