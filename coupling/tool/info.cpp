// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/info.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coupling/case/check_case.hpp"
#include "coupling/case/grid_domain.hpp"
#include "coupling/job/classes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/info_json.hpp"
#include "coupling/tool/plan_memory.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;  // nlohmann::ordered_json finds a key in linear time

constexpr size_t most_entries = 40;   // of a list whose length comes from the file
constexpr size_t longest_text = 400;  // bytes of one text of the file

/// Returns a value of the card without quotes: gelu, 64, true.
std::string plain(const json& value) {
    const std::string text =
        value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true);
    return one_line(text, longest_text);
}

/// Returns "5 more" for entries that are not shown.
std::string more(size_t n_all) {
    return grouped(static_cast<int64_t>(n_all - most_entries)) + " more";
}

/// Returns "in_dim 3, out_dim 1, .." in lines of at most 80 characters.
std::string pairs(const json& object) {
    std::string text, line;
    const auto add = [&](const std::string& pair) {
        if (!line.empty() && line.size() + pair.size() > 78) {
            text += line + ",\n";
            line.clear();
        }
        line += (line.empty() ? "" : ", ") + pair;
    };
    size_t n_shown = 0;
    for (const auto& [key, value] : object.items()) {
        if (n_shown++ == most_entries) {
            add(more(object.size()));
            break;
        }
        add(one_line(key, 60) + " " + plain(value));
    }
    return text + line;
}

std::string range_of(const surrogate_field_info& field) {
    if (std::isinf(field.min) && std::isinf(field.max)) return "not given";
    return number(field.min) + " .. " + number(field.max);
}

std::vector<std::string> row_of(const char* use, const surrogate_field_info& field) {
    const std::string role = field.role == SURROGATE_COORDINATE
                                 ? "coordinate " + std::to_string(field.axis)
                             : field.role == SURROGATE_CLASS ? "class"
                             : field.role == SURROGATE_CLOUD ? "cloud"
                                                             : "field";
    return {std::string("  ") + use,
            one_line(field.name, 60),
            field.unit[0] ? one_line(field.unit) : "-",
            role,
            range_of(field),
            number(field.mean),
            number(field.std)};
}

std::string fields_of(const Model& model) {
    const auto inputs = model.inputs(), outputs = model.outputs();
    if (inputs.empty() && outputs.empty())
        return "  The card names no fields; use surrogate_plan_run_network.\n";
    std::vector<std::vector<std::string>> rows = {
        {"  ", "name", "unit", "role", "training range", "mean", "std"}};
    const auto add = [&](const char* use, const std::vector<surrogate_field_info>& fields) {
        for (size_t i = 0; i < std::min(fields.size(), most_entries); ++i)
            rows.push_back(row_of(use, fields[i]));
        if (fields.size() > most_entries)
            rows.push_back({std::string("  ") + use, more(fields.size())});
    };
    add("in", inputs);
    add("out", outputs);
    return table(rows);
}

/// Returns true and "input/x [4,1600,3] -> output/y [4,1600,1], truth in double precision" if
/// `check` can run the case of the file, and otherwise false and the reason. `shapes`: tensor name
/// -> shape.
CaseSummary check_of(const Job& job, const Context& context, const Model& model,
                     const std::string& file, const json& about) {
    const std::string note = about.value("check_note", "");
    if (about.at("check_truth") == "none") return {false, note};
    const json& shapes = about.at("check");
    std::string inputs, outputs;
    try {
        const CheckCase check_case(context, file);
        const CaseTensors tensors = find_tensors(model, check_case, file);
        for (const std::string& name : tensors.input_names())
            inputs += (inputs.empty() ? "" : ", ") + ("input/" + name) + " " +
                      shapes.at("input/" + name).dump();
        outputs = "output/" + tensors.y.name + " " + json(tensors.y_shape).dump();
    } catch (const Failure& failure) {
        return {false, std::string("not usable: ") + failure.what()};
    } catch (const Error& error) {
        job.require_communication(error);
        return {false, std::string("not usable: ") + error.what()};
    }
    return {true, inputs + " -> " + outputs +
                      (note.empty() ? ", truth in double precision" : "\n" + note)};
}

std::string grid_of(const surrogate_domain_info& domain) {
    return std::string(domain.grid) + " " + std::to_string(domain.n_lat) + " x " +
           std::to_string(domain.n_lon);
}

/// Returns "points", "sphere, legendre-gauss 64 x 128" or "sphere, equiangular 16 x 32 -> lobatto 9
/// x 16".
std::string domain_of(const Model& model) {
    if (model.input_domain().kind == SURROGATE_POINTS) return "points";
    const std::string in = grid_of(model.input_domain()), out = grid_of(model.output_domain());
    return "sphere, " + in + (in == out ? "" : " -> " + out);
}

/// Returns properties of a port besides name and channels: the location of its rows, if it is not
/// the default, and the allowed values.
std::string about_port(const Model& model, int32_t index, const surrogate_port_info& port) {
    std::string about;
    const auto add = [&](const char* text) {
        about += (about.empty() ? "" : ", ") + std::string(text);
    };
    if (!port.is_output && port.location == SURROGATE_ON_OUTPUT) add("at the output points");
    if (port.location == SURROGATE_ON_CLOUDS) add("one row for all points");
    if (port.location == SURROGATE_ON_NODES) add("at nodes of the points");
    if (port.location == SURROGATE_COORDINATES) add("coordinates of the domain");
    if (port.kind == SURROGATE_INTEGER) add("integers");
    if (model.port_is_optional(index)) add("may be left out");
    return about.empty() ? "" : " (" + about + ")";
}

/// Returns a text such as "x 3 -> y 3", "query 6 (at the output points), key 6, value 6 -> y 9".
std::string ports_of(const Model& model) {
    const auto ports = model.ports();
    std::string inputs, outputs;
    for (size_t p = 0; p < ports.size(); ++p) {
        std::string& list = ports[p].is_output ? outputs : inputs;
        list += (list.empty() ? "" : ", ") + std::string(ports[p].name) + " " +
                std::to_string(ports[p].n_channel) +
                about_port(model, static_cast<int32_t>(p), ports[p]);
    }
    return inputs + " -> " + outputs;
}

/// Returns a text such as "12 tensors BF16 (widened exactly), 3 tensors F64 (rounded to single)".
std::string weights_of(const json& weights) {
    std::string text;
    for (const auto& [type, about] : weights.items())
        text += (text.empty() ? "" : ", ") + about.at("tensors").dump() +
                (about.at("tensors") == 1 ? " tensor " : " tensors ") + type + " (" +
                plain(about.at("read")) + ")";
    return text.empty() ? "none in this file" : text;
}

/// Returns a text such as "2 features of 400 samples, 99 % within distance 3.2".
std::string pooled_of(const surrogate_input_statistics& pooled) {
    if (pooled.n_feature == 0) return "none: steps cannot be compared with the training data";
    char text[120];
    std::snprintf(text, sizeof text, "%d features of %lld samples, %.6g %% within distance %.4g",
                  pooled.n_feature, static_cast<long long>(pooled.n_samples), 100 * pooled.quantile,
                  pooled.distance);
    return text;
}

/// Returns a text such as "3: sea, land, ice".
std::string classes_of(const std::vector<surrogate_field_info>& outputs) {
    const std::vector<std::string> names = class_names(outputs);
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + one_line(name, 60);
    return std::to_string(names.size()) + ": " + one_line(text);
}

/// Returns the first line of a text of several lines, such as a configuration, and the number of
/// its lines.
std::string value_text(const json& value) {
    if (!value.is_string()) return plain(value);
    const auto& text = value.get_ref<const std::string&>();
    const auto n_line = 1 + std::count(text.begin(), text.end() - !text.empty(), '\n');
    if (n_line == 1) return plain(value);
    return one_line(text.substr(0, text.find('\n'))) + " .. (" + std::to_string(n_line) +
           " lines; --json has them)";
}

/// Adds title, date, license and other texts, shortened, with the number of omitted entries.
void add_provenance(const json& provenance, Lines& lines) {
    size_t n_shown = 0;
    for (const auto& [key, value] : provenance.items()) {
        if (n_shown++ == most_entries) {
            lines.add("..", more(provenance.size()) + " entries of the card's provenance");
            return;
        }
        lines.add(one_line(key, 40), value_text(value));
    }
}

void print_model(const std::string& file, const Model& model, const json& about,
                 const CaseSummary& check, const PlanMemory& memory) {
    const json network = about.at("card").value("network", json::object());
    const json provenance = about.at("card").value("provenance", json::object());
    Lines lines;
    lines.add("family", plain(about.at("family")));
    lines.add("domain", domain_of(model));
    lines.add("channels", ports_of(model));
    if (are_classes(model.outputs())) lines.add("classes", classes_of(model.outputs()));
    lines.add("parameters", grouped(about.at("parameters").get<int64_t>()));
    if (!about.at("weights").empty()) lines.add("weights", weights_of(about.at("weights")));
    lines.add("network", pairs(network));
    lines.add("check case", check.text);
    if (!model.inputs().empty()) lines.add("pooled", pooled_of(model.input_statistics()));
    lines.add("memory", memory.text);
    add_provenance(provenance, lines);
    print(one_line(file) + "\n" + lines.text() + "\n" + fields_of(model));
}

void print_build(const Context& context) {
    std::string text = "surrogate " + std::to_string(SURROGATE_VERSION_MAJOR) + "." +
                       std::to_string(SURROGATE_VERSION_MINOR) + "." +
                       std::to_string(SURROGATE_VERSION_PATCH) + ", library " +
                       surrogate_version() + "\n";
#ifdef SURROGATE_HAVE_MPI
    text += "built with MPI: yes\n";
#else
    text += "built with MPI: no\n";
#endif
#ifdef SURROGATE_HAVE_VTK
    text += "built with VTK: yes (surrogate predict)\n";
#else
    text += "built with VTK: no (surrogate predict is not available)\n";
#endif
    print(text + context.describe() + "\n");
}

}  // namespace

void info(const Job& job, const InfoArguments& arguments) {
    const Context context = job.make_context();
    if (arguments.file.empty()) {
        if (arguments.has_card)
            throw Failure(Exit::bad_usage, "--card prints the card of a model: MODEL is missing");
        if (job.is_root() && arguments.has_json) print(build_json(context));
        if (job.is_root() && !arguments.has_json) print_build(context);
        return;
    }
    const Model model(context, arguments.file);
    const json about = json::parse(model.describe());
    if (arguments.has_card) {
        if (job.is_root()) print(card_json(about.at("card")));
        return;
    }
    const CaseSummary check = check_of(job, context, model, arguments.file, about);
    const PlanMemory memory =
        plan_memory(job, context, model, arguments.file, arguments.has_memory);
    if (!job.is_root()) return;
    if (arguments.has_json)
        print(model_json(job, arguments.file, model, about, check, memory));
    else
        print_model(arguments.file, model, about, check, memory);
}

}  // namespace surrogate::tool
