// SPDX-License-Identifier: Apache-2.0
// The C functions. Their contracts are in surrogate_dataset.h.
#include <surrogate/surrogate_dataset.h>

#include <memory>

#include "coupling/dataset/new_dataset.hpp"

using namespace surrogate::coupling;

struct surrogate_dataset {
    surrogate::dataset::NewDataset file;
};

namespace {

/// Calls work(file) and converts exceptions to a status, as in every C function.
template <class Work>
surrogate_status with(surrogate_dataset* dataset, const Work& work) {
    return guarded(dataset ? dataset->file.context() : nullptr, [&] {
        require(dataset, "dataset");
        work(dataset->file);
    });
}

}  // namespace

surrogate_status surrogate_dataset_create(surrogate_context* context, const char* path,
                                          surrogate_dataset** dataset) {
    return guarded(context, [&] {
        if (dataset) *dataset = nullptr;
        require(context, "context");
        std::unique_ptr<surrogate_dataset> created;
        agreed(context, [&] {
            require(path, "path");
            require(dataset, "dataset");
            created.reset(new surrogate_dataset{surrogate::dataset::NewDataset(context, path)});
        });
        *dataset = created.release();
    });
}

surrogate_status surrogate_dataset_set(surrogate_dataset* dataset, const char* key,
                                       const char* text) {
    return with(dataset, [&](auto& file) {
        require(key, "key");
        require(text, "text");
        file.description().set(key, text);
    });
}

surrogate_status surrogate_dataset_add_axis(surrogate_dataset* dataset, const char* name,
                                            int64_t n) {
    return with(dataset, [&](auto& file) {
        require(name, "name");
        file.description().add_axis(name, n);
    });
}

surrogate_status surrogate_dataset_add(surrogate_dataset* dataset,
                                       const surrogate_variable* variable) {
    return with(dataset, [&](auto& file) {
        require(variable, "variable");
        file.description().add(*variable);
    });
}

surrogate_status surrogate_dataset_begin(surrogate_dataset* dataset) {
    return with(dataset, [](auto& file) { file.begin(); });
}

surrogate_status surrogate_dataset_set_points(surrogate_dataset* dataset,
                                              const surrogate_domain* domain) {
    return with(dataset, [&](auto& file) { file.set_points(domain); });
}

surrogate_status surrogate_dataset_write(surrogate_dataset* dataset, const char* name,
                                         int64_t first, const surrogate_array* array) {
    return with(dataset, [&](auto& file) { file.write(name, first, array); });
}

surrogate_status surrogate_dataset_put(surrogate_dataset* dataset, const char* name, int64_t first,
                                       const surrogate_array* array) {
    return with(dataset, [&](auto& file) { file.put(name, first, array); });
}

surrogate_status surrogate_dataset_finish(surrogate_dataset* dataset) {
    return with(dataset, [](auto& file) { file.finish(); });
}

void surrogate_dataset_destroy(surrogate_dataset** dataset) {
    if (!dataset) return;
    delete *dataset;
    *dataset = nullptr;
}
