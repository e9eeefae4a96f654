// SPDX-License-Identifier: Apache-2.0
// A plan follows its points when they have moved, and ranges that a trainer has widened. Both were
// collective: all ranks know of it.
#include <exception>
#include <optional>

#include "libsurrogate/src/plan/device/execution.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

/// Collective. Throws on all ranks, and is then called again by the next run.
void Plan::follow() {
    finish_earlier_runs();
    context().comm().agree([&] {
        if (device_ && stream_) require_not_captured(device_->device(), *stream_);
        set_coordinates();
        resize_derivatives();
    });
    coordinates_ = Coordinates(*input_, fields_);
    const bool is_new = !execution_ || !execution_->follow();
    if (is_new) add_execution();
    followed_ = revisions();
    if (is_new && stream_) execution_->set_stream(*stream_);
}

/// Coordinates keep theirs. Takes no memory.
void Plan::follow_ranges() {
    const int64_t revision = model_->shared_card()->revision();
    if (ranges_revision_ == revision) return;
    ranges_revision_ = revision;
    for (size_t i = 0; i < fields_.size(); ++i) {
        if (fields_[i].is_coordinate) continue;
        const FieldCard& field = model_->card().inputs[i];
        inputs_[i].min = fields_[i].min = field.min;
        inputs_[i].max = fields_[i].max = field.max;
    }
    execution_->set_ranges(inputs_);
}

/// Their errors are kept for the next run: their points can still be distinguished from the present
/// ones.
void Plan::finish_earlier_runs() {
    if (found_before_move_) return;
    try {
        wait();
    } catch (...) {
        found_before_move_ = std::current_exception();
    }
}

/// Collective, with agreement. The memory of an earlier execution is free for the new one.
void Plan::add_execution() {
    execution_.reset();
    std::optional<PlanRequest> request;
    context().comm().agree([&] {
        request.emplace(PlanRequest{*input_, *output_, queue_});
        request->precision = options_.get("precision");
        request->reproducible = options_.get("reproducible") == "true";
        request->gradients = options_.get("gradients") != "false";
        request->saves_less = options_.get("gradients") == "recompute";
        request->device = device_;
        request->inputs = inputs_;
        request->coordinates = positions_;
        request->allows_code = options_.get("allow_code") == "true";
        request->stops_at_range = stops_at_range_;
    });
    execution_ = make_execution(model_->network(), *request);
    if (derivatives_) context().comm().agree([&] { add_weight_sums(); });
}

}  // namespace surrogate::impl
