// SPDX-License-Identifier: Apache-2.0
#define LAMMPS_LIB_MPI
#include <lammps/library.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "atoms.hpp"
#include "surrogate_lammps.h"

namespace {

/// The state of a fix external. It is never freed, because LAMMPS does not report the end of a fix.
struct Predictor {
    void* lammps;
    Atoms atoms;
    surrogate::Context context;
    surrogate::Model model;
    std::optional<surrogate::Domain> domain;
    std::optional<surrogate::Plan> plan;

    void follow() {
        const surrogate_points points = atoms.points();
        if (domain) {
            surrogate::check(surrogate_domain_update_points(domain->get(), &points));
            return;
        }
        domain.emplace(context, points);
        plan.emplace(model, *domain);
    }

    void bind() {
        for (const surrogate_field_info& field : model.inputs())
            if (field.role == SURROGATE_FIELD)
                plan->bind_input(field.name, atoms.column(field.name));
        for (const surrogate_field_info& field : model.outputs()) bind_output(field.name);
    }

    void bind_output(const char* name) {
        const std::string predicted = std::string("d_predicted_") + name;
        const std::optional<surrogate_array> array = atoms.find(predicted);
        if (!array)
            throw std::invalid_argument("the atoms have no '" + predicted +
                                        "' for the model's output '" + name + "'; add " +
                                        fix_of_outputs() + " to the input script");
        plan->bind_output(name, *array);
    }

    std::string fix_of_outputs() const {
        std::string fix = "'fix predicted all property/atom";
        for (const surrogate_field_info& field : model.outputs())
            fix += std::string(" d_predicted_") + field.name;
        return fix + "'";
    }
};

void run(void* user, int64_t, int n, int* tag, double** x, double** force) {
    auto& me = *static_cast<Predictor*>(user);
    if (n > 0) std::fill_n(force[0], 3 * n, 0.0);
    require_calls(me.lammps);
    me.atoms.look(n, tag, x);
    together(me.lammps, me.context, [&] { me.follow(); });
    together(me.lammps, me.context, [&] { me.bind(); });  // LAMMPS may have moved its arrays
    together(me.lammps, me.context, [&] { me.plan->run(); });
}

}  // namespace

void surrogate_lammps_predict(void* lammps, const char* fix, const char* path) {
    surrogate::Context context = context_of(lammps);
    std::optional<surrogate::Model> model;
    together(lammps, context, [&] { model.emplace(context, path); });
    lammps_set_fix_external_callback(
        lammps, fix, run,
        new Predictor{lammps, Atoms(lammps), std::move(context), std::move(*model), {}, {}});
}
