// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/family/clouds_program.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "libsurrogate/src/domain/cloud_layout.hpp"
#include "libsurrogate/src/domain/cloud_rows.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl {

namespace {

using kernels::Queue;

PortPlace place_of(std::span<const Port> outputs) {
    return outputs.front().place;
}

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
          is_pooled_(place_of(network.outputs()) == PortPlace::clouds) {}

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

    /// A context of one rank for each thread: communicators count what is sent.
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

    /// The axis that a column of coordinates reads. Without points it does not matter.
    int axis_of(const Column& column) const {
        const auto* const data = static_cast<const double*>(column.data);
        for (int axis = 0; axis < domain_.n_axis(); ++axis)
            if (domain_.coordinate(axis) == data) return axis;
        return 0;
    }

    void make_program(Part& part, const Queue& queue) {
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
        const Queue& all = request_.queue;
        const Queue one(all.backend(), all.level(), 1);
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
    /// The columns of a part's outputs in `rows`, or its row of pooled ones.
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

void require_runs_by_cloud(const Network& network, const PlanRequest& request) {
    if (runs_by_cloud(network)) return;
    throw Error(Status::not_supported,
                "the domain has " + std::to_string(request.input.n_cloud()) +
                    " clouds, and this network has inputs or outputs that are not real numbers at "
                    "points; make a domain and a plan of each cloud");
}

}  // namespace

bool runs_by_cloud(const Network& network) {
    if (network.domain_kind().is_sphere) return false;
    const std::vector<Port> inputs = network.inputs(), outputs = network.outputs();
    const auto is_read = [](const Port& port) {
        return port.kind == NumberKind::real && !port.is_optional &&
               (port.place == PortPlace::input_points || port.place == PortPlace::coordinates);
    };
    const auto is_written = [&](const Port& port) {
        return port.place == place_of(outputs) && port.place != PortPlace::nodes;
    };
    return std::ranges::all_of(inputs, is_read) && std::ranges::all_of(outputs, is_written);
}

std::unique_ptr<Program> make_clouds_program(const Network& network, const PlanRequest& request) {
    require_runs_by_cloud(network, request);
    if (request.is_double())
        return std::make_unique<CloudsProgram<double, Program>>(network, request);
    return std::make_unique<CloudsProgram<float, Program>>(network, request);
}

std::unique_ptr<GradientProgram> make_clouds_gradient_program(const Network& network,
                                                              const PlanRequest& request) {
    require_runs_by_cloud(network, request);
    if (request.is_double())
        return std::make_unique<CloudsGradientProgram<double>>(network, request);
    return std::make_unique<CloudsGradientProgram<float>>(network, request);
}

}  // namespace surrogate::impl
