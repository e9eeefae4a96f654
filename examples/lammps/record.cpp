// SPDX-License-Identifier: Apache-2.0
#define LAMMPS_LIB_MPI
#include <lammps/library.h>

#include <algorithm>
#include <optional>
#include <surrogate/surrogate_dataset.hpp>

#include "atoms.hpp"
#include "surrogate_lammps.h"

namespace {

const char* const axes[3] = {"x", "y", "z"};
const char* const of_axis[3] = {"X", "Y", "Z"};

/// The state of a fix external that records; it is never freed, as in predict.cpp.
struct Recorder {
    void* lammps;
    Atoms atoms;
    surrogate::Context context;
    std::string path, compute;
    int64_t n_sample;
    std::optional<surrogate::NewDataset> set;
    std::optional<surrogate::Domain> domain;
    int64_t sample = 0;

    void open() {
        domain.emplace(context, atoms.points());
        set.emplace(context, path);
        set->set("title", "Atoms of LAMMPS");
        set->add_axis("sample", n_sample);
        set->add_axis("point", domain->n_global());
        for (int i = 0; i < 3; ++i) add(axes[i], of_axis[i]);
        add(compute.c_str(), nullptr);
        set->begin();
    }

    void add(const char* name, const char* axis) {
        set->add(name, {"sample", "point"}, nullptr, nullptr, SURROGATE_FLOAT32, axis);
    }

    void take() {
        const surrogate_points points = atoms.points();
        surrogate::check(surrogate_domain_update_points(domain->get(), &points));
        set->set_points(*domain);
        const int64_t first = sample * domain->n_global();
        for (const char* const axis : axes)
            set->write(axis, first, atoms.column(std::string("x.") + axis));
        set->write(compute.c_str(), first, atoms.compute(compute));
        if (++sample == n_sample) set->finish();
    }
};

void run(void* user, int64_t, int n, int* tag, double** x, double** force) {
    auto& me = *static_cast<Recorder*>(user);
    if (n > 0) std::fill_n(force[0], 3 * n, 0.0);
    if (me.sample == me.n_sample) return;
    require_calls(me.lammps);
    me.atoms.look(n, tag, x);
    if (!me.domain) together(me.lammps, me.context, [&] { me.open(); });
    together(me.lammps, me.context, [&] { me.take(); });
}

}  // namespace

void surrogate_lammps_record(void* lammps, const char* fix, const char* path, const char* compute,
                             int n_sample) {
    lammps_set_fix_external_callback(
        lammps, fix, run,
        new Recorder{lammps, Atoms(lammps), context_of(lammps), path, compute, n_sample, {}, {}});
}
