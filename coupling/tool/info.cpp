// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/info.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coupling/tool/grid_domain.hpp"
#include "coupling/tool/text.hpp"

namespace surrogate::tool {

namespace {

using Json = nlohmann::ordered_json;

/// A value of the card without quotes: gelu, 64, true.
std::string plain(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "in_dim 3, out_dim 1, .." in lines of at most 80 characters.
std::string pairs(const Json& object) {
    std::string text, line;
    for (const auto& [key, value] : object.items()) {
        const std::string pair = key + " " + plain(value);
        if (!line.empty() && line.size() + pair.size() > 78) {
            text += line + ",\n";
            line.clear();
        }
        line += (line.empty() ? "" : ", ") + pair;
    }
    return text + line;
}

std::string grouped(int64_t n) {
    std::string text = std::to_string(n);
    for (auto i = static_cast<ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
        text.insert(static_cast<size_t>(i), ",");
    return text;
}

std::string range_of(const surrogate_field_info& field) {
    if (std::isinf(field.min) && std::isinf(field.max)) return "not given";
    return number(field.min) + " .. " + number(field.max);
}

std::vector<std::string> row_of(const char* use, const surrogate_field_info& field) {
    const bool is_coordinate = field.role == SURROGATE_COORDINATE;
    return {std::string("  ") + use,
            field.name,
            field.unit[0] ? field.unit : "-",
            is_coordinate ? "coordinate " + std::to_string(field.axis) : "field",
            range_of(field),
            number(field.mean),
            number(field.std)};
}

std::string fields_of(const Model& model) {
    const auto inputs = model.inputs(), outputs = model.outputs();
    if (inputs.empty() && outputs.empty())
        return "  The card names no fields: a bare network, for surrogate_plan_run_network.\n";
    std::vector<std::vector<std::string>> rows = {
        {"  ", "name", "unit", "role", "training range", "mean", "std"}};
    for (const auto& field : inputs) rows.push_back(row_of("in", field));
    for (const auto& field : outputs) rows.push_back(row_of("out", field));
    return table(rows);
}

/// check in the description: tensor name -> shape
std::string check_of(const Json& check, const std::vector<surrogate_port_info>& ports) {
    std::string inputs, outputs;
    for (const auto& port : ports) {
        const std::string name = (port.is_output ? "output/" : "input/") + std::string(port.name);
        if (!check.contains(name)) return "none: surrogate check cannot judge this file";
        std::string& list = port.is_output ? outputs : inputs;
        list += (list.empty() ? "" : ", ") + name + " " + check[name].dump();
    }
    return inputs + " -> " + outputs;
}

std::string grid_of(const surrogate_domain_info& domain) {
    return std::string(domain.grid) + " " + std::to_string(domain.n_lat) + " x " +
           std::to_string(domain.n_lon);
}

/// "points", "sphere, legendre-gauss 64 x 128", "sphere, equiangular 16 x 32 -> lobatto 9 x 16"
std::string domain_of(const Model& model) {
    if (model.input_domain().kind == SURROGATE_POINTS) return "points";
    const std::string in = grid_of(model.input_domain()), out = grid_of(model.output_domain());
    return "sphere, " + in + (in == out ? "" : " -> " + out);
}

/// "x 3 -> y 3", "query 6 (at the output points), key 6, value 6 -> y 9"
std::string ports_of(const std::vector<surrogate_port_info>& ports) {
    std::string inputs, outputs;
    for (const auto& port : ports) {
        std::string& list = port.is_output ? outputs : inputs;
        list += (list.empty() ? "" : ", ") + std::string(port.name) + " " +
                std::to_string(port.n_channel);
        if (!port.is_output && port.is_on_output_domain) list += " (at the output points)";
    }
    return inputs + " -> " + outputs;
}

/// "12 tensors BF16 (widened exactly), 3 tensors F64 (rounded to single)"
std::string weights_of(const Json& weights) {
    std::string text;
    for (const auto& [type, about] : weights.items())
        text += (text.empty() ? "" : ", ") + about.at("tensors").dump() +
                (about.at("tensors") == 1 ? " tensor " : " tensors ") + type + " (" +
                plain(about.at("read")) + ")";
    return text;
}

void print_model(const std::string& file, const Model& model, const std::string& memory) {
    const Json about = Json::parse(model.describe());
    const Json network = about.at("card").value("network", Json::object());
    const Json provenance = about.at("card").value("provenance", Json::object());
    Lines lines;
    lines.add("family", plain(about.at("family")));
    lines.add("domain", domain_of(model));
    lines.add("channels", ports_of(model.ports()));
    lines.add("parameters", grouped(about.at("parameters").get<int64_t>()));
    lines.add("weights", weights_of(about.at("weights")));
    lines.add("network", pairs(network));
    lines.add("check case", check_of(about.at("check"), model.ports()));
    lines.add("memory", memory + ", beside the solver's own arrays");
    for (const auto& [key, value] : provenance.items()) lines.add(key, plain(value));
    std::printf("%s\n%s\n%s", file.c_str(), lines.text().c_str(), fields_of(model).c_str());
}

void print_build(const Context& context) {
    std::printf("surrogate %d.%d.%d, library %s\n", SURROGATE_VERSION_MAJOR,
                SURROGATE_VERSION_MINOR, SURROGATE_VERSION_PATCH, surrogate_version());
#ifdef SURROGATE_HAVE_MPI
    std::printf("built with MPI: yes\n");
#else
    std::printf("built with MPI: no\n");
#endif
#ifdef SURROGATE_HAVE_VTK
    std::printf("built with VTK: yes (surrogate predict)\n");
#else
    std::printf("built with VTK: no (surrogate predict is not there)\n");
#endif
    std::printf("%s\n", context.describe().c_str());
}

/// Memory of a plan on n points of this rank, in as many dimensions as any model asks for.
double plan_bytes(const Context& context, const Model& model, int64_t n) {
    const std::vector<double> x(static_cast<size_t>(3 * n), 0.5);
    const Domain domain(context, matrix(x.data(), n, 3));
    return static_cast<double>(Plan(model, domain).counter("workspace_bytes"));
}

std::string memory_of_points(const Job& job, const Context& context, const Model& model) {
    const MemoryNeed need = memory_need(job, context, model);
    return bytes(need.bytes_per_point) + " a point and " + bytes(need.fixed_bytes) + " a rank";
}

/// The grid is given, so this is what the plan takes on the ranks of this job.
std::string memory_of_grid(const Job& job, const Context& context, const Model& model) {
    const Domain input = grid_domain(job, context, "contiguous", model.input_domain());
    const Domain output = grid_domain(job, context, "contiguous", model.output_domain());
    const bool is_one = is_same_grid(model.input_domain(), model.output_domain());
    const Plan plan(model, input, is_one ? input : output);
    const double largest = job.max(static_cast<double>(plan.counter("workspace_bytes")));
    return bytes(largest) + " a rank on " + std::to_string(job.size()) +
           (job.size() == 1 ? " rank" : " ranks");
}

}  // namespace

MemoryNeed memory_need(const Job& job, const Context& context, const Model& model) {
    // Far above any tile, so that what grows with the points shows.
    constexpr int64_t n_small = 20000, n_large = 40000;
    const double small = plan_bytes(context, model, n_small);
    const double large = plan_bytes(context, model, n_large);
    const double per_point = (large - small) / static_cast<double>(n_large - n_small);
    return {job.max(std::max(0.0, small - per_point * static_cast<double>(n_small))),
            job.max(per_point)};
}

void info(const Job& job, const std::string& file) {
    const Context context = job.make_context();
    if (file.empty()) {
        if (job.is_root()) print_build(context);
        return;
    }
    const Model model(context, file);
    const bool is_grid = model.input_domain().kind == SURROGATE_SPHERE;
    const std::string memory =
        is_grid ? memory_of_grid(job, context, model) : memory_of_points(job, context, model);
    if (job.is_root()) print_model(file, model, memory);
}

}  // namespace surrogate::tool
