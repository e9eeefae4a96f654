// SPDX-License-Identifier: Apache-2.0
// Domains and plans. Contracts stand in surrogate.h.
#include <numbers>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"

using namespace surrogate::impl;

surrogate_status surrogate_domain_create_points(surrogate_context* context,
                                                const surrogate_points* points,
                                                surrogate_domain** domain) {
    return guarded(context, [&] {
        create<PointDomain>(context, "domain", domain, &surrogate_domain::domain, points);
    });
}

surrogate_status surrogate_domain_points(const surrogate_domain* domain, surrogate_points* points) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        require(points, "points");
        const auto* kept = dynamic_cast<const PointDomain*>(domain->domain.get());
        if (!kept)
            throw Error(Status::not_supported,
                        "the domain is a grid on the sphere, which keeps no "
                        "points; surrogate_sphere_nodes gives its nodes");
        const int64_t n = kept->n_local();
        *points = {{const_cast<double*>(kept->coordinate(0)),
                    {n, kept->n_axis()},
                    {1, n},
                    SURROGATE_FLOAT64,
                    SURROGATE_HOST},
                   kept->has_ids() ? kept->ids() : nullptr,
                   kept->has_clouds() ? kept->clouds() : nullptr,
                   kept->has_weights() ? kept->weights() : nullptr};
    });
}

surrogate_status surrogate_domain_update_points(surrogate_domain* domain,
                                                const surrogate_points* points) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        auto* const moving = dynamic_cast<PointDomain*>(domain->domain.get());
        if (!moving)
            throw Error(Status::not_supported,
                        "the domain is a grid on the sphere, whose points cannot move; make "
                        "another domain and plan");
        moving->move(points);
    });
}

surrogate_status surrogate_domain_set_edges(surrogate_domain* domain, int64_t n_edge,
                                            const int64_t* source, const int64_t* target) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        auto* const points = dynamic_cast<PointDomain*>(domain->domain.get());
        if (!points)
            throw Error(Status::not_supported,
                        "the domain is a grid on the sphere; only scattered points have edges");
        points->set_edges(n_edge, source, target);
    });
}

surrogate_status surrogate_domain_n_clouds(const surrogate_domain* domain, int64_t* n) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        require(n, "n");
        *n = domain->domain->n_cloud();
    });
}

surrogate_status surrogate_domain_create_sphere(surrogate_context* context,
                                                const surrogate_sphere* sphere,
                                                surrogate_domain** domain) {
    return guarded(context, [&] {
        create<SphereDomain>(context, "domain", domain, &surrogate_domain::domain, sphere);
    });
}

surrogate_status surrogate_domain_sphere(const surrogate_domain* domain, surrogate_sphere* sphere) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        require(sphere, "sphere");
        const auto* kept = dynamic_cast<const SphereDomain*>(domain->domain.get());
        if (!kept)
            throw Error(Status::not_supported,
                        "the domain is scattered points, and no grid on the sphere; "
                        "surrogate_domain_points gives its points");
        *sphere = kept->description();
    });
}

surrogate_status surrogate_sphere_nodes(const char* grid, int64_t n_lat, int64_t n_lon,
                                        double* latitude, double* longitude, double* weight) {
    return guarded(nullptr, [&] {
        require(grid, "grid");
        if (n_lon < 1) throw Error(Status::invalid_argument, "n_lon is " + std::to_string(n_lon));
        const auto nodes =
            surrogate::kernels::latitudes(surrogate::kernels::parse_grid_kind(grid), n_lat);
        for (size_t k = 0; k < nodes.theta.size(); ++k) {
            if (latitude) latitude[k] = 90 - nodes.theta[k] * (180 / std::numbers::pi);
            if (weight) weight[k] = nodes.weight[k] / (2 * static_cast<double>(n_lon));
        }
        for (int64_t j = 0; longitude && j < n_lon; ++j)
            longitude[j] = 360.0 * static_cast<double>(j) / static_cast<double>(n_lon);
    });
}

surrogate_status surrogate_domain_n_points(const surrogate_domain* domain, int64_t* n_local,
                                           int64_t* n_global) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        require(n_local, "n_local");
        require(n_global, "n_global");
        *n_local = domain->domain->n_local();
        *n_global = domain->domain->n_global();
    });
}

void surrogate_domain_destroy(surrogate_domain** domain) {
    if (!domain) return;
    delete *domain;
    *domain = nullptr;
}

surrogate_status surrogate_plan_create(const surrogate_model* model, const surrogate_domain* input,
                                       const surrogate_domain* output,
                                       const surrogate_options* options, surrogate_plan** plan) {
    // Either object knows the ranks that must hear of the other one's absence.
    const surrogate_context* owner = model ? &model->owner : owner_of(input);
    static const Options none;
    return guarded(owner, [&] {
        require(owner, "model");
        if (plan) *plan = nullptr;
        std::unique_ptr<surrogate_plan> created;
        owner->context->comm().agree([&] {
            require(model, "model");
            require(input, "input");
            require(plan, "plan");
            created = std::make_unique<surrogate_plan>();
        });
        created->owner = *owner;
        created->plan.emplace(model->model, input->domain, output ? output->domain : input->domain,
                              options ? options->value : none);
        *plan = created.release();
    });
}

surrogate_status surrogate_plan_context(const surrogate_plan* plan, surrogate_context** context) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        require(context, "context");
        *context = nullptr;
        *context = new surrogate_context(plan->owner);
    });
}

surrogate_status surrogate_plan_agree(surrogate_plan* plan, surrogate_status status,
                                      const char* text) {
    if (!plan) return guarded(nullptr, [&] { require(plan, "plan"); });
    return surrogate_context_agree(&plan->owner, status, text);
}

surrogate_status surrogate_plan_model(const surrogate_plan* plan, surrogate_model** model) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        require(model, "model");
        *model = nullptr;
        *model = new surrogate_model{plan->owner, plan->plan->model()};
    });
}

surrogate_status surrogate_plan_domain(const surrogate_plan* plan, int32_t is_output,
                                       surrogate_domain** domain) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        require(domain, "domain");
        *domain = nullptr;
        *domain = new surrogate_domain{plan->owner,
                                       is_output ? plan->plan->output() : plan->plan->input()};
    });
}

namespace {

/// Runs `work` on a plan that no other call works on.
template <class Work>
surrogate_status with_plan(surrogate_plan* plan, const Work& work) {
    if (!plan) return guarded(nullptr, [&] { require(plan, "plan"); });
    return exclusive(*plan->is_in_use,
                     [&] { return guarded(&plan->owner, [&] { work(*plan->plan); }); });
}

}  // namespace

surrogate_status surrogate_plan_bind_input(surrogate_plan* plan, const char* name, const char* unit,
                                           const surrogate_array* array) {
    return with_plan(plan, [&](Plan& own) { own.bind_input(name, unit, array); });
}

surrogate_status surrogate_plan_bind_output(surrogate_plan* plan, const char* name,
                                            const char* unit, const surrogate_array* array) {
    return with_plan(plan, [&](Plan& own) { own.bind_output(name, unit, array); });
}

surrogate_status surrogate_plan_bind_input_block(surrogate_plan* plan, const char* name,
                                                 const char* unit, const surrogate_block* block) {
    return with_plan(plan, [&](Plan& own) { own.bind_input(name, unit, block); });
}

surrogate_status surrogate_plan_bind_output_block(surrogate_plan* plan, const char* name,
                                                  const char* unit, const surrogate_block* block) {
    return with_plan(plan, [&](Plan& own) { own.bind_output(name, unit, block); });
}

surrogate_status surrogate_plan_bind_output_gradient(surrogate_plan* plan, const char* name,
                                                     const char* unit, const surrogate_array* w) {
    return with_plan(plan, [&](Plan& own) { own.bind_output_gradient(name, unit, w); });
}

surrogate_status surrogate_plan_bind_input_gradient(surrogate_plan* plan, const char* name,
                                                    const char* unit, const surrogate_array* g) {
    return with_plan(plan, [&](Plan& own) { own.bind_input_gradient(name, unit, g); });
}

surrogate_status surrogate_plan_bind_output_gradient_block(surrogate_plan* plan, const char* name,
                                                           const char* unit,
                                                           const surrogate_block* w) {
    return with_plan(plan, [&](Plan& own) { own.bind_output_gradient(name, unit, w); });
}

surrogate_status surrogate_plan_bind_input_gradient_block(surrogate_plan* plan, const char* name,
                                                          const char* unit,
                                                          const surrogate_block* g) {
    return with_plan(plan, [&](Plan& own) { own.bind_input_gradient(name, unit, g); });
}

surrogate_status surrogate_plan_run_backward(surrogate_plan* plan) {
    return with_plan(plan, [&](Plan& own) { own.run_backward(); });
}

surrogate_status surrogate_plan_bind_input_tangent(surrogate_plan* plan, const char* name,
                                                   const char* unit, const surrogate_array* v) {
    return with_plan(plan, [&](Plan& own) { own.bind_input_tangent(name, unit, v); });
}

surrogate_status surrogate_plan_bind_output_tangent(surrogate_plan* plan, const char* name,
                                                    const char* unit, const surrogate_array* jv) {
    return with_plan(plan, [&](Plan& own) { own.bind_output_tangent(name, unit, jv); });
}

surrogate_status surrogate_plan_bind_input_tangent_block(surrogate_plan* plan, const char* name,
                                                         const char* unit,
                                                         const surrogate_block* v) {
    return with_plan(plan, [&](Plan& own) { own.bind_input_tangent(name, unit, v); });
}

surrogate_status surrogate_plan_bind_output_tangent_block(surrogate_plan* plan, const char* name,
                                                          const char* unit,
                                                          const surrogate_block* jv) {
    return with_plan(plan, [&](Plan& own) { own.bind_output_tangent(name, unit, jv); });
}

surrogate_status surrogate_plan_run_tangent(surrogate_plan* plan) {
    return with_plan(plan, [&](Plan& own) { own.run_tangent(); });
}

surrogate_status surrogate_plan_unbind(surrogate_plan* plan) {
    return with_plan(plan, [&](Plan& own) { own.unbind(); });
}

surrogate_status surrogate_plan_run(surrogate_plan* plan) {
    return with_plan(plan, [&](Plan& own) { own.run(); });
}

surrogate_status surrogate_plan_run_network(surrogate_plan* plan, int32_t n_inputs,
                                            const surrogate_named_array* inputs, int32_t n_outputs,
                                            const surrogate_named_array* outputs) {
    return with_plan(plan, [&](Plan& own) {
        // A null list, or a list of negative length, is passed as an empty list. The plan then
        // reports the error after all exchanges.
        const size_t n_in = inputs && n_inputs > 0 ? static_cast<size_t>(n_inputs) : 0;
        const size_t n_out = outputs && n_outputs > 0 ? static_cast<size_t>(n_outputs) : 0;
        own.run_network({inputs, n_in}, {outputs, n_out});
    });
}

surrogate_status surrogate_plan_run_with_error(surrogate_plan* plan, surrogate_status status,
                                               const char* text) {
    return with_plan(plan, [&](Plan& own) {
        if (status == SURROGATE_SUCCESS) {
            own.run_failed(Status::invalid_argument,
                           "surrogate_plan_run_with_error was called with SURROGATE_SUCCESS");
        }
        own.run_failed(static_cast<Status>(status), reason(text));
    });
}

surrogate_status surrogate_plan_set_stream(surrogate_plan* plan, void* stream) {
    return with_plan(plan, [&](Plan& own) { own.set_stream(stream); });
}

surrogate_status surrogate_plan_wait(surrogate_plan* plan) {
    return with_plan(plan, [&](Plan& own) { own.wait(); });
}

surrogate_status surrogate_plan_option(const surrogate_plan* plan, const char* key, char* text,
                                       int64_t* n_text) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        copy_text(plan->plan->option(key), text, n_text);
    });
}

surrogate_status surrogate_plan_counter(const surrogate_plan* plan, const char* key,
                                        int64_t* value) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        require(value, "value");
        *value = plan->plan->counter(key);
    });
}

surrogate_status surrogate_plan_range(const surrogate_plan* plan, int32_t input,
                                      surrogate_range_info* info) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        require(info, "info");
        *info = plan->plan->range(input);
    });
}

surrogate_status surrogate_plan_describe(const surrogate_plan* plan, char* text, int64_t* n_text) {
    return guarded(owner_of(plan), [&] {
        require(plan, "plan");
        copy_text(plan->plan->describe(), text, n_text);
    });
}

void surrogate_plan_destroy(surrogate_plan** plan) {
    if (!plan) return;
    delete *plan;
    *plan = nullptr;
}
