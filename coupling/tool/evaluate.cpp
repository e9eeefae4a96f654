// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "coupling/job/classes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/tool/evaluate_classes.hpp"
#include "coupling/tool/evaluate_figures.hpp"
#include "coupling/tool/evaluate_particles.hpp"
#include "coupling/tool/evaluate_report.hpp"
#include "coupling/training/clouds.hpp"
#include "coupling/training/dataset_trial.hpp"
#include "coupling/training/evaluation.hpp"
#include "coupling/training/weights.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

double positive_number(const std::string& text) {
    const auto value = finite_number(text);
    if (!value || *value <= 0)
        fail("--lead is '" + one_line(text, 60) + "', expected a number of seconds above 0");
    return *value;
}

TrainConfig config_of(const EvaluateArguments& arguments) {
    TrainConfig config;
    config.model.file = arguments.model;
    config.data.train = arguments.data;
    for (const auto& [field, variable] : arguments.maps) config.data.names[field] = variable;
    config.data.labels = arguments.labels.empty() ? arguments.particles : arguments.labels;
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
    if (!arguments.particles.empty() && !(arguments.plot.empty() && arguments.worst.empty()))
        fail("--plot and --worst show fields or classes, expected neither with --particles");
    if (!arguments.top_k.empty() && arguments.labels.empty())
        fail("--top-k is for classifiers, expected --labels with it");
    check_outputs(job, inputs, outputs);
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

/// Returns one row for each sample and output.
std::string csv_of(const TrainData& data, const ModelChannels& channels,
                   const std::vector<SampleErrors>& samples) {
    std::string text = "file,sample,state,output,unit,l1,l2,relative_l2,max\n";
    for (const SampleErrors& sample : samples) {
        const Pair& pair = data.training()[sample.pair];
        for (size_t o = 0; o < sample.outputs.size(); ++o) {
            const OutputErrors& errors = sample.outputs[o];
            text += sample_cells(data, pair) + "," + csv_text(channels.outputs[o].name) + "," +
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

json latitudes_of(const std::vector<LatitudeErrors>& rows) {
    json found = {{"latitude", json::array()}, {"l1", json::array()}, {"l2", json::array()}};
    for (const LatitudeErrors& row : rows) {
        found["latitude"].push_back(row.latitude);
        found["l1"].push_back(json_number(row.l1));
        found["l2"].push_back(json_number(row.l2));
    }
    return found;
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
        json entry = sample_json(data, data.training()[sample.pair]);
        entry["outputs"] = json::array();
        for (const OutputErrors& errors : sample.outputs)
            entry["outputs"].push_back(json_of(errors));
        samples.push_back(entry);
    }
    const size_t worst = evaluation.worst_sample();
    json worst_entry = sample_json(data, data.training()[worst]);
    worst_entry["relative_l2"] = json_number(evaluation.samples()[worst].worst());
    return report_text(arguments, evaluation.outside(),
                       {{"outputs", outputs}, {"worst", worst_entry}, {"samples", samples}});
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
    const Pair& pair = data.training()[worst];
    if (const double error = evaluation.samples()[worst].worst(); !std::isnan(error))
        text += "worst sample: " + sample_text(data, pair.file, pair.target) + ", relative L2 " +
                number(error) + "\n";
    print(text + outside_text(evaluation.outside()));
}

/// Returns prediction, target and error of an output.
std::vector<ShownField> fields_of(const GatheredSample& values, const ModelChannels& channels,
                                  size_t output) {
    const Channel& channel = channels.outputs[output];
    const auto& prediction = values.predictions[output];
    const auto& target = values.targets[output];
    std::vector<double> error(target.size());
    std::transform(prediction.begin(), prediction.end(), target.begin(), error.begin(),
                   std::minus<>());
    return {{channel.name, channel.unit, prediction},
            {channel.name + ".target", channel.unit, target},
            {channel.name + ".error", channel.unit, std::move(error)}};
}

void plot_output(const std::string& path, const ShownSample& sample, const GatheredSample& values,
                 const ModelChannels& channels, size_t output, const std::string& heading) {
    std::vector<ShownField> fields = fields_of(values, channels, output);
    for (ShownField& field : fields) field.name = channels.outputs[output].name;
    const std::vector<double>& target = fields[1].values;
    const auto [low, high] = std::minmax_element(target.begin(), target.end());
    double largest = 0;
    for (const double e : fields[2].values) largest = std::max(largest, std::abs(e));
    write_figure(path, sample, heading,
                 {{"target", fields[1], *low, *high},
                  {"prediction", fields[0], *low, *high},
                  {"prediction - target", fields[2], -largest, largest, true}});
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
        const SampleErrors& errors = evaluation.samples()[worst];
        const ShownSample sample{data, data.training()[worst], values.points};
        if (!arguments.plot.empty())
            plot_output(arguments.plot, sample, values, channels, worst_output(errors),
                        "worst of " + std::to_string(evaluation.samples().size()) +
                            " samples: sample " + std::to_string(sample.pair.input.sample) +
                            ", relative L2 error " + number(errors.worst()));
        if (arguments.worst.empty()) return;
        std::vector<ShownField> fields;
        for (size_t o = 0; o < channels.outputs.size(); ++o)
            for (ShownField& field : fields_of(values, channels, o))
                fields.push_back(std::move(field));
        write_sample(arguments.worst, sample, fields);
    });
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
        if (uses_point_weights(model)) data->require_weights();
        if (channels.is_pooled() && !(arguments.plot.empty() && arguments.worst.empty()))
            fail("--plot and --worst show fields, and the model predicts numbers per sample");
        if (!arguments.plot.empty()) require_figure(*data);
        if (!arguments.particles.empty() && channels.is_pooled())
            fail("--particles is for models with one row per point");
        if (!arguments.particles.empty() && are_classes(model.outputs()))
            fail(
                "--particles is for embeddings, and the outputs of the model are classes; use "
                "--labels");
        if (!arguments.particles.empty() && data->has_clouds())
            fail(
                "--particles scores whole samples, and the data have clouds of points "
                "('cloud_index'); write each cloud as a sample");
    });
    check_clouds(job, *data, channels, data->training());
    check_weights(job, *data, channels, data->training());
    if (!arguments.labels.empty())
        return evaluate_classes(job, context, model, arguments, *data, channels, options);
    if (!arguments.particles.empty())
        return evaluate_particles(job, context, model, arguments, *data, channels, options);
    FieldEvaluation evaluation(job, context, model, *data, channels, options);
    evaluation.run();
    write_outputs(job, arguments, *data, channels, evaluation);
    if (job.is_root()) print_summary(*data, channels, evaluation);
}

}  // namespace surrogate::tool
