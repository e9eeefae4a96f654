// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/network.hpp"

#include <array>
#include <memory>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/device_execution.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"
#include "libsurrogate/src/model/flare/execution.hpp"
#include "libsurrogate/src/model/flare/weights.hpp"

namespace surrogate::impl::flare {

namespace {

/// A double plan owns its converted weights.
class DoubleExecution final : public Execution {
public:
    DoubleExecution(const Config& config, std::span<const Tensor> tensors)
        : weights_(make_weights<double>(config, tensors)) {}
    /// Collective.
    void prepare(const Config& config, const PointDomain& domain, const PlanRequest& request) {
        execution_ = make_execution<double>(config, weights_, domain, request);
    }
    Result run(std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override {
        return execution_->run(inputs, outputs, poisoned);
    }
    std::span<const Outside> outside() const override { return execution_->outside(); }
    int64_t workspace_bytes() const override { return execution_->workspace_bytes(); }
    int64_t n_point() const override { return execution_->n_point(); }
    std::vector<LayerCost> costs() const override { return execution_->costs(); }
    std::vector<std::string> notes() const override { return execution_->notes(); }

private:
    Weights<double> weights_;
    std::unique_ptr<Execution> execution_;
};

/// Operands of a device for a precision that options allow with backend cuda.
kernels::Operand operand_of(const std::string& precision) {
    for (const kernels::Operand operand :
         {kernels::Operand::tf32, kernels::Operand::fp16, kernels::Operand::bf16}) {
        if (precision == kernels::name(operand)) return operand;
    }
    return kernels::Operand::fp32;
}

class FlareNetwork final : public Network {
public:
    explicit FlareNetwork(ModelFile file)
        : config_(parse_config(file.card.network)),
          tensors_(std::move(file.tensors)),
          weights_(make_weights<float>(config_, tensors_)) {}

    std::vector<Port> inputs() const override { return {{"x", config_.in_dim}}; }
    std::vector<Port> outputs() const override { return {{"y", config_.out_dim, true}}; }
    int64_t n_parameter() const override {
        int64_t n = 0;
        for (const Tensor& tensor : tensors_) n += std::ssize(tensor.floats());
        return n;
    }

    std::unique_ptr<Execution> plan(const PlanRequest& request) const override {
        std::unique_ptr<DoubleExecution> in_double;
        std::shared_ptr<const DeviceWeights> on_device;
        const auto* points = dynamic_cast<const PointDomain*>(&request.input);
        request.input.context().comm().agree([&] {
            if (!points) {
                throw Error(Status::not_supported,
                            "FLARE works on scattered points, the domain is a grid on the sphere");
            }
            if (&request.input != &request.output) {
                throw Error(Status::not_supported,
                            "FLARE predicts at the points it is given: input and output domain "
                            "must be the same");
            }
            if (request.fp64) in_double = std::make_unique<DoubleExecution>(config_, tensors_);
            if (request.device) on_device = device_weights(request);
        });
        if (on_device)
            return make_device_execution(config_, std::move(on_device), *points, request);
        if (!in_double) return make_execution<float>(config_, weights_, *points, request);
        in_double->prepare(config_, *points, request);
        return in_double;
    }

private:
    /// Plans of one precision share the weights; the last one takes them along.
    std::shared_ptr<const DeviceWeights> device_weights(const PlanRequest& request) const {
        const kernels::Operand operand = operand_of(request.precision);
        auto& kept = device_weights_[static_cast<size_t>(operand)];
        std::shared_ptr<const DeviceWeights> weights = kept.lock();
        if (!weights) {
            weights = std::make_shared<const DeviceWeights>(request.device->device(), operand,
                                                            config_, weights_);
            kept = weights;
        }
        return weights;
    }

    Config config_;
    std::vector<Tensor> tensors_;
    Weights<float> weights_;
    mutable std::array<std::weak_ptr<const DeviceWeights>, 4> device_weights_;  // by operand
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    if (!card.conventions.empty()) {
        throw Error(Status::bad_file, "card: FLARE has no conventions, found " +
                                          printable(card.conventions.dump(), 60));
    }
    const Config config = parse_config(card.network);
    if (config.n_tensor() > 2 * n_found + 100) {
        throw Error(Status::bad_file, "card: the network has " + std::to_string(config.n_tensor()) +
                                          " tensors, the file holds " + std::to_string(n_found));
    }
    return layout(config);
}

std::unique_ptr<Network> make_network(ModelFile file) {
    return std::make_unique<FlareNetwork>(std::move(file));
}

}  // namespace surrogate::impl::flare
