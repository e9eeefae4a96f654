// SPDX-License-Identifier: Apache-2.0
// A plan in one call. Contracts stand in surrogate.h.
#include "libsurrogate/src/api/api_open.hpp"

#include "libsurrogate/src/api/handles.hpp"

using namespace surrogate::impl;

namespace surrogate::impl {

surrogate_status open_plan(surrogate_context* context, const char* path,
                           const surrogate_points* points, surrogate_plan** plan) {
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_status status = surrogate_model_load(context, path, &model);
    if (status == SURROGATE_SUCCESS)
        status = surrogate_domain_create_points(context, points, &domain);
    if (status == SURROGATE_SUCCESS)
        status = surrogate_plan_create(model, domain, nullptr, nullptr, plan);
    // The plan keeps what it needs; after a failure all ranks are here, and nothing is left.
    surrogate_domain_destroy(&domain);
    surrogate_model_destroy(&model);
    surrogate_context_destroy(&context);
    return status;
}

}  // namespace surrogate::impl

surrogate_status surrogate_plan_open(const char* path, const surrogate_points* points,
                                     const surrogate_options* options, surrogate_plan** plan) {
    if (plan) *plan = nullptr;
    surrogate_context* context = nullptr;
    const surrogate_status status = surrogate_context_create(options, &context);
    return status == SURROGATE_SUCCESS ? open_plan(context, path, points, plan) : status;
}
