// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/network.hpp"

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/layers/double_layers.hpp"
#include "libsurrogate/src/model/sphere/device_program.hpp"
#include "libsurrogate/src/model/sphere/device_segformer.hpp"
#include "libsurrogate/src/model/sphere/gradient_program.hpp"

namespace surrogate::impl::sphere {

namespace {

struct Ports {
    std::vector<Port> inputs, outputs;
    DomainKind domains;
};

Ports ports_of(const Transformer& t) {
    return {{{"x", t.encoder.n_in}},
            {{"y", t.decoder.n_out, PortPlace::output_points}},
            {true, t.image, t.image}};
}

Ports ports_of(const Segformer& s) {
    return {{{"x", s.levels[0].merge.n_in}},
            {{"y", s.n_out, PortPlace::output_points}},
            {true, s.image, s.image}};
}

Ports ports_of(const Attention& a) {
    Ports ports{{}, {{"y", a.n_value, PortPlace::output_points}}, {true, a.in, a.out}};
    if (a.in == a.out)
        ports.inputs = {{"x", a.n_in}};
    else
        ports.inputs = {
            {"query", a.n_in, PortPlace::output_points}, {"key", a.n_in}, {"value", a.n_in}};
    return ports;
}

Ports ports_of(const Convolution& c) {
    return {{{"x", c.n_in}}, {{"y", c.n_out, PortPlace::output_points}}, {true, c.in, c.out}};
}

Ports ports_of(const Resample& r) {
    return {
        {{"x", r.n_channel}}, {{"y", r.n_channel, PortPlace::output_points}}, {true, r.in, r.out}};
}

std::vector<DropoutRate> rates_of(const Transformer& t) {
    std::vector<DropoutRate> rates;
    if (t.drop_rate > 0) rates.push_back({"drop_rate", t.drop_rate, t.attention.drop_rate == 0});
    if (t.drop_path_rate > 0) rates.push_back({"drop_path_rate", t.drop_path_rate});
    return rates;
}

std::vector<DropoutRate> rates_of(const Segformer& s) {
    std::vector<DropoutRate> rates;
    const double drop_rate = s.levels[0].attention.drop_rate;
    if (drop_rate > 0) rates.push_back({"att_drop_rate", drop_rate, false});
    if (s.drop_path_rate > 0) rates.push_back({"drop_path_rate", s.drop_path_rate});
    return rates;
}

std::vector<DropoutRate> rates_of(const Attention& a) {
    if (a.drop_rate == 0) return {};
    return {{"drop_rate", a.drop_rate, false}};
}

std::vector<DropoutRate> rates_of(const Convolution&) {
    return {};
}

std::vector<DropoutRate> rates_of(const Resample&) {
    return {};
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

class SphereNetwork final : public Network {
public:
    SphereNetwork(const ModelFile& file, const std::shared_ptr<const MasterWeights>& master)
        : config_(config_of(file)),
          ports_(std::visit([](const auto& c) { return ports_of(c); }, config_)),
          weights_(master) {}

    std::vector<Port> inputs() const override { return ports_.inputs; }
    std::vector<Port> outputs() const override { return ports_.outputs; }
    DomainKind domain_kind() const override { return ports_.domains; }
    /// The official double run keeps some tables in single precision.
    double truth_accuracy() const override { return 1e-6; }

    std::vector<DropoutRate> dropout_rates() const override {
        return std::visit([](const auto& c) { return rates_of(c); }, config_);
    }

    std::unique_ptr<Program> program(const PlanRequest& request) const override {
        ProgramRequest grids = request_of(request);
        grids.divides_rows = true;
        return weights_.with(request.is_double(), [&](const auto& weights) {
            return std::visit([&](const auto& c) { return make_program(grids, c, weights); },
                              config_);
        });
    }

    std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const override {
        return weights_.with(request.is_double(), [&](const auto& weights) {
            return std::visit(
                [&](const auto& c) {
                    return make_gradient_program(request_of(request), c, weights);
                },
                config_);
        });
    }

    std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const override {
        const ProgramRequest grids = request_of(request);
        const auto make = [&](const auto& config, auto& weights) {
            require_device_sizes(config);
            for (const SphereDomain* domain : {&grids.input, &grids.output}) {
                domain->require_whole_shift();
                require_device_grid(*domain);
            }
            return make_device_program(
                config, weights.get(*request.device, request.precision, config, weights_.single()),
                grids.input, grids.output, request);
        };
        if (const auto* transformer = std::get_if<Transformer>(&config_))
            return make(*transformer, transformer_weights_);
        if (const auto* segformer = std::get_if<Segformer>(&config_))
            return make(*segformer, segformer_weights_);
        throw Error(Status::not_supported,
                    "single layers of the sphere are not built for backend 'cuda', which runs "
                    "SphericalTransformer and SphericalSegformer; use backend 'simd' or 'auto'");
    }

private:
    ProgramRequest request_of(const PlanRequest& request) const {
        return {on_sphere(request.input, ports_.domains.input, "input"),
                on_sphere(request.output, ports_.domains.output, "output"), request.queue,
                request.reproducible};
    }

    /// Returns the config. A resampling layer has no weights that define its number of channels, so
    /// the number is taken from its check case; without one it is 1.
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
    DoubleLayers<Weights> weights_;
    mutable SharedByOperand<DeviceWeights> transformer_weights_;
    mutable SharedByOperand<SegformerWeights> segformer_weights_;
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    return layout(parse_config(card), n_found);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return std::make_unique<SphereNetwork>(file, weights);
}

}  // namespace surrogate::impl::sphere
