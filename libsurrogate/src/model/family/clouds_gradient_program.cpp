// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "libsurrogate/src/model/family/clouds_program_base.hpp"

namespace surrogate::impl {

namespace {

template <class T>
class CloudsGradientProgram final : public CloudsProgram<T, GradientProgram> {
    using Shared = CloudsProgram<T, GradientProgram>;
    using typename Shared::Part;
    using typename Shared::Scratch;

public:
    CloudsGradientProgram(const Network& network, const PlanRequest& request)
        : Shared(network, request),
          outside_(request.queue.n_thread(), this->outputs_.n_column()),
          coordinates_(this->domain_, request.queue, this->n_axis_) {}

    void connect() override {
        Shared::connect();
        differentiates_coordinates_ =
            on_all_ranks(this->comm_, std::ranges::all_of(this->parts_, [](const Part& part) {
                             return part.program->differentiates_coordinates();
                         }));
        if (differentiates_coordinates_) coordinates_.follow(*this->layout_);
    }

    void set_dropout(std::optional<DropoutDraw> draw) override {
        for (Part& part : this->parts_) {
            std::optional<DropoutDraw> own = draw;
            // Another mask for each cloud of each sample.
            if (own) {
                own->sample = own->sample * static_cast<uint64_t>(this->domain_.n_cloud()) +
                              static_cast<uint64_t>(part.cloud);
            }
            part.program->set_dropout(own);
        }
    }

    bool differentiates_coordinates() const override { return differentiates_coordinates_; }

    bool is_class(int64_t channel) const override {
        return !this->parts_.empty() && this->parts_.front().program->is_class(channel);
    }

    bool leaves_out_weights() const override {
        return std::ranges::all_of(
            this->parts_, [](const Part& part) { return part.program->leaves_out_weights(); });
    }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = std::exchange(this->waits_, false) && alive;
        if (alive && !this->is_pooled_)
            alive = this->outputs_.gather(doutputs, outside_, 0).column < 0;
        alive = on_all_ranks(this->comm_, alive);
        if (!alive) {
            sums.poison();
            fill_nan(dinputs, this->domain_.n_local());
            return false;
        }
        if (!this->is_pooled_) this->outputs_.to_layout();
        for (Scratch& scratch : this->scratch_) scratch.is_good = true;
        backward({0, this->n_wide_}, doutputs, dinputs, this->scratch_[0], sums.of_program(0));
        this->request_.queue.parallel_for(std::ssize(this->groups_), [&](int64_t group, int) {
            const auto g = static_cast<size_t>(group);
            backward(this->groups_[g], doutputs, dinputs, this->scratch_[g],
                     sums.of_program(static_cast<int>(group)));
        });
        for (const Scratch& scratch : this->scratch_) alive = scratch.is_good && alive;
        if (takes_coordinates(dinputs)) give_back(coordinates_, dinputs.first(n_axis()));
        if (!dinputs.empty()) give_back(this->inputs_, dinputs.last(n_given()));
        return alive;
    }

    int64_t bytes() const override { return Shared::bytes() + coordinates_.bytes(); }

private:
    size_t n_axis() const { return static_cast<size_t>(this->n_axis_); }
    size_t n_given() const { return static_cast<size_t>(this->inputs_.n_column()); }
    bool takes_coordinates(std::span<const Column> dinputs) const {
        return dinputs.size() > n_given();
    }
    /// Collective if points move.
    static void give_back(CloudRows<T>& rows, std::span<const Column> columns) {
        if (columns.empty()) return;
        rows.to_solver();
        rows.scatter(columns);
    }

    void backward(Range parts, std::span<const Column> doutputs, std::span<const Column> dinputs,
                  Scratch& scratch, GradientSums& sums) {
        for (int64_t i = parts.begin; i < parts.end; ++i) {
            Part& part = this->parts_[static_cast<size_t>(i)];
            scratch.is_good = backward(part, doutputs, dinputs, scratch, sums) && scratch.is_good;
        }
    }
    bool backward(Part& part, std::span<const Column> doutputs, std::span<const Column> dinputs,
                  Scratch& scratch, GradientSums& sums) {
        if (this->is_pooled_) {
            std::ranges::copy(doutputs, scratch.outputs.begin());
            for (Column& column : scratch.outputs) {
                const int64_t size = column.is_double ? 8 : 4;
                column.data = static_cast<char*>(column.data) + column.element(part.cloud) * size;
                column.rows = nullptr;
            }
        } else {
            this->set_outputs(part, scratch);
        }
        std::span<Column> back;
        if (!dinputs.empty()) {
            back = std::span(scratch.inputs).last(dinputs.size());
            this->inputs_.set_columns(part.rows.begin, back.last(n_given()));
            if (takes_coordinates(dinputs))
                coordinates_.set_columns(part.rows.begin, back.first(n_axis()));
        }
        return part.program->backward(scratch.outputs, back, true, sums);
    }

    OutsideCounts outside_;     // of doutputs, which have no range
    CloudRows<T> coordinates_;  // their gradients
    bool differentiates_coordinates_ = false;
};

}  // namespace

std::unique_ptr<GradientProgram> make_clouds_gradient_program(const Network& network,
                                                              const PlanRequest& request) {
    require_runs_by_cloud(network, request);
    if (request.is_double())
        return std::make_unique<CloudsGradientProgram<double>>(network, request);
    return std::make_unique<CloudsGradientProgram<float>>(network, request);
}

}  // namespace surrogate::impl
