// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_execution.hpp"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/device_passes.hpp"
#include "libsurrogate/src/plan/device_ports.hpp"

namespace surrogate::impl::flare {

using kernels::DeviceFindings;
using kernels::DeviceOutside;
using kernels::Stream;
using kernels::flare::chunk_points;

namespace {

/// The smallest bad place that a device found; see DeviceFindings.
BadValue bad_value_at(uint64_t place) {
    if (place == DeviceFindings::no_place) return {};
    return {static_cast<int>(kernels::column_of_place(place)), kernels::point_of_place(place), 0,
            false};
}

/// What a device counted in a column.
Outside outside_of(const DeviceOutside& found, const Column& column) {
    Outside outside;
    if (found.above != 0)
        outside.add(kernels::from_ordered_bits(found.above), column.min, column.max);
    if (found.below != 0)
        outside.add(kernels::from_ordered_bits(~found.below), column.min, column.max);
    outside.n = static_cast<int64_t>(found.n);
    return outside;
}

BadValue first_of(const BadValue& a, const BadValue& b) {
    return a.column >= 0 ? a : b;
}

class DeviceExecution final : public Execution {
public:
    DeviceExecution(const Config& config, const PointDomain& domain, const PlanRequest& request,
                    std::shared_ptr<const DeviceWeights> weights)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          context_(*request.device),
          device_(context_.device()),
          weights_(std::move(weights)) {}

    ~DeviceExecution() override {
        if (!in_flight_) return;
        try {
            context_.collectives().wait(stream_);
        } catch (...) {  // the device or a peer is lost; the memory is given back all the same
        }
    }

    /// Collective, unlike the constructor: ranks agree that they have the object before they meet
    /// in here.
    void prepare(const PlanRequest& request) {
        if (request.reproducible)
            rows_.emplace(comm_, canonical_route(domain_, chunk_points),
                          std::max(config_.in_dim, config_.out_dim));
        comm_.agree([&] { allocate(request); });
        passes_->prepare(comm_, stream_);
    }

    Result run(std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override;

    void require_usable(std::span<const Column> outputs) const override {
        ports_->require_usable(outputs);
    }
    void set_stream(Stream stream) override;
    std::optional<Late> collect(bool wait) override;

    std::optional<Traffic> traffic() const override {
        const int64_t reductions = passes_->n_reduction();
        return Traffic{
            exchanged_.bytes + reductions / DevicePasses::reductions * passes_->reduction_bytes(),
            exchanged_.collectives + reductions};
    }

    std::span<const Outside> outside() const override { return outside_; }

    int64_t workspace_bytes() const override { return passes_->bytes() + ports_->device_bytes(); }
    int64_t n_point() const override { return ports_->n_point(); }
    std::vector<LayerCost> costs() const override {
        return costs_of(config_, {n_point(), domain_.n_local(), rows_.has_value(), 4,
                                  passes_->reduction_bytes(), DevicePasses::reductions});
    }
    std::vector<std::string> notes() const override;

private:
    void allocate(const PlanRequest& request);
    std::optional<Late> find_late(bool wait);
    void start_findings(bool poisoned);
    /// The record of a run: findings, and behind them what was outside of ranges (n_input).
    DeviceFindings& slot(int64_t run) const {
        char* const records = static_cast<char*>(found_.get());
        return *reinterpret_cast<DeviceFindings*>(records +
                                                  run % max_pending * passes_->record_bytes());
    }
    DeviceFindings& fresh() { return *reinterpret_cast<DeviceFindings*>(fresh_.data()); }
    void clear_record(int64_t run) {
        fresh() = DeviceFindings{};
        std::memcpy(static_cast<void*>(&slot(run)), fresh_.data(), fresh_.size());
    }
    void bring_findings(int64_t run) {
        device_.copy(&slot(run), passes_->findings(), passes_->record_bytes(), stream_);
    }
    /// Adds what `work` lets the communicator carry.
    template <class Work>
    void count_exchange(const Work& work) {
        const int64_t n_byte = comm_.bytes_sent(), n_collective = comm_.n_collective();
        work();
        exchanged_.bytes += comm_.bytes_sent() - n_byte;
        exchanged_.collectives += comm_.n_collective() - n_collective;
    }
    Result finish(std::span<const Column> outputs, bool is_dead, BadValue bad, int64_t run,
                  FirstFailure& failure);
    Result result_of(int64_t run);

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    DeviceContext& context_;
    kernels::Device& device_;
    std::shared_ptr<const DeviceWeights> weights_;
    std::optional<RowExchange<float>> rows_;  // reproducible mode only
    DeviceStream own_stream_;
    DeviceEvent change_;  // of streams
    std::unique_ptr<DevicePasses> passes_;
    std::unique_ptr<DevicePorts> ports_;           // goes before the memory it was given
    std::vector<std::byte> fresh_;                 // a record of a run that has not begun
    PinnedMemory found_;                           // (max_pending) records
    std::vector<Column> ranged_;                   // inputs by the card: their ranges
    std::vector<Outside> outside_, host_outside_;  // (n_input): of the last run seen; its host part
    Stream stream_ = nullptr;                      // where runs go
    bool is_callers_stream_ = false;
    bool in_flight_ = false;  // work was enqueued since the host last waited
    bool stops_at_range_ = false;
    int64_t last_seen_ = -1;                 // run that outside_ tells of
    int64_t n_run_ = 0, first_pending_ = 0;  // runs first_pending_ .. n_run_ - 1 may be pending
    std::bitset<max_pending> is_told_;       // runs whose findings were returned by themselves
    Traffic exchanged_;                      // of the last run: rows of the reproducible mode
    std::optional<Late> late_;               // found while a run waited for its turn
};

void DeviceExecution::allocate(const PlanRequest& request) {
    own_stream_ = DeviceStream(device_, device_.create_stream());
    change_ = DeviceEvent(device_, device_.create_event());
    stream_ = own_stream_.get();
    PassesRequest passes;
    passes.n_point = rows_ ? rows_->n_canonical() : domain_.n_local();
    passes.reproducible = rows_.has_value();
    passes.n_chunk_global =
        std::max<int64_t>(1, (domain_.n_global() + chunk_points - 1) / chunk_points);
    passes.n_input = config_.in_dim;
    passes.n_output = config_.out_dim;
    passes_ = std::make_unique<DevicePasses>(context_, weights_, passes);
    found_ = pinned_memory(device_, max_pending * passes_->record_bytes());
    fresh_.resize(static_cast<size_t>(passes_->record_bytes()));
    for (int64_t run = 0; run < max_pending; ++run) clear_record(run);
    ranged_.assign(request.inputs.begin(), request.inputs.end());
    outside_.resize(static_cast<size_t>(config_.in_dim));
    host_outside_ = outside_;
    stops_at_range_ = request.stops_at_range;
    const DevicePortsMemory memory{passes_->input_columns(), passes_->output_columns(),
                                   passes_->staging(), config_.in_dim, config_.out_dim};
    ports_ = rows_
                 ? canonical_ports(context_, request.queue, domain_.n_local(), *rows_, memory)
                 : direct_ports(context_, request.queue, domain_.n_local(), memory, request.inputs);
}

void DeviceExecution::start_findings(bool poisoned) {
    fresh().poisoned = poisoned;
    device_.write(passes_->findings(), fresh_.data(), std::ssize(fresh_), stream_);
}

Execution::Result DeviceExecution::run(std::span<const Column> inputs,
                                       std::span<const Column> outputs, bool poisoned) {
    FirstFailure failure;
    const int64_t run = n_run_;
    failure.guard([&] {
        if (run - first_pending_ < max_pending) return;
        const std::optional<Late> found = find_late(true);
        if (!late_) late_ = found;
    });
    clear_record(run);
    std::ranges::fill(host_outside_, Outside{});
    is_told_[static_cast<size_t>(run % max_pending)] = false;
    ++n_run_;
    in_flight_ = true;
    const bool is_enqueued =
        is_callers_stream_ && !poisoned && ports_->is_enqueued(inputs, outputs);
    exchanged_ = {};
    BadValue bad;
    count_exchange(
        [&] { bad = ports_->take(inputs, outputs, poisoned, stream_, host_outside_, failure); });
    const bool is_dead = poisoned || bad.column >= 0 || failure;
    failure.guard([&] { start_findings(is_dead); });
    passes_->enqueue(stream_, failure);
    failure.guard([&] { bring_findings(run); });
    // What is known to be bad is told at once, and only once.
    if (is_enqueued && !is_dead && !failure) {
        Result pending;
        pending.is_pending = true;
        return pending;
    }
    return finish(outputs, is_dead, bad, run, failure);
}

/// Waits for a run and brings its outputs to the host. Earlier runs end with it: what they found is
/// kept for the next collect().
Execution::Result DeviceExecution::finish(std::span<const Column> outputs, bool is_dead,
                                          BadValue bad, int64_t run, FirstFailure& failure) {
    failure.guard([&] { context_.collectives().wait(stream_); });
    if (!failure) in_flight_ = false;
    is_told_[static_cast<size_t>(run % max_pending)] = true;
    Result result;
    if (!failure) result = result_of(run);
    result.bad_input = first_of(bad, result.bad_input);
    const bool alive = !is_dead && !failure && result.is_finite && result.bad_input.column < 0;
    BadValue bad_output;
    count_exchange([&] { bad_output = ports_->give(outputs, alive, stream_, failure); });
    result.bad_output = first_of(bad_output, result.bad_output);
    failure.rethrow();
    return result;
}

/// What the record of a run that has ended tells. Of the last run the host may have seen inputs too;
/// earlier ones were enqueued, and it has not.
Execution::Result DeviceExecution::result_of(int64_t run) {
    const DeviceFindings& found = slot(run);
    Result result;
    result.bad_input = bad_value_at(found.bad_input);
    result.bad_output = bad_value_at(found.bad_output);
    result.is_finite = found.not_finite == 0;
    const bool is_last = run >= last_seen_;
    const auto* const counted = reinterpret_cast<const DeviceOutside*>(&found + 1);
    for (size_t c = 0; c < outside_.size(); ++c) {
        Outside outside = run == n_run_ - 1 ? host_outside_[c] : Outside{};
        if (c < ranged_.size()) outside.join(outside_of(counted[c], ranged_[c]));
        if (result.outside_column < 0 && outside.n > 0) {
            result.outside_column = static_cast<int>(c);
            result.outside = outside;
        }
        if (is_last) outside_[c] = outside;
    }
    last_seen_ = std::max(last_seen_, run);
    return result;
}

void DeviceExecution::set_stream(Stream stream) {
    if (in_flight_ && stream != stream_) {
        // The plan's memory is one: the new stream goes on where the old one ends.
        device_.record(change_.get(), stream_);
        device_.wait(stream, change_.get());
    }
    stream_ = stream;
    is_callers_stream_ = true;
}

std::optional<Execution::Late> DeviceExecution::collect(bool wait) {
    const std::optional<Late> found = find_late(wait);
    const std::optional<Late> earlier = std::exchange(late_, std::nullopt);
    return earlier ? earlier : found;
}

std::optional<Execution::Late> DeviceExecution::find_late(bool wait) {
    if (first_pending_ == n_run_) return {};
    if (wait) {
        context_.collectives().wait(stream_);
    } else if (in_flight_ && !device_.is_done(stream_)) {
        return {};
    }
    in_flight_ = false;
    const int64_t first = std::exchange(first_pending_, n_run_);
    std::optional<Late> late;
    for (int64_t run = first; run < n_run_; ++run) {
        if (is_told_[static_cast<size_t>(run % max_pending)]) continue;
        const Result result = result_of(run);
        const bool is_told = !result.is_good() || (stops_at_range_ && result.outside_column >= 0);
        if (is_told && !late) late = Late{run, result};
    }
    return late;
}

std::vector<std::string> DeviceExecution::notes() const {
    std::vector<std::string> list;
    const int64_t n = std::max<int64_t>(1, n_point());
    list.push_back("device memory " + std::to_string(workspace_bytes() / n) +
                   " bytes a point, and weights of " + std::to_string(weights_->bytes()) +
                   " bytes shared with other plans of this model and precision; host " +
                   std::to_string(ports_->host_bytes()) + " bytes");
    list.push_back(passes_->is_recorded()
                       ? "a run is one graph"
                       : "a run is launched piece by piece: its reductions wait on the host");
    if (passes_->n_pass() > 1) {
        list.push_back("encode takes the latents in " + std::to_string(passes_->n_pass()) +
                       " passes and computes k and v in each: they do not fit shared memory at "
                       "once");
    }
    if (rows_) {
        list.push_back(
            "reproducible: inputs and outputs move over the host to canonical order and back; sums "
            "are exact");
    }
    if (weights_->operand() == kernels::Operand::bf16) {
        list.push_back(
            "bf16 operands: expect 3e-3 to 9e-3 relative L2 from rounding alone, as much as "
            "trained models err; fp16 and tf32 are eight times closer at the same speed or near "
            "it");
    }
    return list;
}

}  // namespace

std::unique_ptr<Execution> make_device_execution(const Config& config,
                                                 std::shared_ptr<const DeviceWeights> weights,
                                                 const PointDomain& domain,
                                                 const PlanRequest& request) {
    std::unique_ptr<DeviceExecution> execution;
    domain.context().comm().agree([&] {
        execution = std::make_unique<DeviceExecution>(config, domain, request, std::move(weights));
    });
    execution->prepare(request);
    return execution;
}

}  // namespace surrogate::impl::flare
