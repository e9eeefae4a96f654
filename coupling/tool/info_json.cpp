// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/info_json.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "coupling/job/report_values.hpp"
#include "coupling/job/text_hash.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
    return value.dump(2, ' ', true) + "\n";
}

json field_json(const surrogate_field_info& field) {
    json about = {{"name", field.name},
                  {"unit", field.unit},
                  {"mean", json_number(field.mean)},
                  {"std", json_number(field.std)},
                  {"min", json_number(field.min)},
                  {"max", json_number(field.max)},
                  {"role", field.role == SURROGATE_COORDINATE ? "coordinate"
                           : field.role == SURROGATE_CLASS    ? "class"
                           : field.role == SURROGATE_CLOUD    ? "cloud"
                                                              : "field"}};
    if (field.role == SURROGATE_COORDINATE) about["axis"] = field.axis;
    return about;
}

json fields_json(const std::vector<surrogate_field_info>& fields) {
    json list = json::array();
    for (const auto& field : fields) list.push_back(field_json(field));
    return list;
}

const char* place_name(int32_t place) {
    switch (place) {
        case SURROGATE_ON_INPUT: return "input points";
        case SURROGATE_ON_OUTPUT: return "output points";
        case SURROGATE_ON_CLOUDS: return "clouds";
        case SURROGATE_ON_NODES: return "nodes";
        case SURROGATE_COORDINATES: return "positions";
        default: return "unknown";
    }
}

json ports_json(const Model& model) {
    json list = json::array();
    const auto ports = model.ports();
    for (size_t p = 0; p < ports.size(); ++p)
        list.push_back({{"name", ports[p].name},
                        {"channels", ports[p].n_channel},
                        {"is_output", ports[p].is_output != 0},
                        {"place", place_name(ports[p].location)},
                        {"is_integer", ports[p].kind == SURROGATE_INTEGER},
                        {"is_optional", model.port_is_optional(static_cast<int32_t>(p))}});
    return list;
}

json domain_json(const surrogate_domain_info& domain) {
    if (domain.kind == SURROGATE_POINTS)
        return {{"kind", "points"}, {"keeps_clouds", domain.keeps_clouds != 0}};
    return {{"kind", "sphere"},
            {"grid", domain.grid},
            {"n_lat", domain.n_lat},
            {"n_lon", domain.n_lon}};
}

json pooled_json(const surrogate_input_statistics& pooled) {
    if (pooled.n_feature == 0) return nullptr;
    return {{"features", pooled.n_feature},
            {"samples", pooled.n_samples},
            {"quantile", pooled.quantile},
            {"distance", pooled.distance}};
}

}  // namespace

std::string model_json(const Job& job, const std::string& file, const Model& model,
                       const json& about, const CaseSummary& check, const PlanMemory& memory) {
    const json& card = about.at("card");
    return text_of({{"file", file},
                    {"family", about.at("family")},
                    {"hash", hex(model.hash())},
                    {"input_domain", domain_json(model.input_domain())},
                    {"output_domain", domain_json(model.output_domain())},
                    {"ports", ports_json(model)},
                    {"parameters", about.at("parameters")},
                    {"weights", about.at("weights")},
                    {"network", card.value("network", json::object())},
                    {"inputs", fields_json(model.inputs())},
                    {"outputs", fields_json(model.outputs())},
                    {"pooled", pooled_json(model.input_statistics())},
                    {"check_case",
                     {{"truth", about.at("check_truth")},
                      {"is_usable", check.is_usable},
                      {"text", check.text}}},
                    {"memory",
                     {{"bytes_a_point", json_number(memory.of_point)},
                      {"bytes_a_rank", json_number(memory.of_rank)},
                      {"ranks", job.size()},
                      {"text", memory.text}}},
                    {"provenance", card.value("provenance", json::object())}});
}

std::string build_json(const Context& context) {
    json about = {{"version", surrogate_version()},
                  {"mpi", false},
                  {"vtk", false},
                  {"train", false},
                  {"machine", context.describe()}};
#ifdef SURROGATE_HAVE_MPI
    about["mpi"] = true;
#endif
#ifdef SURROGATE_HAVE_VTK
    about["vtk"] = true;
#endif
#ifdef SURROGATE_HAVE_TRAIN
    about["train"] = true;
#endif
    return text_of(about);
}

std::string card_json(const json& card) {
    json shown = card;
    shown.erase("checksums");
    return text_of(shown);
}

}  // namespace surrogate::tool
