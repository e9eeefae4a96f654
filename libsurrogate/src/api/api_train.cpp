// SPDX-License-Identifier: Apache-2.0
// Settings, trainers and their steps. Contracts stand in surrogate_train.h.
#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/api/trainer_handle.hpp"

using namespace surrogate::impl;

surrogate_status surrogate_trainer_options_create(surrogate_trainer_options** training) {
    return guarded(nullptr, [&] {
        require(training, "training");
        *training = nullptr;
        *training = new surrogate_trainer_options;
    });
}

surrogate_status surrogate_trainer_options_set(surrogate_trainer_options* training, const char* key,
                                               const char* value) {
    return guarded(nullptr, [&] {
        require(training, "training");
        require(key, "key");
        require(value, "value");
        training->settings.set(key, value);
    });
}

void surrogate_trainer_options_destroy(surrogate_trainer_options** training) {
    if (!training) return;
    delete *training;
    *training = nullptr;
}

surrogate_status surrogate_trainer_create(surrogate_plan* plan, surrogate_context* data_parallel,
                                          const surrogate_trainer_options* settings,
                                          surrogate_trainer** trainer) {
    const surrogate_context* owner = data_parallel ? data_parallel : owner_of(plan);
    static const TrainingSettings none;
    const auto create = [&] {
        require(owner, "plan");
        if (trainer) *trainer = nullptr;
        std::unique_ptr<surrogate_trainer> created;
        owner->context->comm().agree([&] {
            require(plan, "plan");
            require(trainer, "trainer");
            created = std::make_unique<surrogate_trainer>();
        });
        created->owner = *owner;
        created->is_in_use = plan->is_in_use;
        created->trainer.emplace(*plan->plan, plan->owner.context, owner->context,
                                 settings ? settings->settings : none);
        *trainer = created.release();
    };
    if (!plan) return guarded(owner, create);
    return exclusive(*plan->is_in_use, [&] { return guarded(owner, create); });
}

namespace {

/// Reads the trainer of a handle, inside of what every function of the interface does.
template <class Work>
surrogate_status with(const surrogate_trainer* trainer, const Work& work) {
    return guarded(owner_of(trainer), [&] {
        require(trainer, "trainer");
        work(*trainer->trainer);
    });
}

/// Runs `work` on a trainer whose plan no other call works on.
template <class Work>
surrogate_status with(surrogate_trainer* trainer, const Work& work) {
    if (!trainer) return guarded(nullptr, [&] { require(trainer, "trainer"); });
    return exclusive(*trainer->is_in_use,
                     [&] { return guarded(&trainer->owner, [&] { work(*trainer->trainer); }); });
}

}  // namespace

surrogate_status surrogate_trainer_bind_target(surrogate_trainer* trainer, const char* name,
                                               const char* unit, const surrogate_array* array) {
    return with(trainer, [&](Trainer& own) { own.bind_target(name, unit, array); });
}

surrogate_status surrogate_trainer_bind_target_block(surrogate_trainer* trainer, const char* name,
                                                     const char* unit,
                                                     const surrogate_block* block) {
    return with(trainer, [&](Trainer& own) { own.bind_target(name, unit, block); });
}

surrogate_status surrogate_trainer_bind_labels(surrogate_trainer* trainer,
                                               const surrogate_array* labels) {
    return with(trainer, [&](Trainer& own) { own.bind_labels(labels); });
}

surrogate_status surrogate_trainer_set_class_weights(surrogate_trainer* trainer,
                                                     const double* weights, int64_t n_weights) {
    return with(trainer, [&](Trainer& own) { own.set_class_weights(weights, n_weights); });
}

surrogate_status surrogate_trainer_bind_gradient(surrogate_trainer* trainer, const char* name,
                                                 const char* unit, const surrogate_array* array) {
    return with(trainer, [&](Trainer& own) { own.bind_gradient(name, unit, array); });
}

surrogate_status surrogate_trainer_bind_gradient_block(surrogate_trainer* trainer, const char* name,
                                                       const char* unit,
                                                       const surrogate_block* block) {
    return with(trainer, [&](Trainer& own) { own.bind_gradient(name, unit, block); });
}

surrogate_status surrogate_trainer_forward(surrogate_trainer* trainer) {
    return with(trainer, [&](Trainer& own) { own.forward(); });
}

surrogate_status surrogate_trainer_backward(surrogate_trainer* trainer, double loss) {
    return with(trainer, [&](Trainer& own) { own.backward(loss); });
}

surrogate_status surrogate_trainer_add_validation_loss(surrogate_trainer* trainer, double loss) {
    return with(trainer, [&](Trainer& own) { own.add_validation_loss(loss); });
}

surrogate_status surrogate_trainer_set_point_weights(surrogate_trainer* trainer,
                                                     const surrogate_array* weights) {
    return with(trainer, [&](Trainer& own) { own.set_point_weights(weights); });
}

surrogate_status surrogate_trainer_set_scale(surrogate_trainer* trainer, const char* output,
                                             double scale) {
    return with(trainer, [&](Trainer& own) { own.set_scale(output, scale); });
}

surrogate_status surrogate_trainer_set_grid_shape(surrogate_trainer* trainer, int64_t n_x,
                                                  int64_t n_y) {
    return with(trainer, [&](Trainer& own) { own.set_lattice(n_x, n_y); });
}

surrogate_status surrogate_trainer_accumulate(surrogate_trainer* trainer, double* loss) {
    return with(trainer, [&](Trainer& own) {
        const double found = own.accumulate();
        if (loss) *loss = found;
    });
}

surrogate_status surrogate_trainer_apply(surrogate_trainer* trainer,
                                         surrogate_step_report* report) {
    return with(trainer, [&](Trainer& own) {
        const surrogate_step_report found = own.apply();
        if (report) *report = found;
    });
}

surrogate_status surrogate_trainer_step(surrogate_trainer* trainer, surrogate_step_report* report) {
    return with(trainer, [&](Trainer& own) {
        const surrogate_step_report found = own.step();
        if (report) *report = found;
    });
}

surrogate_status surrogate_trainer_validate(surrogate_trainer* trainer, double* loss,
                                            double* error) {
    return with(trainer, [&](Trainer& own) {
        const double found = own.validate(error);
        if (loss) *loss = found;
    });
}

surrogate_status surrogate_trainer_end_validation(surrogate_trainer* trainer, double* mean_loss,
                                                  int32_t* is_best) {
    return with(trainer, [&](Trainer& own) {
        bool best = false;
        const double found = own.end_validation(best);
        if (mean_loss) *mean_loss = found;
        if (is_best) *is_best = best ? 1 : 0;
    });
}

surrogate_status surrogate_trainer_reservoir_add(surrogate_trainer* trainer, int64_t* n_kept) {
    return with(trainer, [&](Trainer& own) {
        const int64_t found = own.keep();
        if (n_kept) *n_kept = found;
    });
}

surrogate_status surrogate_trainer_reservoir_step(surrogate_trainer* trainer, int64_t n_steps,
                                                  surrogate_step_report* report) {
    return with(trainer, [&](Trainer& own) {
        const surrogate_step_report found = own.step_kept(n_steps);
        if (report) *report = found;
    });
}

surrogate_status surrogate_trainer_widen_ranges(surrogate_trainer* trainer, int32_t* n_widened) {
    return with(trainer, [&](Trainer& own) {
        const int32_t found = own.widen_ranges();
        if (n_widened) *n_widened = found;
    });
}

surrogate_status surrogate_trainer_save_model(surrogate_trainer* trainer, int32_t which,
                                              const char* card, const char* path) {
    return with(trainer, [&](Trainer& own) { own.save_model(which, card, path); });
}

surrogate_status surrogate_trainer_save(surrogate_trainer* trainer, const char* note,
                                        const char* path) {
    return with(trainer, [&](Trainer& own) { own.save(note, path); });
}

surrogate_status surrogate_trainer_restore(surrogate_trainer* trainer, const char* path) {
    return with(trainer, [&](Trainer& own) { own.restore(path); });
}

surrogate_status surrogate_trainer_note(const surrogate_trainer* trainer, char* text,
                                        int64_t* n_text) {
    return with(trainer, [&](const Trainer& own) { copy_text(own.note(), text, n_text); });
}

surrogate_status surrogate_trainer_describe(const surrogate_trainer* trainer, char* text,
                                            int64_t* n_text) {
    return with(trainer, [&](const Trainer& own) { copy_text(own.describe(), text, n_text); });
}

surrogate_status surrogate_trainer_counter(const surrogate_trainer* trainer, const char* key,
                                           int64_t* value) {
    return with(trainer, [&](const Trainer& own) {
        require(value, "value");
        *value = own.counter(key);
    });
}

void surrogate_trainer_destroy(surrogate_trainer** trainer) {
    if (!trainer) return;
    delete *trainer;
    *trainer = nullptr;
}
