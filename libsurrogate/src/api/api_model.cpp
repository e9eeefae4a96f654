// SPDX-License-Identifier: Apache-2.0
// Models and check cases. Contracts stand in surrogate.h.
#include <algorithm>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/check_truth.hpp"
#include "libsurrogate/src/model/family/clouds_program.hpp"

using namespace surrogate::impl;

static_assert(static_cast<int>(PortPlace::output_points) == SURROGATE_ON_OUTPUT &&
              static_cast<int>(PortPlace::clouds) == SURROGATE_ON_CLOUDS &&
              static_cast<int>(PortPlace::nodes) == SURROGATE_ON_NODES &&
              static_cast<int>(PortPlace::coordinates) == SURROGATE_COORDINATES &&
              static_cast<int>(NumberKind::integer) == SURROGATE_INTEGER);

namespace {

int32_t dtype_of(DType dtype) {
    switch (dtype) {
        case DType::float32: return SURROGATE_FLOAT32;
        case DType::float64: return SURROGATE_FLOAT64;
        case DType::int32: return SURROGATE_INT32;
        case DType::int64: return SURROGATE_INT64;
        case DType::uint8: return SURROGATE_UINT8;
        default: return -1;
    }
}

void field_at(const std::vector<FieldCard>& fields, const char* which, int32_t index,
              surrogate_field_info* info) {
    require(info, "info");
    if (index < 0 || index >= std::ssize(fields)) {
        throw Error(Status::invalid_argument, std::string(which) + " " + std::to_string(index) +
                                                  " of " + std::to_string(fields.size()) +
                                                  " does not exist");
    }
    const FieldCard& field = fields[static_cast<size_t>(index)];
    *info = {field.name.c_str(),
             field.unit.c_str(),
             field.is_coordinate ? SURROGATE_COORDINATE
             : field.is_class    ? SURROGATE_CLASS
             : field.is_cloud    ? SURROGATE_CLOUD
                                 : SURROGATE_FIELD,
             field.axis,
             field.mean,
             field.std,
             field.min,
             field.max};
}

const Model::ListedPort& port_at(const Model& model, int32_t index) {
    const auto& ports = model.ports();
    if (index < 0 || index >= std::ssize(ports)) {
        throw Error(Status::invalid_argument, "port " + std::to_string(index) + " of " +
                                                  std::to_string(ports.size()) + " does not exist");
    }
    return ports[static_cast<size_t>(index)];
}

}  // namespace

surrogate_status surrogate_model_load(surrogate_context* context, const char* path,
                                      surrogate_model** model) {
    return guarded(context,
                   [&] { create<Model>(context, "model", model, &surrogate_model::model, path); });
}

surrogate_status surrogate_model_load_memory(surrogate_context* context, const void* bytes,
                                             int64_t n_bytes, surrogate_model** model) {
    return guarded(context, [&] {
        create<Model>(context, "model", model, &surrogate_model::model,
                      BytesSource(bytes, n_bytes));
    });
}

surrogate_status surrogate_model_create(surrogate_context* context, const char* card,
                                        int32_t n_tensors, const surrogate_tensor* tensors,
                                        surrogate_model** model) {
    return guarded(context, [&] {
        create<Model>(context, "model", model, &surrogate_model::model,
                      TensorsSource(card, n_tensors, tensors));
    });
}

surrogate_status surrogate_model_save(const surrogate_model* model, const char* path) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        model->model->save(path);
    });
}

surrogate_status surrogate_model_n_inputs(const surrogate_model* model, int32_t* n) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(n, "n");
        *n = static_cast<int32_t>(model->model->card().inputs.size());
    });
}

surrogate_status surrogate_model_n_outputs(const surrogate_model* model, int32_t* n) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(n, "n");
        *n = static_cast<int32_t>(model->model->card().outputs.size());
    });
}

surrogate_status surrogate_model_input(const surrogate_model* model, int32_t index,
                                       surrogate_field_info* info) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        field_at(model->model->card().inputs, "input", index, info);
    });
}

surrogate_status surrogate_model_output(const surrogate_model* model, int32_t index,
                                        surrogate_field_info* info) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        field_at(model->model->card().outputs, "output", index, info);
    });
}

surrogate_status surrogate_model_input_statistics(const surrogate_model* model,
                                                  surrogate_input_statistics* info) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(info, "info");
        *info = {};
        const PooledCard& pooled = model->model->card().pooled;
        if (pooled.mean.empty()) return;
        *info = {static_cast<int32_t>(pooled.mean.size()),
                 pooled.mean.data(),
                 pooled.covariance.data(),
                 pooled.quantile,
                 pooled.distance,
                 pooled.n_sample};
    });
}

surrogate_status surrogate_model_hash(const surrogate_model* model, uint64_t* hash) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(hash, "hash");
        *hash = model->model->hash();
    });
}

surrogate_status surrogate_model_family(const surrogate_model* model, char* text, int64_t* n_text) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        copy_text(model->model->card().family, text, n_text);
    });
}

surrogate_status surrogate_model_domain(const surrogate_model* model, int32_t is_output,
                                        surrogate_domain_info* info) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(info, "info");
        const Network& network = model->model->network();
        const DomainKind kind = network.domain_kind();
        const Grid& grid = is_output ? kind.output : kind.input;
        const bool keeps_clouds = kind.keeps_clouds || runs_by_cloud(network);
        *info = {SURROGATE_POINTS, keeps_clouds, "", 0, 0};
        if (kind.is_sphere)
            *info = {SURROGATE_SPHERE, keeps_clouds, surrogate::kernels::name(grid.kind),
                     grid.n_lat, grid.n_lon};
    });
}

surrogate_status surrogate_model_n_ports(const surrogate_model* model, int32_t* n) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(n, "n");
        *n = static_cast<int32_t>(model->model->ports().size());
    });
}

surrogate_status surrogate_model_port(const surrogate_model* model, int32_t index,
                                      surrogate_port_info* info) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(info, "info");
        const auto& [port, is_output] = port_at(*model->model, index);
        *info = {port.name.c_str(), port.n_channel, is_output, static_cast<int32_t>(port.place),
                 static_cast<int32_t>(port.kind)};
    });
}

surrogate_status surrogate_model_port_is_optional(const surrogate_model* model, int32_t index,
                                                  int32_t* is_optional) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(is_optional, "is_optional");
        *is_optional = port_at(*model->model, index).port.is_optional;
    });
}

surrogate_status surrogate_model_check_bound(const surrogate_model* model, const char* precision,
                                             int32_t is_double, double official, double* bound) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        require(precision, "precision");
        require(bound, "bound");
        Options{}.set("precision", precision);  // throws for an unknown precision
        *bound = check_bound(
            precision, is_double ? CheckTruth::double_precision : CheckTruth::single_precision,
            official, model->model->network().truth_accuracy());
    });
}

surrogate_status surrogate_model_describe(const surrogate_model* model, char* text,
                                          int64_t* n_text) {
    return guarded(owner_of(model), [&] {
        require(model, "model");
        copy_text(model->model->description(), text, n_text);
    });
}

void surrogate_model_destroy(surrogate_model** model) {
    if (!model) return;
    delete *model;
    *model = nullptr;
}

surrogate_status surrogate_check_case_load(surrogate_context* context, const char* path,
                                           surrogate_check_case** check_case) {
    return guarded(context, [&] {
        create<CheckCase>(context, "check_case", check_case, &surrogate_check_case::check_case,
                          path);
    });
}

surrogate_status surrogate_check_case_n_tensors(const surrogate_check_case* check_case,
                                                int32_t* n) {
    return guarded(owner_of(check_case), [&] {
        require(check_case, "check_case");
        require(n, "n");
        *n = static_cast<int32_t>(check_case->check_case->tensors().size());
    });
}

surrogate_status surrogate_check_case_tensor(const surrogate_check_case* check_case, int32_t index,
                                             surrogate_tensor* tensor) {
    return guarded(owner_of(check_case), [&] {
        require(check_case, "check_case");
        require(tensor, "tensor");
        const std::vector<Tensor>& tensors = check_case->check_case->tensors();
        if (index < 0 || index >= std::ssize(tensors)) {
            throw Error(Status::invalid_argument, "tensor " + std::to_string(index) + " of " +
                                                      std::to_string(tensors.size()) +
                                                      " does not exist");
        }
        const Tensor& found = tensors[static_cast<size_t>(index)];
        if (dtype_of(found.entry.dtype) < 0 ||
            found.entry.shape.size() > std::size(tensor->shape)) {
            throw Error(Status::not_supported, "tensor '" + printable(found.entry.name) +
                                                   "' of type " + name(found.entry.dtype) +
                                                   " cannot be handed out");
        }
        *tensor = {found.entry.name.c_str(),
                   found.data.data(),
                   {},
                   static_cast<int32_t>(found.entry.shape.size()),
                   dtype_of(found.entry.dtype)};
        std::ranges::copy(found.entry.shape, tensor->shape);
    });
}

void surrogate_check_case_destroy(surrogate_check_case** check_case) {
    if (!check_case) return;
    delete *check_case;
    *check_case = nullptr;
}
