// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_program.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/device_forward.hpp"

namespace surrogate::impl::flare {

using kernels::Stream;
using kernels::flare::chunk_points;
using kernels::flare::DeviceKernels;
using kernels::flare::LatentArgs;

namespace {

/// Passes over the points, and between them two reductions a block.
class DevicePasses final : public DeviceProgram {
public:
    DevicePasses(const Config& config, std::shared_ptr<const DeviceWeights> weights,
                 const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          domain_(domain),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("flare")),
          reproducible_(request.reproducible),
          forward_(*request.device, std::move(weights), arena_) {}

    void connect(const DeviceColumns& columns) override {
        Communicator& comm = domain_.context().comm();
        if (reproducible_) {
            rows_.emplace(comm, canonical_route(domain_, chunk_points),
                          std::max(columns.n_input, columns.n_output));
        }
        comm.agree([&] { allocate(columns); });
    }
    RowExchange<float>* rows() override { return rows_ ? &*rows_ : nullptr; }
    float* staging() const override { return forward_.staging(); }
    std::span<const DeviceReduction> reductions() const override { return forward_.reductions(); }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return forward_.weights().bytes(); }
    int64_t n_point() const override { return forward_.n_point(); }
    std::vector<LayerCost> costs() const override {
        return costs_of(
            config_, {n_point(), domain_.n_local(), reproducible_, 4 * config_.in_dim,
                      4 * config_.out_dim, forward_.reduction_bytes(), std::ssize(reductions())});
    }
    std::vector<std::string> notes() const override;

private:
    void allocate(const DeviceColumns& columns);

    const Config& config_;
    const PointDomain& domain_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    bool reproducible_;
    DeviceArena arena_;
    DeviceForward forward_;
    std::optional<RowExchange<float>> rows_;  // reproducible mode only
    DeviceColumns columns_;
};

void DevicePasses::allocate(const DeviceColumns& columns) {
    columns_ = columns;
    ForwardSizes sizes;
    sizes.n_point = rows_ ? rows_->n_canonical() : domain_.n_local();
    sizes.n_chunk_global =
        std::max<int64_t>(1, (domain_.n_global() + chunk_points - 1) / chunk_points);
    sizes.reproducible = reproducible_;
    sizes.staging_bytes = 4 * sizes.n_point * std::max(columns.n_input, columns.n_output);
    forward_.set_sizes(sizes);
    const DeviceWeights& weights = forward_.weights();
    kernels_.load(device_.properties(), weights.operand(), weights.shape().width);
    forward_.add_memory();
    arena_.take(device_);
    forward_.set_reductions(pinned_memory(device_, forward_.reduction_bytes() + 8));
}

void DevicePasses::enqueue(DeviceSteps& steps) const {
    const kernels::DeviceProperties& properties = device_.properties();
    const Stream stream = steps.stream();
    const LatentArgs latents = forward_.latent_args(columns_.findings);
    steps.compute([&] { forward_.begin(columns_, stream); });
    // One rank's reductions change nothing, they only count: the latents come from one kernel.
    const bool is_alone = domain_.context().comm().size() == 1;
    for (const DeviceBlock& block : forward_.weights().layers().blocks) {
        steps.compute([&] {
            forward_.encode(block, stream);
            (is_alone ? kernels_.combine : kernels_.maxima)(properties, latents, stream);
        });
        steps.reduce(forward_.maxima());
        if (!is_alone) steps.compute([&] { kernels_.sums(properties, latents, stream); });
        steps.reduce(forward_.sums());
        steps.compute([&] {
            if (!is_alone) kernels_.latents(properties, latents, stream);
            forward_.decode(block, stream);
        });
    }
    steps.compute([&] { forward_.end(columns_, stream); });
}

std::vector<std::string> DevicePasses::notes() const {
    std::vector<std::string> list;
    if (forward_.n_encode_pass() > 1) {
        list.push_back("encode takes the latents in " + std::to_string(forward_.n_encode_pass()) +
                       " passes and computes k and v in each: they do not fit shared memory at "
                       "once");
    }
    if (reproducible_) {
        list.push_back(
            "reproducible: inputs and outputs move over the host to canonical order and back; sums "
            "are exact");
    }
    if (forward_.weights().operand() == kernels::Operand::bf16) {
        list.push_back(
            "bf16 operands: expect 3e-3 to 9e-3 relative L2 from rounding alone, as much as "
            "trained models err; fp16 and tf32 are eight times closer at the same speed or near "
            "it");
    }
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request) {
    return std::make_unique<DevicePasses>(config, std::move(weights), domain, request);
}

}  // namespace surrogate::impl::flare
