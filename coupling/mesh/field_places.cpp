// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/field_places.hpp"

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

namespace {

/// Returns the ports of the card's fields, which are the channels of the ports.
std::vector<surrogate_port_info> ports_of_fields(const Model& model, bool is_output) {
    std::vector<surrogate_port_info> list;
    for (const surrogate_port_info& port : model.ports())
        if ((port.is_output != 0) == is_output)
            list.insert(list.end(), static_cast<size_t>(port.n_channel), port);
    return list;
}

void require_input(const surrogate_field_info& field, const surrogate_port_info& port) {
    const char* reason = nullptr;
    if (port.kind == SURROGATE_INTEGER) reason = "has integers, such as the tokens of a text";
    if (port.location == SURROGATE_ON_CLOUDS) reason = "is one number for all points";
    if (!reason) return;
    throw Failure(Exit::bad_usage, std::string("the model's input '") + field.name + "' " + reason +
                                       "; a mesh has no such array. Call the model through the "
                                       "library (surrogate_plan_bind_input)");
}

}  // namespace

OutputPlaces output_places(const Model& model) {
    const auto inputs = model.inputs(), outputs = model.outputs();
    const auto in = ports_of_fields(model, false), out = ports_of_fields(model, true);
    for (size_t i = 0; i < inputs.size(); ++i) require_input(inputs[i], in[i]);
    OutputPlaces places;
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (out[i].location == SURROGATE_ON_NODES)
            throw Failure(
                Exit::bad_usage,
                std::string("the model predicts '") + outputs[i].name +
                    "' at nodes that it creates from the points; a mesh cannot hold them. Call the "
                    "model through the library (surrogate_plan_bind_output)");
        const bool is_of_all = out[i].location == SURROGATE_ON_CLOUDS;
        (is_of_all ? places.of_all : places.at_points).push_back(outputs[i]);
    }
    return places;
}

}  // namespace surrogate::tool
