// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/network.hpp"

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/sphere/execution.hpp"

namespace surrogate::impl::sphere {

namespace {

struct Ports {
    std::vector<Port> inputs, outputs;
    DomainKind domains;
};

Ports ports_of(const Transformer& t) {
    return {{{"x", t.encoder.n_in}}, {{"y", t.decoder.n_out, true}}, {true, t.image, t.image}};
}

Ports ports_of(const Segformer& s) {
    return {{{"x", s.levels[0].merge.n_in}}, {{"y", s.n_out, true}}, {true, s.image, s.image}};
}

Ports ports_of(const Attention& a) {
    Ports ports{{}, {{"y", a.n_value, true}}, {true, a.in, a.out}};
    if (a.in == a.out)
        ports.inputs = {{"x", a.n_in}};
    else
        ports.inputs = {{"query", a.n_in, true}, {"key", a.n_in}, {"value", a.n_in}};
    return ports;
}

Ports ports_of(const Convolution& c) {
    return {{{"x", c.n_in}}, {{"y", c.n_out, true}}, {true, c.in, c.out}};
}

Ports ports_of(const Resample& r) {
    return {{{"x", r.n_channel}}, {{"y", r.n_channel, true}}, {true, r.in, r.out}};
}

const SphereDomain& on_sphere(const Domain& domain, const Grid& grid, const char* which) {
    const auto* sphere = dynamic_cast<const SphereDomain*>(&domain);
    const std::string wanted = std::string(kernels::name(grid.kind)) + " grid of " +
                               std::to_string(grid.n_lat) + " x " + std::to_string(grid.n_lon);
    if (!sphere) {
        throw Error(Status::not_supported, std::string("the model works on a ") + wanted +
                                               " points on the sphere, the " + which +
                                               " domain has scattered points");
    }
    if (sphere->grid() == grid) return *sphere;
    throw Error(Status::shape, std::string("the ") + which + " domain is a " +
                                   kernels::name(sphere->grid().kind) + " grid of " +
                                   std::to_string(sphere->grid().n_lat) + " x " +
                                   std::to_string(sphere->grid().n_lon) +
                                   " points, the model works on a " + wanted);
}

/// A double plan owns its converted weights.
class DoubleExecution final : public Execution {
public:
    explicit DoubleExecution(std::span<const Tensor> tensors) : weights_(tensors) {}
    /// Collective.
    void prepare(const Config& config, const SphereDomain& input, const SphereDomain& output,
                 const PlanRequest& request) {
        execution_ = make_execution<double>(config, weights_, input, output, request);
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

class SphereNetwork final : public Network {
public:
    explicit SphereNetwork(ModelFile file)
        : config_(config_of(file)),
          ports_(std::visit([](const auto& c) { return ports_of(c); }, config_)),
          tensors_(std::move(file.tensors)),
          weights_(tensors_) {}

    std::vector<Port> inputs() const override { return ports_.inputs; }
    std::vector<Port> outputs() const override { return ports_.outputs; }
    DomainKind domain_kind() const override { return ports_.domains; }
    int64_t n_parameter() const override {
        int64_t n = 0;
        for (const Tensor& tensor : tensors_) n += std::ssize(tensor.floats());
        return n;
    }

    std::unique_ptr<Execution> plan(const PlanRequest& request) const override {
        const SphereDomain *input = nullptr, *output = nullptr;
        std::unique_ptr<DoubleExecution> in_double;
        request.input.context().comm().agree([&] {
            if (request.device) {
                throw Error(Status::not_supported,
                            "models on the sphere are not built for backend 'cuda'; use backend "
                            "'simd' or 'auto'");
            }
            input = &on_sphere(request.input, ports_.domains.input, "input");
            output = &on_sphere(request.output, ports_.domains.output, "output");
            if (request.fp64) in_double = std::make_unique<DoubleExecution>(tensors_);
        });
        if (!in_double) return make_execution<float>(config_, weights_, *input, *output, request);
        in_double->prepare(config_, *input, *output, request);
        return in_double;
    }

private:
    /// A resampling layer has no weights that would say how many channels it gets: those of its
    /// check case, or one.
    static Config config_of(const ModelFile& file) {
        Config config = parse_config(file.card);
        if (auto* resample = std::get_if<Resample>(&config)) {
            resample->n_channel = 1;
            for (const TensorEntry& entry : file.entries) {
                if (entry.name == "check/input/x" && entry.shape.size() == 4)
                    resample->n_channel = entry.shape[1];
            }
            if (resample->n_channel < 1 || resample->n_channel > 65536) {
                throw Error(Status::bad_file, "check/input/x has " +
                                                  std::to_string(resample->n_channel) +
                                                  " channels; 1 .. 65536 are possible");
            }
        }
        return config;
    }

    Config config_;
    Ports ports_;
    std::vector<Tensor> tensors_;
    Weights<float> weights_;
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    return layout(parse_config(card), n_found);
}

std::unique_ptr<Network> make_network(ModelFile file) {
    return std::make_unique<SphereNetwork>(std::move(file));
}

}  // namespace surrogate::impl::sphere
