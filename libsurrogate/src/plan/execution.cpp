// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/execution.hpp"

#include "libsurrogate/src/model/family/clouds_program.hpp"
#include "libsurrogate/src/plan/device/execution.hpp"

namespace surrogate::impl {

namespace {

/// Runs a program whose inputs and outputs are host memory: every prediction on the host, and
/// training on either.
class HostExecution final : public Execution {
public:
    HostExecution(const Network& network, const PlanRequest& request)
        : input_(request.input),
          keeps_clouds_(network.keeps_clouds(request)),
          by_cloud_(needs_program_by_cloud()),
          outside_(request.queue.n_thread(), n_channel_of(network.inputs())) {
        if (request.gradients) {
            auto program = by_cloud_        ? make_clouds_gradient_program(network, request)
                           : request.device ? network.device_gradient_program(request)
                                            : network.gradient_program(request);
            gradients_ = program.get();
            program_ = std::move(program);
        } else {
            program_ = by_cloud_ ? make_clouds_program(network, request) : network.program(request);
        }
    }

    /// Collective, unlike the constructor: ranks agree that they have the object before they meet
    /// in here.
    void connect() { program_->connect(); }
    bool follow() override { return by_cloud_ == needs_program_by_cloud() && program_->follow(); }
    GradientProgram* gradients() override { return gradients_; }

    Result run(int64_t, std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override {
        Result result;
        outside_.clear();
        if (!poisoned) result.bad_input = program_->gather(inputs, outside_);
        result.set_outside(outside_.join());
        // A rank without usable inputs computes nothing: its numbers would be NaN, and the host may
        // trap on them.
        const bool alive = !poisoned && result.bad_input.column < 0;
        result.is_finite = program_->evaluate(alive);
        result.bad_output = program_->scatter(outputs, alive && result.is_finite);
        return result;
    }

    std::span<const Outside> outside() const override { return outside_.joined(); }
    int64_t workspace_bytes() const override { return program_->bytes(); }
    int64_t n_point() const override { return program_->n_point(); }
    int64_t n_node() const override { return program_->n_node(); }
    std::vector<LayerCost> costs() const override { return program_->costs(); }
    std::vector<std::string> notes() const override { return program_->notes(); }

private:
    bool needs_program_by_cloud() const { return input_.n_cloud() > 1 && !keeps_clouds_; }

    const Domain& input_;
    bool keeps_clouds_, by_cloud_;
    std::unique_ptr<Program> program_;
    GradientProgram* gradients_ = nullptr;  // program_, if it has a backward pass
    OutsideCounts outside_;
};

}  // namespace

void Execution::set_stream(kernels::Stream) {
    throw Error(Status::not_supported,
                "only plans with option backend=cuda work on a stream; this one returns from each "
                "run when the results are there");
}

namespace {

/// Devices compute several clouds only if the network keeps them apart.
void require_clouds(const Network& network, const PlanRequest& request) {
    if (!request.device || request.input.n_cloud() == 1 || network.keeps_clouds(request)) return;
    throw Error(Status::not_supported,
                "the domain has " + std::to_string(request.input.n_cloud()) +
                    " clouds, which backend 'cuda' does not compute for this network; use backend "
                    "'simd', or make a domain and a plan of each cloud");
}

}  // namespace

std::unique_ptr<Execution> make_execution(const Network& network, const PlanRequest& request) {
    request.input.context().comm().agree([&] { require_clouds(network, request); });
    if (request.device && !request.gradients) return make_device_execution(network, request);
    std::unique_ptr<HostExecution> execution;
    request.input.context().comm().agree(
        [&] { execution = std::make_unique<HostExecution>(network, request); });
    execution->connect();
    return execution;
}

}  // namespace surrogate::impl
