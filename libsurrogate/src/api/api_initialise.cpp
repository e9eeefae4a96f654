// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/model/initial.hpp"
#include "surrogate/surrogate_train.h"

using namespace surrogate::impl;

surrogate_status surrogate_model_initialize(surrogate_context* context, const char* card,
                                            int64_t seed, surrogate_model** model) {
    return surrogate_model_initialize_scaled(context, card, seed, 1, model);
}

surrogate_status surrogate_model_initialize_scaled(surrogate_context* context, const char* card,
                                                   int64_t seed, double output_scale,
                                                   surrogate_model** model) {
    return guarded(context, [&] {
        create<Model>(context, "model", model, &surrogate_model::model,
                      InitialSource(card, seed, output_scale));
    });
}
