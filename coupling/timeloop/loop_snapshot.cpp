// SPDX-License-Identifier: Apache-2.0
// Snapshots of a loop in memory, and checkpoints in files.
#include "coupling/timeloop/checkpoint.hpp"
#include "coupling/timeloop/loop.hpp"

namespace surrogate::timeloop {

void Loop::require_state() {
    input_points_->refresh();
    output_points_->refresh();
    fields_->require_bound(input_points_->n_point(), output_points_->n_point(),
                           input_points_->n_cloud());
    state_->require_length(input_points_->n_point());
}

/// Sets names and allocates the values. Local.
void Loop::shape(Snapshot* snapshot) {
    rails_->drift().save(&snapshot->integrals);
    state_->shape(&snapshot->fields);
}

void Loop::take(Snapshot* snapshot) const {
    snapshot->time_s = time_s_;
    snapshot->step = step_;
    snapshot->n_skip = n_skip_;
    rails_->drift().save(&snapshot->integrals);
    state_->save(&snapshot->fields);
}

void Loop::bring_back(const Snapshot& snapshot) {
    time_s_ = snapshot.time_s;
    step_ = snapshot.step;
    n_skip_ = snapshot.n_skip;
    rails_->drift().load(snapshot.integrals);
    state_->load(snapshot.fields);
}

void Loop::mark() {
    agreed(context_, [&] {
        require_state();
        if (marked_bind_ == n_bind_) return;
        marked_bind_ = -1;
        shape(&mark_);
    });
    take(&mark_);
    marked_bind_ = n_bind_;
    ++counters_.snapshots;
}

void Loop::rewind() {
    agreed(context_, [&] {
        if (marked_bind_ < 0)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "there is no snapshot to roll back to; call surrogate_timeloop_snapshot first");
        if (marked_bind_ != n_bind_)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "fields were bound or integrals declared after the snapshot; call "
                 "surrogate_timeloop_snapshot again");
        require_state();
    });
    bring_back(mark_);
    ++counters_.rollbacks;
}

/// Common start of save and restore: checks the path and allocates the state. Collective; errors
/// are the same on all ranks.
std::string Loop::prepare(const char* path, Snapshot* snapshot) {
    std::string name;
    agreed(context_, [&] {
        require(path, "path");
        require_state();
        name = path;
        shape(snapshot);
    });
    return name;
}

void Loop::save(const char* path) {
    Snapshot snapshot;
    const std::string name = prepare(path, &snapshot);
    take(&snapshot);
    save_checkpoint(context_, plan_, snapshot, name, &orders_);
    ++counters_.saves;
}

void Loop::restore(const char* path) {
    Snapshot snapshot;
    const std::string name = prepare(path, &snapshot);
    restore_checkpoint(context_, plan_, name, &snapshot, &orders_);
    bring_back(snapshot);
}

}  // namespace surrogate::timeloop
