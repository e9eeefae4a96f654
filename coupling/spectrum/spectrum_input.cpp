// SPDX-License-Identifier: Apache-2.0
#include "coupling/spectrum/spectrum_input.hpp"

#include "coupling/case/case_share.hpp"
#include "coupling/case/check_case.hpp"
#ifdef SURROGATE_HAVE_VTK
#include "coupling/mesh/field_places.hpp"
#include "coupling/mesh/mesh_sample.hpp"
#endif

namespace surrogate::tool {

namespace {

using Eigen::MatrixXd;

SpectrumInput from_case(const Job& job, const Context& context, const std::string& file) {
    const LoadedCase loaded = load_case(job, context, file);
    const CaseTensor<float>& x = loaded.tensors.inputs.at(0);
    std::vector<Share> shares = make_shares(job, context, loaded, "contiguous");
    const std::vector<int64_t> points = shares.front().points;
    SpectrumInput input{std::move(shares.front().domain), {}, loaded.tensors.n_point[0]};
    for (int64_t s = 0; s < loaded.tensors.n_sample; ++s) {
        MatrixXd values(x.n_channel, std::ssize(points));
        for (int64_t i = 0; i < values.cols(); ++i)
            for (int64_t c = 0; c < x.n_channel; ++c)
                values(c, i) =
                    x.data[s * x.layout.sample + points[static_cast<size_t>(i)] * x.layout.point +
                           c * x.layout.channel];
        input.samples.push_back(std::move(values));
    }
    return input;
}

#ifdef SURROGATE_HAVE_VTK

/// Returns (value - mean) / std of the card's inputs, in their order.
MatrixXd normalised(const Model& model, const MeshSample& sample) {
    const auto inputs = model.inputs();
    MatrixXd values(std::ssize(inputs), sample.n());
    size_t field = 0, number = 0;
    for (size_t c = 0; c < inputs.size(); ++c) {
        const bool is_coordinate = inputs[c].role == SURROGATE_COORDINATE;
        const bool is_number = inputs[c].role == SURROGATE_CLOUD;
        for (int64_t i = 0; i < sample.n(); ++i) {
            const auto point = static_cast<size_t>(i);
            const double value = is_coordinate
                                     ? sample.x[point * static_cast<size_t>(sample.n_axis) +
                                                static_cast<size_t>(inputs[c].axis)]
                                 : is_number ? sample.numbers[number][0]
                                             : sample.fields[field][point];
            values(static_cast<Eigen::Index>(c), i) = (value - inputs[c].mean) / inputs[c].std;
        }
        field += is_coordinate || is_number ? 0 : 1;
        number += is_number ? 1 : 0;
    }
    return values;
}

SpectrumInput from_mesh(const Job& job, const Context& context, const Model& model,
                        const SpectrumArguments& arguments) {
    if (model.inputs().empty())
        throw Failure(
            Exit::bad_usage,
            "spectrum: the card names no fields, so its inputs cannot be read from a mesh");
    FieldRequest request{arguments.mesh, {}, arguments.at, arguments.ignore_units};
    for (const std::string& text : arguments.maps) request.maps.push_back(parse_map(text));
    for (const std::string& text : arguments.numbers) request.numbers.push_back(parse_number(text));
    const OutputPlaces places = output_places(model);
    check_maps(request.maps, model.inputs(), places.at_points);
    check_numbers(request, model.inputs());
    const MeshSample sample = read_mesh_sample(job, request, model, places, [](const auto&) {});
    std::optional<Domain> domain;
    job.agree([&] {
        domain.emplace(
            sample.placement->make_domain(context, sample.x, sample.n_axis, nullptr, nullptr));
    });
    SpectrumInput input{std::move(*domain), {}, job.sum(sample.n())};
    input.samples.push_back(normalised(model, sample));
    return input;
}

#else

SpectrumInput from_mesh(const Job&, const Context&, const Model&, const SpectrumArguments&) {
    throw Failure(Exit::bad_usage,
                  "--mesh reads VTK meshes, and this program was built without VTK");
}

#endif

}  // namespace

SpectrumInput read_spectrum_input(const Job& job, const Context& context, const Model& model,
                                  const SpectrumArguments& arguments) {
    if (!arguments.mesh.empty()) return from_mesh(job, context, model, arguments);
    try {
        return from_case(job, context, arguments.model);
    } catch (const Failure& failure) {
        if (failure.status() != Exit::no_case) throw;
        throw Failure(Exit::no_case,
                      std::string(failure.what()) + "; set points and fields with --mesh FILE");
    }
}

}  // namespace surrogate::tool
