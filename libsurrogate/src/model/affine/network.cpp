// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/affine/network.hpp"

#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/affine/config.hpp"
#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"

namespace surrogate::impl::affine {

namespace {

/// Forward and backward pass, in double precision for all values of option `precision`. Ranks
/// exchange nothing, and a point depends on no other.
class AffineProgram final : public GradientProgram {
public:
    AffineProgram(const Config& config, const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          domain_(domain),
          queue_(request.queue),
          ports_(domain, request.queue, config.n_in, config.n_out) {
        if (request.gradients) backward_.emplace(domain, request.queue, config.n_out, config.n_in);
    }

    void connect() override {
        domain_.context().comm().agree([&] {
            ports_.allocate();
            if (backward_) backward_->allocate();
        });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return ports_.gather(inputs, outside);
    }
    bool evaluate(bool alive) override {
        if (backward_) backward_->evaluated(alive);
        if (!alive) return true;
        queue_.parallel_for(ports_.n_tile(), [&](int64_t tile, int) {
            const auto x = ports_.input(tile), y = ports_.output(tile);
            for (int64_t o = 0; o < config_.n_out; ++o) {
                for (int64_t i = 0; i < ports_.n_in_tile(tile); ++i) {
                    double sum = config_.offset[static_cast<size_t>(o)];
                    for (int64_t c = 0; c < config_.n_in; ++c) sum += weight(o, c) * x(c, i);
                    y(o, i) = sum;
                }
            }
        });
        return true;
    }
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums&) override {
        alive = backward_->begin(alive) && backward_->gather(doutputs);
        auto& ports = backward_->ports;
        if (alive) {
            queue_.parallel_for(ports.n_tile(), [&](int64_t tile, int) {
                const auto dy = ports.input(tile), dx = ports.output(tile);
                for (int64_t c = 0; c < config_.n_in; ++c) {
                    for (int64_t i = 0; i < ports.n_in_tile(tile); ++i) {
                        double sum = 0;
                        for (int64_t o = 0; o < config_.n_out; ++o) sum += weight(o, c) * dy(o, i);
                        dx(c, i) = sum;
                    }
                }
            });
        }
        if (!dinputs.empty()) backward_->scatter(dinputs, alive);
        return alive;
    }
    bool leaves_out_weights() const override { return true; }

    int64_t bytes() const override { return ports_.bytes() + (backward_ ? backward_->bytes() : 0); }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override {
        const auto n = static_cast<double>(n_point() * config_.n_in * config_.n_out);
        return {{.name = "matrix", .flops = 2 * n}};
    }
    std::vector<std::string> notes() const override { return {}; }

private:
    double weight(int64_t o, int64_t c) const {
        return config_.matrix[static_cast<size_t>(o * config_.n_in + c)];
    }

    const Config& config_;
    const PointDomain& domain_;
    kernels::Queue queue_;
    PointPorts<double> ports_;
    std::optional<BackwardPorts<double>> backward_;  // with gradients
};

class AffineNetwork final : public Network {
public:
    explicit AffineNetwork(Config config) : config_(std::move(config)) {}

    std::vector<Port> inputs() const override { return {{"x", config_.n_in}}; }
    std::vector<Port> outputs() const override {
        return {{"y", config_.n_out, PortPlace::output_points}};
    }
    bool keeps_clouds(const PlanRequest&) const override { return true; }

    std::unique_ptr<Program> program(const PlanRequest& request) const override {
        return gradient_program(request);
    }
    std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const override {
        return std::make_unique<AffineProgram>(config_, same_points(request, "an affine model"),
                                               request);
    }

private:
    Config config_;
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t) {
    require_no_conventions(card, "an affine model");
    (void)parse_config(card);
    return {};
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>&) {
    return std::make_unique<AffineNetwork>(parse_config(file.card));
}

}  // namespace surrogate::impl::affine
