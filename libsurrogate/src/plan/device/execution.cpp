// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/device/execution.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/plan/device/ports.hpp"
#include "libsurrogate/src/plan/device/recording.hpp"
#include "libsurrogate/src/plan/device/records.hpp"

namespace surrogate::impl {

using kernels::Stream;

namespace {

BadValue first_of(const BadValue& a, const BadValue& b) {
    return a.column >= 0 ? a : b;
}

class DeviceExecution final : public Execution {
public:
    DeviceExecution(const Network& network, const PlanRequest& request)
        : comm_(request.input.context().comm()),
          context_(*request.device),
          device_(context_.device()),
          own_stream_(device_, device_.create_stream()),
          stream_(own_stream_.get()),
          n_solver_(request.input.n_local()),
          stops_at_range_(request.stops_at_range),
          program_(network.device_program(request)),
          recording_(context_) {
        columns_.n_input = n_channel_of(network.inputs());
        columns_.n_output = n_channel_of(network.outputs());
        add_memory();
        records_.emplace(device_, columns_, request.inputs);
    }

    ~DeviceExecution() override {
        if (!in_flight_) return;
        try {
            wait_for_runs();
        } catch (...) {  // the device or a peer is lost; the memory is given back all the same
        }
    }

    /// Collective, unlike the constructor: ranks agree that they have the object before they meet
    /// in here.
    void connect(const PlanRequest& request) {
        program_->connect(columns_);
        comm_.agree([&] { add_ports(request); });
        recording_.prepare(comm_, *program_, stream_);
    }

    Result run(int64_t run, std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override;

    void require_usable(std::span<const Column> outputs) const override {
        ports_->require_usable(outputs);
        if (!is_callers_stream_) return;
        try {
            require_not_captured(device_, stream_);
        } catch (const Error& error) {
            if (error.status() == Status::not_supported) throw;
            // The device failed: the run that follows reports it, and takes part in all exchanges.
            found_before_run_ = {};
            found_before_run_.guard([] { throw; });
        }
    }
    void set_stream(Stream stream) override;
    std::optional<Late> collect(bool wait) override;

    std::optional<Traffic> traffic() const override {
        return Traffic{exchanged_.bytes + recording_.n_byte(),
                       exchanged_.collectives + recording_.n_collective()};
    }

    void set_ranges(std::span<const Column> inputs) override { records_->set_ranges(inputs); }
    std::span<const Outside> outside() const override { return records_->outside(); }

    int64_t workspace_bytes() const override {
        return memory_.bytes() + program_->bytes() + ports_->device_bytes();
    }
    int64_t n_point() const override { return program_->n_point(); }
    int64_t n_node() const override { return std::max<int64_t>(0, program_->n_output_row()); }
    std::vector<LayerCost> costs() const override { return program_->costs(); }
    std::vector<std::string> notes() const override;

private:
    void add_memory();
    void add_ports(const PlanRequest& request);
    std::optional<Late> find_late(bool wait);
    void wait_for_runs();
    Stream stream_of_run(bool poisoned, FirstFailure& failure);
    bool& is_told(int64_t run) { return is_told_[static_cast<size_t>(run % max_pending)]; }
    /// Adds what `work` lets the communicator carry.
    template <class Work>
    void count_exchange(const Work& work) {
        const int64_t n_byte = comm_.bytes_sent(), n_collective = comm_.n_collective();
        work();
        exchanged_.bytes += comm_.bytes_sent() - n_byte;
        exchanged_.collectives += comm_.n_collective() - n_collective;
    }
    Result finish(std::span<const Column> outputs, bool is_dead, BadValue bad, int64_t run,
                  Stream stream, FirstFailure& failure);
    BadValue find_bad() const;
    Result result_of(int64_t run);

    Communicator& comm_;
    DeviceContext& context_;
    kernels::Device& device_;
    DeviceStream own_stream_;
    Stream stream_ = nullptr;  // where runs go
    bool is_callers_stream_ = false;
    bool in_flight_ = false;                 // work was enqueued since the host last waited
    mutable FirstFailure found_before_run_;  // by require_usable()
    const int64_t n_solver_;                 // points of the solver
    bool stops_at_range_ = false;
    DeviceArena memory_;  // of columns_
    DeviceColumns columns_;
    std::unique_ptr<DeviceProgram> program_;
    DeviceRecording recording_;
    std::optional<DeviceRecords> records_;
    std::unique_ptr<DevicePorts> ports_;       // goes before the memory it was given
    int64_t first_pending_ = 0, n_run_ = 0;    // runs first_pending_ .. n_run_ - 1 may be pending
    std::array<bool, max_pending> is_told_{};  // runs whose findings were returned by themselves
    Traffic exchanged_;                        // of the last run: rows of the reproducible mode
    std::optional<Late> late_;                 // found while a run waited for its turn
};

void DeviceExecution::add_memory() {
    using kernels::DeviceColumn;
    const auto column_bytes = static_cast<int64_t>(sizeof(DeviceColumn));
    const int64_t record = memory_.add(DeviceRecords::record_bytes(columns_.n_input));
    const int64_t inputs = memory_.add(columns_.n_input * column_bytes);
    const int64_t outputs = memory_.add(columns_.n_output * column_bytes);
    memory_.take(device_);
    columns_.findings = memory_.at<kernels::DeviceFindings>(record);
    columns_.outside = reinterpret_cast<kernels::DeviceOutside*>(columns_.findings + 1);
    columns_.inputs = memory_.at<DeviceColumn>(inputs);
    columns_.outputs = memory_.at<DeviceColumn>(outputs);
}

void DeviceExecution::add_ports(const PlanRequest& request) {
    // A card's first inputs are the coordinates; a network without one has them first.
    const std::span<const Column> constants =
        request.inputs.empty() ? request.coordinates : request.inputs;
    RowExchange<float>* const rows = program_->rows();
    float* const staging = program_->staging();
    const int64_t n_row = program_->n_output_row();
    DeviceColumns at_points = columns_;
    if (n_row >= 0) at_points.n_output = 0;
    ports_ = rows ? routed_ports(context_, request.queue, request.input.n_local(), *rows, at_points,
                                 staging)
                  : direct_ports(context_, request.queue, n_point(), at_points, staging, constants);
    if (n_row >= 0) ports_ = row_ports(context_, request.queue, std::move(ports_), n_row, columns_);
    int64_t largest = 0;
    for (const DeviceReduction& r : program_->reductions()) largest = std::max(largest, r.bytes());
    context_.collectives().reserve(largest);
    int64_t largest_part = 0;
    for (const DeviceGather& g : program_->gathers())
        largest_part = std::max(largest_part, g.n_byte);
    if (largest_part > 0) context_.collectives().reserve_gather(largest_part);
    for (const DeviceExchange& e : program_->exchanges())
        context_.collectives().reserve_exchange(e.given.bytes(), e.taken.bytes());
}

/// Returns the stream that takes a run. A run that only takes part in the exchanges goes behind the
/// others on the plan's own stream if the caller's is being captured.
Stream DeviceExecution::stream_of_run(bool poisoned, FirstFailure& failure) {
    Stream stream = stream_;
    failure.guard([&] {
        if (!poisoned || !is_callers_stream_ || !device_.is_captured(stream_)) return;
        stream = own_stream_.get();
        recording_.hold(stream);
    });
    return stream;
}

Execution::Result DeviceExecution::run(int64_t run, std::span<const Column> inputs,
                                       std::span<const Column> outputs, bool poisoned) {
    FirstFailure failure = std::exchange(found_before_run_, {});
    const Stream stream = stream_of_run(poisoned, failure);
    if (first_pending_ == n_run_) first_pending_ = n_run_ = run;  // runs before were another one's
    failure.guard([&] {
        if (run - first_pending_ < max_pending) return;
        const std::optional<Late> found = find_late(true);
        if (!late_) late_ = found;
    });
    const std::span<Outside> outside = records_->open(run);
    is_told(run) = false;
    n_run_ = run + 1;
    in_flight_ = true;
    const bool is_enqueued =
        is_callers_stream_ && !poisoned && ports_->is_enqueued(inputs, outputs);
    exchanged_ = {};
    BadValue bad;
    count_exchange(
        [&] { bad = ports_->take(inputs, outputs, poisoned, stream, outside, failure); });
    if (program_->rows() && !poisoned && bad.column < 0) bad = find_bad();
    const bool is_dead = poisoned || bad.column >= 0 || failure;
    failure.guard([&] { records_->start(is_dead, stream); });
    recording_.enqueue(*program_, stream, failure);
    failure.guard([&] { records_->bring(run, stream); });
    failure.guard([&] { recording_.mark_end(stream); });
    // Errors that are known already are reported at once, and only once.
    if (is_enqueued && !is_dead && !failure) {
        Result pending;
        pending.is_pending = true;
        return pending;
    }
    return finish(outputs, is_dead, bad, run, stream, failure);
}

/// Checks rows that are scattered to the program; errors of the passes would be named by their
/// place there.
BadValue DeviceExecution::find_bad() const {
    const int64_t n = n_solver_ * columns_.n_input;
    return program_->find_bad({program_->rows()->solver(), static_cast<size_t>(n)});
}

/// Returns the recorded error, completed by the program if a bad input is only named by its place.
Execution::Result DeviceExecution::result_of(int64_t run) {
    Result result = records_->result(run);
    if (result.bad_input.column >= 0)
        result.bad_input.required = program_->required_of(result.bad_input.column);
    return result;
}

/// Waits for a run and brings its outputs to the host. Earlier runs end with it: what they found is
/// kept for the next collect().
Execution::Result DeviceExecution::finish(std::span<const Column> outputs, bool is_dead,
                                          BadValue bad, int64_t run, Stream stream,
                                          FirstFailure& failure) {
    failure.guard([&] { context_.collectives().wait(stream); });
    if (!failure) in_flight_ = false;
    is_told(run) = true;
    Result result;
    if (!failure) result = result_of(run);
    result.bad_input = first_of(bad, result.bad_input);
    const bool alive = !is_dead && !failure && result.is_finite && result.bad_input.column < 0;
    BadValue bad_output;
    count_exchange([&] { bad_output = ports_->give(outputs, alive, stream, failure); });
    result.bad_output = first_of(bad_output, result.bad_output);
    failure.rethrow();
    return result;
}

void DeviceExecution::set_stream(Stream stream) {
    require_not_captured(device_, stream);
    // The plan's memory is one: the new stream goes on where the last run ends. Streams are not
    // compared: a new one may have the handle of one that is gone.
    recording_.hold(stream);
    stream_ = stream;
    is_callers_stream_ = true;
}

/// Waits for the runs enqueued so far, by way of the plan's own stream: the caller's may be gone,
/// being captured, or busy with what comes later.
void DeviceExecution::wait_for_runs() {
    recording_.hold(own_stream_.get());
    context_.collectives().wait(own_stream_.get());
}

std::optional<Execution::Late> DeviceExecution::collect(bool wait) {
    const std::optional<Late> found = find_late(wait);
    const std::optional<Late> earlier = std::exchange(late_, std::nullopt);
    return earlier ? earlier : found;
}

std::optional<Execution::Late> DeviceExecution::find_late(bool wait) {
    if (first_pending_ == n_run_) return {};
    if (wait) {
        wait_for_runs();
    } else if (in_flight_ && !device_.is_done(stream_)) {
        return {};
    }
    in_flight_ = false;
    const int64_t first = std::exchange(first_pending_, n_run_);
    std::optional<Late> late;
    for (int64_t run = first; run < n_run_; ++run) {
        if (is_told(run)) continue;
        const Result result = result_of(run);
        const bool is_reported =
            !result.is_good() || (stops_at_range_ && result.outside_column >= 0);
        if (is_reported && !late) late = Late{run, result};
    }
    return late;
}

std::vector<std::string> DeviceExecution::notes() const {
    std::vector<std::string> list;
    const int64_t n = std::max<int64_t>(1, n_point());
    list.push_back("device memory " + std::to_string(workspace_bytes() / n) +
                   " bytes a point, and weights of " + std::to_string(program_->weight_bytes()) +
                   " bytes shared with other plans of this model and precision; host " +
                   std::to_string(ports_->host_bytes()) + " bytes");
    list.push_back(recording_.is_recorded()
                       ? "a run is one graph"
                       : "a run is launched piece by piece: its reductions wait on the host");
    std::ranges::move(program_->notes(), std::back_inserter(list));
    return list;
}

}  // namespace

void require_not_captured(kernels::Device& device, Stream stream) {
    if (!device.is_captured(stream)) return;
    throw Error(Status::not_supported,
                "the stream of the plan is being captured into a CUDA graph, and runs cannot be "
                "captured; end the capture first, or set another stream with "
                "surrogate_plan_set_stream");
}

std::unique_ptr<Execution> make_device_execution(const Network& network,
                                                 const PlanRequest& request) {
    std::unique_ptr<DeviceExecution> execution;
    request.input.context().comm().agree(
        [&] { execution = std::make_unique<DeviceExecution>(network, request); });
    execution->connect(request);
    return execution;
}

}  // namespace surrogate::impl
