// SPDX-License-Identifier: Apache-2.0
// python_reference MODEL FILE: runs a model on made-up fields and writes coordinates, inputs and
// predictions as doubles, field by field, for a comparison with the Python package.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace {

/// Returns n numbers within the range of a field, or around its mean, from a linear generator. They
/// are whole numbers if the bounds are, because the field may be the kind of a particle.
std::vector<double> numbers(const surrogate_field_info& field, std::size_t n) {
    static std::uint64_t state = 1;
    const bool is_bounded = std::isfinite(field.min) && std::isfinite(field.max);
    const double first = is_bounded ? field.min : field.mean - field.std;
    const double last = is_bounded ? field.max : field.mean + field.std;
    const bool is_whole = field.role == SURROGATE_FIELD && is_bounded &&
                          first == std::floor(first) && last == std::floor(last);
    std::vector<double> list(n);
    for (double& value : list) {
        state = 6364136223846793005ULL * state + 1442695040888963407ULL;
        value = first + (last - first) * std::ldexp(static_cast<double>(state >> 11), -53);
        if (is_whole) value = std::round(value);
    }
    return list;
}

surrogate::Domain make_domain(const surrogate::Context& context, const surrogate::Model& model,
                              const std::vector<double>& x, std::size_t n) {
    const surrogate_domain_info info = model.input_domain();
    if (info.kind == SURROGATE_POINTS) {
        surrogate_array array = surrogate::column(x.data(), static_cast<std::int64_t>(n));
        array.shape[1] = static_cast<std::int64_t>(x.size() / n);
        array.stride[1] = static_cast<std::int64_t>(n);
        std::vector<std::int64_t> ids(n);
        std::iota(ids.begin(), ids.end(), 0);
        return {context, array, ids.data()};
    }
    surrogate_sphere sphere{};
    sphere.grid = info.grid;
    sphere.n_lat = sphere.n_lat_local = info.n_lat;
    sphere.n_lon = sphere.n_lon_local = info.n_lon;
    return {context, sphere};
}

void write_reference(const char* path, const char* file) {
    const surrogate::Context context;
    const surrogate::Model model(context, path);
    const surrogate_domain_info info = model.input_domain();
    const bool is_grid = info.kind == SURROGATE_SPHERE;
    const std::size_t n = is_grid ? static_cast<std::size_t>(info.n_lat * info.n_lon) : 300;
    std::vector<std::vector<double>> fields;
    std::vector<double> x;
    for (const surrogate_field_info& input : model.inputs()) {
        fields.push_back(numbers(input, n));
        if (input.role == SURROGATE_COORDINATE)
            x.insert(x.end(), fields.back().begin(), fields.back().end());
    }
    surrogate::Plan plan(model, make_domain(context, model, x, n), {{"reproducible", "true"}});
    const std::size_t n_inputs = fields.size();
    for (std::size_t i = 0; i < n_inputs; ++i) {
        const surrogate_field_info input = model.inputs()[i];
        if (input.role == SURROGATE_FIELD)
            plan.bind_input(input.name,
                            surrogate::column(fields[i].data(), static_cast<std::int64_t>(n)));
    }
    fields.resize(n_inputs + model.outputs().size(), std::vector<double>(n));
    for (std::size_t i = n_inputs; i < fields.size(); ++i)
        plan.bind_output(model.outputs()[i - n_inputs].name,
                         surrogate::column(fields[i].data(), static_cast<std::int64_t>(n)));
    plan.run();
    std::ofstream out(file, std::ios::binary);
    for (const std::vector<double>& field : fields)
        out.write(reinterpret_cast<const char*>(field.data()),
                  static_cast<std::streamsize>(n * sizeof(double)));
    if (!out.flush()) throw std::runtime_error(std::string("cannot write ") + file);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        for (int i = 1; i + 1 < argc; i += 2) write_reference(argv[i], argv[i + 1]);
    } catch (const std::exception& error) {
        std::cerr << "python_reference: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
