// SPDX-License-Identifier: Apache-2.0
#include "coupling/case/case_shape.hpp"

#include <algorithm>
#include <string>

namespace surrogate::tool {

namespace {

using Shape = std::vector<int64_t>;

std::string text_of(const Shape& shape) {
    std::string text;
    for (const int64_t n : shape)
        text += (text.empty() ? "" : ", ") + (n < 0 ? "any" : std::to_string(n));
    return "(" + text + ")";
}

const char* name_of(int32_t dtype) {
    switch (dtype) {
        case SURROGATE_FLOAT32: return "float32";
        case SURROGATE_FLOAT64: return "float64";
        case SURROGATE_INT32: return "int32";
        case SURROGATE_INT64: return "int64";
        case SURROGATE_UINT8: return "uint8";
        default: return "another type";
    }
}

/// An allowed shape of a port's tensor; -1: free.
struct Form {
    Shape shape;
    std::string axes;
    int row_axis;            ///< -1: a sample is one row
    bool is_shared = false;  ///< without an axis of samples
};

std::vector<Form> forms_of(const surrogate_port_info& port, const surrogate_domain_info& domain,
                           const CaseCounts& counts) {
    const int64_t n_sample = counts.n_sample, n_channel = port.n_channel;
    if (port.location == SURROGATE_ON_CLOUDS)
        return {{{n_sample, n_channel}, "(samples, channels)", -1}};
    if (domain.kind == SURROGATE_SPHERE)
        return {{{n_sample, n_channel, domain.n_lat, domain.n_lon},
                 "(samples, channels, n_lat, n_lon)",
                 2}};
    const bool is_at_nodes = port.location == SURROGATE_ON_NODES;
    const std::string rows = is_at_nodes ? "nodes" : "points";
    const int64_t n_row =
        is_at_nodes ? -1 : counts.n_point[port.location == SURROGATE_ON_OUTPUT ? 1 : 0];
    if (port.kind == SURROGATE_INTEGER && n_channel == 1)
        return {{{n_sample, n_row}, "(samples, " + rows + ")", 1},
                {{n_row}, "(" + rows + ")", 0, true}};
    return {{{n_sample, n_row, n_channel}, "(samples, " + rows + ", channels)", 1},
            {{n_row, n_channel}, "(" + rows + ", channels)", 0, true}};
}

bool is_like(const Shape& shape, const Shape& expected) {
    return std::ranges::equal(shape, expected,
                              [](int64_t n, int64_t wanted) { return wanted < 0 || n == wanted; });
}

[[noreturn]] void refuse(const surrogate_tensor& tensor, const std::vector<int32_t>& types,
                         const std::vector<Form>& forms) {
    std::string wanted;
    for (const int32_t type : types)
        wanted += (wanted.empty() ? "" : " or ") + std::string(name_of(type));
    for (const Form& form : forms)
        wanted +=
            (&form == &forms.front() ? " " : " or ") + text_of(form.shape) + " = " + form.axes;
    throw Failure(Exit::bad_usage, std::string("tensor check/") + tensor.name + " is " +
                                       name_of(tensor.dtype) + " " +
                                       text_of({tensor.shape, tensor.shape + tensor.n_dim}) +
                                       "; expected " + wanted);
}

}  // namespace

CaseShape read_shape(const surrogate_tensor& tensor, const surrogate_port_info& port,
                     const surrogate_domain_info& domain, const std::vector<int32_t>& types,
                     CaseCounts& counts) {
    const Shape shape(tensor.shape, tensor.shape + tensor.n_dim);
    const std::vector<Form> forms = forms_of(port, domain, counts);
    const auto form =
        std::ranges::find_if(forms, [&](const Form& f) { return is_like(shape, f.shape); });
    if (form == forms.end() || std::ranges::find(types, tensor.dtype) == types.end())
        refuse(tensor, types, forms);
    if (!form->is_shared) counts.n_sample = shape[0];
    const bool is_planar = form->row_axis == 2;
    int64_t n_row = form->row_axis < 0 ? 1 : shape[static_cast<size_t>(form->row_axis)];
    if (is_planar) n_row *= shape[3];
    const bool is_at_points =
        port.location != SURROGATE_ON_CLOUDS && port.location != SURROGATE_ON_NODES;
    if (is_at_points && !is_planar)  // both domains have the same points
        counts.n_point[0] = counts.n_point[1] = n_row;
    const int64_t per_sample = form->is_shared ? 0 : n_row * port.n_channel;
    const TensorLayout layout = is_planar ? TensorLayout{per_sample, 1, n_row}
                                          : TensorLayout{per_sample, port.n_channel, 1};
    return {n_row, layout, form->is_shared};
}

}  // namespace surrogate::tool
