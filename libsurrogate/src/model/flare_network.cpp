// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare_network.hpp"

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/flare_config.hpp"
#include "libsurrogate/src/model/flare_execution.hpp"
#include "libsurrogate/src/model/flare_weights.hpp"

namespace surrogate::impl {

namespace {

/// A double plan owns its converted weights.
class DoubleExecution final : public Execution {
public:
    DoubleExecution(const FlareConfig& config, std::span<const Tensor> tensors)
        : weights_(make_flare_weights<double>(config, tensors)) {}
    /// Collective.
    void prepare(const FlareConfig& config, const PointDomain& domain, const PlanRequest& request) {
        execution_ = make_flare_execution<double>(config, weights_, domain, request);
    }
    Result run(std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override {
        return execution_->run(inputs, outputs, poisoned);
    }
    int64_t workspace_bytes() const override { return execution_->workspace_bytes(); }
    int64_t n_point() const override { return execution_->n_point(); }
    std::vector<LayerCost> costs() const override { return execution_->costs(); }
    std::vector<std::string> notes() const override { return execution_->notes(); }

private:
    FlareWeights<double> weights_;
    std::unique_ptr<Execution> execution_;
};

class FlareNetwork final : public Network {
public:
    explicit FlareNetwork(ModelFile file)
        : config_(parse_flare_config(file.card.network)),
          tensors_(std::move(file.tensors)),
          weights_(make_flare_weights<float>(config_, tensors_)) {}

    std::vector<Port> inputs() const override { return {{"x", config_.in_dim}}; }
    std::vector<Port> outputs() const override { return {{"y", config_.out_dim, true}}; }
    int64_t n_parameter() const override {
        int64_t n = 0;
        for (const Tensor& tensor : tensors_) n += std::ssize(tensor.floats());
        return n;
    }

    std::unique_ptr<Execution> plan(const PlanRequest& request) const override {
        std::unique_ptr<DoubleExecution> in_double;
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
        });
        if (!in_double) return make_flare_execution<float>(config_, weights_, *points, request);
        in_double->prepare(config_, *points, request);
        return in_double;
    }

private:
    FlareConfig config_;
    std::vector<Tensor> tensors_;
    FlareWeights<float> weights_;
};

}  // namespace

std::vector<TensorSpec> flare_tensors(const Card& card, int64_t n_found) {
    if (!card.conventions.empty()) {
        throw Error(Status::bad_file, "card: FLARE has no conventions, found " +
                                          printable(card.conventions.dump(), 60));
    }
    const FlareConfig config = parse_flare_config(card.network);
    if (config.n_tensor() > 2 * n_found + 100) {
        throw Error(Status::bad_file, "card: the network has " + std::to_string(config.n_tensor()) +
                                          " tensors, the file holds " + std::to_string(n_found));
    }
    return flare_layout(config);
}

std::unique_ptr<Network> make_flare(ModelFile file) {
    return std::make_unique<FlareNetwork>(std::move(file));
}

}  // namespace surrogate::impl
