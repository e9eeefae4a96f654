// SPDX-License-Identifier: Apache-2.0
// Samples that a solver pushes, and steps on them.
#include <algorithm>
#include <bit>

#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

namespace {

/// A column of the caller's to 8-byte numbers, integers as their bits. Returns the first that is
/// not finite.
BadValue copy_column(const Column& from, NumberKind kind, int64_t n, double* to) {
    if (kind == NumberKind::integer) {
        for (int64_t i = 0; i < n; ++i) to[i] = std::bit_cast<double>(load_integer(from, i));
        return {};
    }
    Column plain = from;
    plain.mean = 0;
    plain.std = 1;
    Outside outside;
    return gather(std::span(&plain, 1), 0, n, to, 1, n, &outside);
}

}  // namespace

/// Throws unless all inputs are bound, and are fields at points.
void Trainer::require_keepable() const {
    if (recipe_.reservoir == 0) {
        throw Error(Status::invalid_argument,
                    "the reservoir has size 0; set reservoir=N to keep N samples");
    }
    for (size_t i = 0; i < plan_.inputs().size(); ++i) {
        const PortPlace place = plan_.input_place(i);
        const bool is_at_points = place == PortPlace::input_points ||
                                  place == PortPlace::coordinates || place == PortPlace::clouds;
        if (is_at_points && (plan_.inputs()[i].data || plan_.n_input_row(i) == 0)) continue;
        throw Error(Status::not_supported, "input '" + model_->card().inputs[i].name +
                                               "' is not bound or not at the points of the plan's "
                                               "input domain, and a reservoir keeps inputs there");
    }
}

/// Inputs that a sample brings, unlike coordinates.
int64_t Trainer::n_kept_input() const {
    return std::ranges::count_if(plan_.inputs(), [](const Column& c) { return !c.is_constant; });
}

/// 8-byte numbers of this rank's share of a sample: inputs, then targets, column by column.
int64_t Trainer::n_kept_number() const {
    return n_kept_input() * plan_.input()->n_local() + n_point() * std::ssize(targets_);
}

int64_t Trainer::keep() {
    int64_t place = -1;
    Reservoir::Slot taken;
    data_parallel().agree([&] {
        require_keepable();
        plan_.require_inputs();
        require_targets();
        make_room();
        place = reservoir_.next_slot();
        if (place >= 0) reservoir_.slot(place);
        taken.numbers = kernels::Buffer<double>(n_kept_number());
        copy_sample(taken);
    });
    taken.revision = kept_revision();
    if (place >= 0) reservoir_.slot(place) = std::move(taken);
    reservoir_.note_given(place);
    return reservoir_.n_kept();
}

/// Copies the bound arrays to a slot. Throws not_finite.
void Trainer::copy_sample(Reservoir::Slot& to) {
    const std::span<const Column> inputs = plan_.inputs();
    const int64_t n = plan_.input()->n_local();
    double* at = to.numbers.data();
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].is_constant) continue;
        const BadValue bad = copy_column(inputs[i], plan_.input_kind(i), n, at);
        at += n;
        if (bad.column < 0) continue;
        throw Error(Status::not_finite, "input '" + model_->card().inputs[i].name +
                                            "' is not finite at " +
                                            plan_.input_row_text(i, bad.point));
    }
    take_targets(bound());
    if (has_labels()) {
        for (int64_t i = 0; i < n_point(); ++i) at[i] = std::bit_cast<double>(labels_[i]);
        return;
    }
    std::copy_n(target_.data(), n_point() * std::ssize(targets_), at);
}

/// The points that samples are kept for.
int64_t Trainer::kept_revision() const {
    return plan_.input()->revision() + plan_.output()->revision();
}

/// Columns of a slot of the reservoir. Throws not_supported if its points have moved.
Trainer::Source Trainer::kept(int64_t place) {
    Reservoir::Slot& slot = reservoir_.slot(place);
    if (slot.revision != kept_revision()) {
        throw Error(Status::not_supported,
                    "the points have moved since samples were kept; steps on kept samples need the "
                    "points that they were kept for");
    }
    const std::span<const Column> inputs = plan_.inputs();
    kept_inputs_.assign(inputs.begin(), inputs.end());
    kept_targets_.resize(targets_.size());
    double* from = slot.numbers.data();
    for (Column& column : kept_inputs_) {
        if (column.is_constant) continue;
        column.data = from;
        column.stride = 1;
        column.is_double = true;
        column.lattice = {};
        column.rows = nullptr;
        from += plan_.input()->n_local();
    }
    for (Column& column : kept_targets_) {
        column = {from, 1, true};
        from += n_point();
    }
    return {kept_inputs_, kept_targets_, false};
}

surrogate_step_report Trainer::step_kept(int64_t n_step) {
    data_parallel().agree([&] {
        if (n_step < 1) {
            throw Error(Status::invalid_argument,
                        "n_steps is " + std::to_string(n_step) + ", expected 1 or more");
        }
        if (reservoir_.n_kept() > 0) return;
        throw Error(Status::invalid_argument,
                    "the reservoir is empty; call surrogate_trainer_reservoir_add first");
    });
    surrogate_step_report report{};
    double losses = 0;
    for (int64_t i = 0; i < n_step; ++i) {
        while (std::ssize(losses_) < recipe_.accumulate) {
            Source source;
            const int64_t place = reservoir_.draw();
            try {
                data_parallel().agree([&] { source = kept(place); });
                accumulate(source, is_last_sample());
            } catch (...) {
                reservoir_.undo_draw();
                throw;
            }
        }
        report = apply();
        losses += report.loss;
    }
    report.loss = losses / static_cast<double>(n_step);
    return report;
}

}  // namespace surrogate::impl
