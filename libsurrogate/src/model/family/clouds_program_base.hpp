// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libsurrogate/src/domain/cloud_layout.hpp"
#include "libsurrogate/src/domain/cloud_rows.hpp"
#include "libsurrogate/src/model/family/clouds_program.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl {

/// Throws not_supported unless runs_by_cloud().
void require_runs_by_cloud(const Network& network, const PlanRequest& request);

/// Runs a program for each cloud. Base: Program, or GradientProgram, whose backward pass is in
/// clouds_gradient_program.cpp.
template <class T, class Base>
class CloudsProgram : public Base {
protected:
    static constexpr bool is_trained = std::is_same_v<Base, GradientProgram>;

    /// A cloud, or this rank's part of one.
    struct Part {
        int64_t cloud = 0;
        Range rows;
        std::unique_ptr<PointDomain> domain;
        std::vector<Column> coordinates;  // (n_axis), of the domain
        std::unique_ptr<Base> program;
    };
    /// Columns of a part in a run; each thread has its own.
    struct Scratch {
        std::vector<Column> inputs, outputs;
        OutsideCounts outside;  // of numbers that were counted before
        bool is_good = true;
    };

public:
    CloudsProgram(const Network& network, const PlanRequest& request)
        : network_(network),
          request_(request),
          domain_(same_points(request, "a network of several clouds")),
          comm_(domain_.context().comm()),
          n_axis_(n_coordinate_of(network.inputs())),
          inputs_(domain_, request.queue, n_channel_of(network.inputs()) - n_axis_),
          outputs_(domain_, request.queue, n_channel_of(network.outputs())),
          is_pooled_(network.outputs().front().place == PortPlace::clouds) {}

    void connect() override {
        layout_.emplace(domain_, !is_trained);
        set_contexts();
        auto domains = layout_->domains([&](size_t i) { return contexts_[group_of_[i]]; });
        comm_.agree([&] { set_parts(domains); });
        inputs_.follow(*layout_);
        outputs_.follow(*layout_);
        for (int64_t i = 0; i < n_shared(); ++i) {
            Part& part = parts_[static_cast<size_t>(i)];
            comm_.agree([&] { make_program(part, request_.queue); });
            part.program->connect();
        }
        comm_.agree([&] { make_own_programs(); });
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return inputs_.gather(inputs.subspan(static_cast<size_t>(n_axis_)), outside,
                              static_cast<int>(n_axis_));
    }

    bool evaluate(bool alive) override {
        waits_ = false;
        if (!on_all_ranks(comm_, alive)) return false;
        inputs_.to_layout();
        std::ranges::fill(pooled_, T(0));
        for (Scratch& scratch : scratch_) scratch.is_good = true;
        for (int64_t i = 0; i < n_wide_; ++i) run(parts_[static_cast<size_t>(i)], scratch_[0]);
        request_.queue.parallel_for(std::ssize(groups_), [&](int64_t group, int) {
            const Range range = groups_[static_cast<size_t>(group)];
            for (int64_t i = range.begin; i < range.end; ++i)
                run(parts_[static_cast<size_t>(i)], scratch_[static_cast<size_t>(group)]);
        });
        if (is_pooled_) {
            comm_.all_reduce_sum(std::span(pooled_.begin(), pooled_.end()));
        } else {
            outputs_.to_solver();
        }
        const bool is_good =
            std::ranges::all_of(scratch_, [](const Scratch& s) { return s.is_good; });
        return waits_ = is_good;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        const int64_t n = is_pooled_ ? domain_.n_cloud() : domain_.n_local();
        if (!alive) {
            fill_nan(outputs, n);
            return {};
        }
        if (!is_pooled_) return outputs_.scatter(outputs);
        return impl::scatter<T>(pooled_.data(), outputs_.n_column(), 1, outputs, 0, n);
    }

    int64_t bytes() const override {
        int64_t n = inputs_.bytes() + outputs_.bytes() + pooled_.bytes();
        for (const Part& part : parts_) n += part.program->bytes();
        return n;
    }
    int64_t n_point() const override {
        int64_t n = 0;
        for (const Part& part : parts_) n += part.program->n_point();
        return n;
    }
    std::vector<LayerCost> costs() const override {
        std::vector<LayerCost> sum{error_flag_cost("clouds: error flag")};
        if (layout_->moves()) {
            const int64_t n = inputs_.n_column() + (is_pooled_ ? 0 : outputs_.n_column());
            sum.push_back(scatter_cost("clouds: points to their ranks",
                                       n * domain_.n_local() * static_cast<int64_t>(sizeof(T)), 2));
        }
        const size_t n_own_line = sum.size();
        for (const Part& part : parts_) {
            for (const LayerCost& cost : part.program->costs()) {
                const auto same =
                    std::find_if(sum.begin() + static_cast<std::ptrdiff_t>(n_own_line), sum.end(),
                                 [&](const LayerCost& line) { return line.name == cost.name; });
                if (same == sum.end()) {
                    sum.push_back(cost);
                    continue;
                }
                same->flops += cost.flops;
                same->exponentials += cost.exponentials;
                same->bytes_sent += cost.bytes_sent;
                same->collectives += cost.collectives;
                same->messages += cost.messages;
            }
        }
        return sum;
    }
    std::vector<std::string> notes() const override {
        int64_t least = 0, most = 0;
        for (const auto clouds : {layout_->shared(), layout_->own()}) {
            for (const CloudLayout::Cloud& cloud : clouds) {
                least = least == 0 ? cloud.n_point : std::min(least, cloud.n_point);
                most = std::max(most, cloud.n_point);
            }
        }
        return {"clouds: " + std::to_string(domain_.n_cloud()) + "; " + std::to_string(n_shared()) +
                " computed by all ranks and " + std::to_string(std::ssize(layout_->own())) +
                " by this one, of " + std::to_string(least) + " to " + std::to_string(most) +
                " points; " +
                (layout_->moves() ? "points move to the rank of their cloud"
                                  : "no point leaves its rank")};
    }

protected:
    int64_t n_shared() const { return std::ssize(layout_->shared()); }

    /// Makes a context of one rank for each thread: communicators count what is sent.
    void set_contexts() {
        comm_.agree([&] {
            const Context& all = domain_.context();
            for (int t = 0; t < request_.queue.n_thread(); ++t) {
                contexts_.push_back(std::make_shared<Context>(self_communicator(), all.options(),
                                                              all.placement(), all.files()));
            }
            set_groups();
        });
    }

    /// Distributes the own clouds: wide ones, which take all threads, and groups of about equal
    /// numbers of points, one per thread. They are in the order of the layout in own_order_.
    void set_groups() {
        const auto own = layout_->own();
        const int n_thread = request_.queue.n_thread();
        int64_t n_point = 0;
        for (const CloudLayout::Cloud& cloud : own) n_point += cloud.n_point;
        is_wide_.assign(own.size(), n_thread == 1);
        group_of_.assign(own.size(), 0);
        for (size_t i = 0; i < own.size(); ++i)
            if (own[i].n_point > n_point / n_thread) is_wide_[i] = true;
        int64_t n_narrow = 0, done = 0;
        for (size_t i = 0; i < own.size(); ++i)
            if (!is_wide_[i]) n_narrow += own[i].n_point;
        for (size_t i = 0; i < own.size(); ++i) {
            if (is_wide_[i]) continue;
            group_of_[i] = static_cast<size_t>(done * n_thread / n_narrow);
            done += own[i].n_point;
        }
    }

    /// Takes over the domains. Local.
    void set_parts(std::vector<std::unique_ptr<PointDomain>>& domains) {
        const auto shared = layout_->shared(), own = layout_->own();
        parts_.clear();
        parts_.reserve(domains.size());
        const auto add = [&](const CloudLayout::Cloud& cloud, size_t index) {
            Part part{cloud.number, cloud.rows, std::move(domains[index]), {}, {}};
            part.coordinates.assign(request_.coordinates.begin(), request_.coordinates.end());
            for (Column& column : part.coordinates)
                column.data = const_cast<double*>(part.domain->coordinate(axis_of(column)));
            parts_.push_back(std::move(part));
        };
        for (size_t i = 0; i < shared.size(); ++i) add(shared[i], i);
        for (size_t i = 0; i < own.size(); ++i)
            if (is_wide_[i]) add(own[i], shared.size() + i);
        n_wide_ = std::ssize(parts_);
        groups_.assign(contexts_.size(), Range{});
        for (size_t group = 0; group < contexts_.size(); ++group) {
            groups_[group].begin = std::ssize(parts_);
            for (size_t i = 0; i < own.size(); ++i)
                if (!is_wide_[i] && group_of_[i] == group) add(own[i], shared.size() + i);
            groups_[group].end = std::ssize(parts_);
        }
        if (n_wide_ == std::ssize(parts_)) groups_.clear();
        scratch_.resize(contexts_.size());
        for (Scratch& scratch : scratch_) {
            scratch.inputs.resize(static_cast<size_t>(n_axis_ + inputs_.n_column()));
            scratch.outputs.resize(static_cast<size_t>(outputs_.n_column()));
            scratch.outside = OutsideCounts(request_.queue.n_thread(), std::ssize(scratch.inputs));
        }
        if (is_pooled_) pooled_.resize(domain_.n_cloud() * outputs_.n_column());
    }

    /// Returns the axis that a column of coordinates reads. Without points it does not matter.
    int axis_of(const Column& column) const {
        const auto* const data = static_cast<const double*>(column.data);
        for (int axis = 0; axis < domain_.n_axis(); ++axis)
            if (domain_.coordinate(axis) == data) return axis;
        return 0;
    }

    void make_program(Part& part, const kernels::Queue& queue) {
        PlanRequest request{*part.domain, *part.domain, queue};
        request.precision = request_.precision;
        request.reproducible = request_.reproducible;
        request.gradients = request_.gradients;
        request.saves_less = request_.saves_less;
        request.stops_at_range = request_.stops_at_range;
        request.coordinates = part.coordinates;
        if constexpr (is_trained) {
            part.program = network_.gradient_program(request);
        } else {
            part.program = network_.program(request);
        }
    }

    /// Programs of contexts of one rank. Errors name the cloud.
    void make_own_programs() {
        const kernels::Queue& all = request_.queue;
        const kernels::Queue one(all.backend(), all.level(), 1);
        for (int64_t i = n_shared(); i < std::ssize(parts_); ++i) {
            Part& part = parts_[static_cast<size_t>(i)];
            try {
                make_program(part, i < n_wide_ ? all : one);
                part.program->connect();
            } catch (const Error& error) {
                throw Error(error.status(),
                            "cloud " + std::to_string(part.cloud) + ": " + error.what());
            }
        }
    }

    void set_inputs(const Part& part, Scratch& scratch) {
        std::ranges::copy(part.coordinates, scratch.inputs.begin());
        inputs_.set_columns(part.rows.begin,
                            std::span(scratch.inputs).subspan(static_cast<size_t>(n_axis_)));
    }
    /// Describes the columns of a part's outputs in `rows`, or its row of pooled ones.
    void set_outputs(const Part& part, Scratch& scratch) {
        if (!is_pooled_) return outputs_.set_columns(part.rows.begin, scratch.outputs);
        for (size_t c = 0; c < scratch.outputs.size(); ++c) {
            Column& column = scratch.outputs[c] = {};
            column.data =
                pooled_.data() + part.cloud * outputs_.n_column() + static_cast<int64_t>(c);
            column.is_double = sizeof(T) == 8;
        }
    }
    bool is_shared(const Part& part) const { return &part < parts_.data() + n_shared(); }

    void run(Part& part, Scratch& scratch) {
        set_inputs(part, scratch);
        set_outputs(part, scratch);
        const bool is_read = part.program->gather(scratch.inputs, scratch.outside).column < 0;
        const bool is_good = part.program->evaluate(is_read);
        const bool is_written =
            part.program->scatter(scratch.outputs, is_read && is_good).column < 0;
        scratch.is_good = scratch.is_good && is_read && is_good && is_written;
        // All ranks have it, and they are added up.
        if (is_pooled_ && is_shared(part) && comm_.rank() > 0) {
            for (const Column& column : scratch.outputs) *static_cast<T*>(column.data) = T(0);
        }
    }

    const Network& network_;
    PlanRequest request_;
    const PointDomain& domain_;
    Communicator& comm_;
    int64_t n_axis_;  // of the port of coordinates
    CloudRows<T> inputs_, outputs_;
    bool is_pooled_;
    std::optional<CloudLayout> layout_;
    std::vector<std::shared_ptr<Context>> contexts_;  // (n_thread)
    std::vector<bool> is_wide_;                       // (own clouds)
    std::vector<size_t> group_of_;                    // (own clouds)
    std::vector<Part> parts_;       // shared, wide, and of the groups one after another
    int64_t n_wide_ = 0;            // shared and wide ones
    std::vector<Range> groups_;     // (n_thread) of parts, or none
    std::vector<Scratch> scratch_;  // (n_thread)
    kernels::Buffer<T> pooled_;     // (n_cloud, n_output)
    bool waits_ = false;            // for a backward pass
};

}  // namespace surrogate::impl
