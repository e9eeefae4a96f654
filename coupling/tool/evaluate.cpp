// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/evaluate_figures.hpp"
#include "coupling/training/dataset_trial.hpp"
#include "coupling/training/evaluation.hpp"
#include "coupling/training/weights.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

double positive_number(const std::string& text) {
    double value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !(value > 0) ||
        std::isinf(value))
        fail("--lead is '" + one_line(text, 60) + "', expected a number of seconds above 0");
    return value;
}

TrainConfig config_of(const EvaluateArguments& arguments) {
    TrainConfig config;
    config.model.file = arguments.model;
    config.data.train = arguments.data;
    for (const auto& [field, variable] : arguments.maps) config.data.names[field] = variable;
    config.data.labels = arguments.labels;
    if (!arguments.lead.empty()) config.data.lead_s = positive_number(arguments.lead);
    return config;
}

void check_arguments(const Job& job, const EvaluateArguments& arguments) {
    std::vector<InputFile> inputs = {{"the model", arguments.model}};
    for (const std::string& path : arguments.data) inputs.push_back({"a data set", path});
    std::vector<OutputFile> outputs;
    const auto add = [&](const char* option, const std::string& path, bool may_be_device) {
        if (path.empty()) return;
        OutputFile output{option_text(option, path), path};
        output.earlier = arguments.overwrite ? Earlier::replaced : Earlier::stays;
        output.may_be_device = may_be_device;
        outputs.push_back(output);
    };
    add("--csv", arguments.csv, true);
    add("--json", arguments.json, true);
    add("--plot", arguments.plot, false);
    add("--worst", arguments.worst, false);
    if (!arguments.worst.empty()) require_series(arguments.worst);
    if (!arguments.labels.empty() && !(arguments.plot.empty() && arguments.worst.empty()))
        fail("--plot and --worst show errors of fields, expected neither with --labels");
    check_outputs(job, inputs, outputs);
}

/// Returns a sample as text: "sample 3 of 'fields.h5'", with the state of a series.
std::string sample_text(const TrainData& data, const Pair& pair) {
    const dataset::ReadFile& file = data.file(pair.file);
    std::string text = "sample " + std::to_string(pair.input.sample);
    if (file.form().is_series) text += ", state " + std::to_string(pair.target.time);
    return text + " of '" + file.path() + "'";
}

std::string with_unit(const Channel& channel) {
    const std::string name = one_line(channel.name, 60);
    return channel.unit.empty() ? name : name + " [" + one_line(channel.unit, 40) + "]";
}

std::string error_table(const ModelChannels& channels, const std::vector<OutputErrors>& total) {
    std::vector<std::vector<std::string>> rows = {{"output", "L1", "L2", "relative L2", "maximum"}};
    for (size_t o = 0; o < total.size(); ++o) {
        const OutputErrors& errors = total[o];
        rows.push_back({with_unit(channels.outputs[o]), number(errors.l1), number(errors.l2),
                        std::isnan(errors.relative_l2) ? "undefined (all targets are zero)"
                                                       : number(errors.relative_l2),
                        number(errors.max)});
    }
    return table(rows);
}

/// Returns the inputs that are outside of the ranges on the card, one per line; "" if none is.
std::string outside_text(const std::vector<OutsideCount>& counts) {
    std::string text;
    for (const OutsideCount& count : counts)
        if (count.n_outside > 0)
            text += "  " + one_line(count.name, 60) + ": " + number(100 * count.fraction()) +
                    " % of the values\n";
    return text.empty() ? "" : "inputs outside the range of the training data:\n" + text;
}

/// Returns one row for each sample and output.
std::string csv_of(const TrainData& data, const ModelChannels& channels,
                   const std::vector<SampleErrors>& samples) {
    std::string text = "file,sample,state,output,unit,l1,l2,relative_l2,max\n";
    for (const SampleErrors& sample : samples) {
        const Pair& pair = data.training()[sample.pair];
        for (size_t o = 0; o < sample.outputs.size(); ++o) {
            const OutputErrors& errors = sample.outputs[o];
            text += csv_text(data.file(pair.file).path()) + "," +
                    std::to_string(pair.target.sample) + "," + std::to_string(pair.target.time) +
                    "," + csv_text(channels.outputs[o].name) + "," +
                    csv_text(channels.outputs[o].unit) + "," + csv_number(errors.l1) + "," +
                    csv_number(errors.l2) + "," + csv_number(errors.relative_l2) + "," +
                    csv_number(errors.max) + "\n";
        }
    }
    return text;
}

json json_of(const OutputErrors& errors) {
    return {{"l1", json_number(errors.l1)},
            {"l2", json_number(errors.l2)},
            {"relative_l2", json_number(errors.relative_l2)},
            {"max", json_number(errors.max)}};
}

json json_of(const TrainData& data, const Pair& pair) {
    return {{"file", data.file(pair.file).path()},
            {"sample", pair.target.sample},
            {"state", pair.target.time}};
}

json latitudes_of(const std::vector<LatitudeErrors>& rows) {
    json found = {{"latitude", json::array()}, {"l1", json::array()}, {"l2", json::array()}};
    for (const LatitudeErrors& row : rows) {
        found["latitude"].push_back(row.latitude);
        found["l1"].push_back(json_number(row.l1));
        found["l2"].push_back(json_number(row.l2));
    }
    return found;
}

json json_of(const std::vector<OutsideCount>& counts) {
    json inputs = json::array();
    for (const OutsideCount& count : counts)
        inputs.push_back(
            {{"name", count.name}, {"values", count.n_value}, {"outside_range", count.n_outside}});
    return inputs;
}

std::string report_of(const EvaluateArguments& arguments, const TrainData& data,
                      const ModelChannels& channels, const FieldEvaluation& evaluation) {
    const std::vector<OutputErrors> total = evaluation.total();
    const auto latitudes = evaluation.latitudes();
    json outputs = json::array(), samples = json::array();
    for (size_t o = 0; o < total.size(); ++o) {
        json output = json_of(total[o]);
        output["name"] = channels.outputs[o].name;
        output["unit"] = channels.outputs[o].unit;
        if (!latitudes.empty()) output["latitudes"] = latitudes_of(latitudes[o]);
        outputs.push_back(output);
    }
    for (const SampleErrors& sample : evaluation.samples()) {
        json entry = json_of(data, data.training()[sample.pair]);
        entry["outputs"] = json::array();
        for (const OutputErrors& errors : sample.outputs)
            entry["outputs"].push_back(json_of(errors));
        samples.push_back(entry);
    }
    const size_t worst = evaluation.worst_sample();
    json worst_entry = json_of(data, data.training()[worst]);
    worst_entry["relative_l2"] = json_number(evaluation.samples()[worst].worst());
    const json report = {{"program", std::string("surrogate evaluate ") + surrogate_version()},
                         {"model", arguments.model},
                         {"data", arguments.data},
                         {"outputs", outputs},
                         {"inputs", json_of(evaluation.outside())},
                         {"worst", worst_entry},
                         {"samples", samples}};
    return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Returns the output with the largest relative L2 error in a sample.
size_t worst_output(const SampleErrors& sample) {
    size_t worst = 0;
    for (size_t o = 1; o < sample.outputs.size(); ++o)
        if (sample.outputs[o].relative_l2 > sample.outputs[worst].relative_l2) worst = o;
    return worst;
}

void print_summary(const TrainData& data, const ModelChannels& channels,
                   const FieldEvaluation& evaluation) {
    const auto n_sample = static_cast<int64_t>(evaluation.samples().size());
    const size_t worst = evaluation.worst_sample();
    std::string text = grouped(n_sample) + (n_sample == 1 ? " sample\n" : " samples\n") +
                       error_table(channels, evaluation.total());
    if (const double error = evaluation.samples()[worst].worst(); !std::isnan(error))
        text += "worst sample: " + sample_text(data, data.training()[worst]) + ", relative L2 " +
                number(error) + "\n";
    print(text + outside_text(evaluation.outside()));
}

/// Writes the reports and the worst sample. Collective.
void write_outputs(const Job& job, const EvaluateArguments& arguments, const TrainData& data,
                   const ModelChannels& channels, FieldEvaluation& evaluation) {
    job.agree([&] {
        if (!job.is_root()) return;
        if (!arguments.csv.empty())
            write_output(arguments.csv, csv_of(data, channels, evaluation.samples()));
        if (!arguments.json.empty())
            write_output(arguments.json, report_of(arguments, data, channels, evaluation));
    });
    if (arguments.plot.empty() && arguments.worst.empty()) return;
    const size_t worst = evaluation.worst_sample();
    const GatheredSample values = evaluation.gather(worst);
    job.agree([&] {
        if (!job.is_root()) return;
        const Pair& pair = data.training()[worst];
        const SampleErrors& errors = evaluation.samples()[worst];
        const ShownSample sample{data,
                                 channels,
                                 pair,
                                 values,
                                 worst_output(errors),
                                 "worst of " + std::to_string(evaluation.samples().size()) +
                                     " samples: sample " + std::to_string(pair.input.sample) +
                                     ", relative L2 error " + number(errors.worst())};
        if (!arguments.plot.empty()) write_figure(arguments.plot, sample);
        if (!arguments.worst.empty()) write_sample(arguments.worst, sample);
    });
}

// ---- classes ----

std::string class_table(const ClassEvaluation& evaluation) {
    std::vector<std::vector<std::string>> rows = {
        {"class", "points", "precision", "recall", "F1", "IoU"}};
    const auto shown = [](double value) { return std::isnan(value) ? "-" : number(value); };
    for (size_t label = 0; label < evaluation.n_class(); ++label) {
        int64_t n = 0;
        for (size_t c = 0; c < evaluation.n_class(); ++c) n += evaluation.count(label, c);
        const ClassScores scores = scores_of(evaluation, label);
        rows.push_back({one_line(evaluation.name(label), 60), grouped(n), shown(scores.precision),
                        shown(scores.recall), shown(scores.f1), shown(scores.iou)});
    }
    return table(rows);
}

/// Returns the confusion matrix: a row for each label, a column for each predicted class.
std::string confusion_table(const ClassEvaluation& evaluation) {
    std::vector<std::vector<std::string>> rows = {{"label / predicted"}};
    for (size_t c = 0; c < evaluation.n_class(); ++c)
        rows[0].push_back(one_line(evaluation.name(c), 40));
    for (size_t label = 0; label < evaluation.n_class(); ++label) {
        rows.push_back({one_line(evaluation.name(label), 40)});
        for (size_t c = 0; c < evaluation.n_class(); ++c)
            rows.back().push_back(grouped(evaluation.count(label, c)));
    }
    return table(rows);
}

std::string csv_of(const ClassEvaluation& evaluation) {
    std::string text = "label,predicted,points\n";
    for (size_t label = 0; label < evaluation.n_class(); ++label)
        for (size_t c = 0; c < evaluation.n_class(); ++c)
            text += csv_text(evaluation.name(label)) + "," + csv_text(evaluation.name(c)) + "," +
                    std::to_string(evaluation.count(label, c)) + "\n";
    return text;
}

std::string report_of(const EvaluateArguments& arguments, const ClassEvaluation& evaluation) {
    json classes = json::array(), confusion = json::array();
    for (size_t label = 0; label < evaluation.n_class(); ++label) {
        const ClassScores scores = scores_of(evaluation, label);
        classes.push_back({{"name", evaluation.name(label)},
                           {"precision", json_number(scores.precision)},
                           {"recall", json_number(scores.recall)},
                           {"f1", json_number(scores.f1)},
                           {"iou", json_number(scores.iou)}});
        json row = json::array();
        for (size_t c = 0; c < evaluation.n_class(); ++c) row.push_back(evaluation.count(label, c));
        confusion.push_back(row);
    }
    const json report = {{"program", std::string("surrogate evaluate ") + surrogate_version()},
                         {"model", arguments.model},
                         {"data", arguments.data},
                         {"accuracy", json_number(evaluation.accuracy())},
                         {"cross_entropy", json_number(evaluation.cross_entropy())},
                         {"classes", classes},
                         {"confusion", confusion},
                         {"inputs", json_of(evaluation.outside())}};
    return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void evaluate_classes(const Job& job, const Context& context, const Model& model,
                      const EvaluateArguments& arguments, const TrainData& data,
                      const ModelChannels& channels, const Options& options) {
    ClassEvaluation evaluation(job, context, model, data, channels, options);
    evaluation.run();
    job.agree([&] {
        if (!job.is_root()) return;
        if (!arguments.csv.empty()) write_output(arguments.csv, csv_of(evaluation));
        if (!arguments.json.empty()) write_output(arguments.json, report_of(arguments, evaluation));
    });
    if (!job.is_root()) return;
    Lines lines;
    lines.add("accuracy", number(evaluation.accuracy()));
    lines.add("cross-entropy", number(evaluation.cross_entropy()));
    print(lines.text() + class_table(evaluation) + confusion_table(evaluation) +
          outside_text(evaluation.outside()));
}

}  // namespace

void evaluate(const Job& job, const EvaluateArguments& arguments) {
    TrainConfig config;
    Options options;
    job.agree([&] {
        config = config_of(arguments);
        for (const auto& [key, value] : arguments.options) options.set(key, value);
    });
    check_arguments(job, arguments);
    job.agree([&] {
        if (!job.is_root()) return;
        for (const std::string& path : arguments.data) try_dataset(path);
    });
    const Context context = job.make_context();
    const Model model(context, arguments.model);
    std::optional<TrainData> data;
    ModelChannels channels;
    job.agree([&] {
        data.emplace(config);
        channels = channels_of(model, *data);
        check_ports(model, channels, *data);
        if (channels.is_pooled() && !(arguments.plot.empty() && arguments.worst.empty()))
            fail("--plot and --worst show fields, and the model predicts numbers per sample");
        if (!arguments.plot.empty()) require_figure(*data);
    });
    check_weights(job, *data, channels, data->training());
    if (channels.labels)
        return evaluate_classes(job, context, model, arguments, *data, channels, options);
    FieldEvaluation evaluation(job, context, model, *data, channels, options);
    evaluation.run();
    write_outputs(job, arguments, *data, channels, evaluation);
    if (job.is_root()) print_summary(*data, channels, evaluation);
}

}  // namespace surrogate::tool
