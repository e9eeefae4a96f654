// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_program.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Stream;
using kernels::flare::chunk_points;
using kernels::flare::DeviceKernels;
using kernels::flare::LatentArgs;
using kernels::flare::Sizes;

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
          weights_(std::move(weights)),
          reproducible_(request.reproducible) {}

    void connect(const DeviceColumns& columns) override {
        Communicator& comm = domain_.context().comm();
        if (reproducible_) {
            rows_.emplace(comm, canonical_route(domain_, chunk_points),
                          std::max(columns.n_input, columns.n_output));
        }
        comm.agree([&] { allocate(columns); });
    }

    RowExchange<float>* rows() override { return rows_ ? &*rows_ : nullptr; }
    float* staging() const override { return arena_.at<float>(k_); }
    std::span<const DeviceReduction> reductions() const override {
        if (weights_->layers().blocks.empty()) return {};
        return reductions_;
    }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return n_point_; }
    std::vector<LayerCost> costs() const override {
        return costs_of(config_, {n_point_, domain_.n_local(), reproducible_, 4 * config_.in_dim,
                                  4 * config_.out_dim, maxima().bytes() + sums().bytes(),
                                  std::ssize(reductions_)});
    }
    std::vector<std::string> notes() const override;

private:
    void allocate(const DeviceColumns& columns);
    void set_sizes();
    void add_memory();
    void set_poison();
    void begin(Stream stream) const;
    void encode(const DeviceBlock& block, Stream stream) const;
    void decode(const DeviceBlock& block, Stream stream) const;
    void end(Stream stream) const;
    LatentArgs latent_args() const;
    const Sizes& sizes() const { return weights_->shape().sizes; }
    int64_t n_row() const { return sizes().n_head * sizes().n_latent; }

    const DeviceReduction& maxima() const { return reductions_[0]; }
    const DeviceReduction& sums() const { return reductions_[1]; }

    const Config& config_;
    const PointDomain& domain_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    bool reproducible_;
    std::optional<RowExchange<float>> rows_;  // reproducible mode only
    int64_t n_point_ = 0;
    int64_t n_chunk_global_ = 0;  // over all ranks
    kernels::flare::EncodeGeometry geometry_;
    int64_t n_partial_ = 0;
    DeviceColumns columns_;
    DeviceArena arena_;
    int64_t x_ = 0, k_ = 0, partials_ = 0, v_max_ = 0, maxima_ = 0, sums_ = 0, z_ = 0;  // in arena_
    PinnedMemory poison_;                        // maxima, then sums, of a rank that failed
    std::array<DeviceReduction, 2> reductions_;  // maxima, sums
};

void DevicePasses::allocate(const DeviceColumns& columns) {
    columns_ = columns;
    n_point_ = rows_ ? rows_->n_canonical() : domain_.n_local();
    n_chunk_global_ = std::max<int64_t>(1, (domain_.n_global() + chunk_points - 1) / chunk_points);
    set_sizes();
    kernels_.load(device_.properties(), weights_->operand(), weights_->shape().width);
    add_memory();
    set_poison();
}

void DevicePasses::set_sizes() {
    using enum DeviceReduction::Kind;
    const Sizes& s = sizes();
    const int64_t n_sum = n_row() * (s.n_dim + 1);
    reductions_[0] = {max_float, nullptr, n_row() + (reproducible_ ? s.n_head + 1 : 0)};
    reductions_[1] = {sum_float, nullptr, n_sum};
    if (reproducible_)
        reductions_[1] = {sum_int64, nullptr, n_sum * ExactGrid::limbs(n_chunk_global_)};
    if (!weights_->layers().blocks.empty()) {
        const DeviceBlock& block = weights_->layers().blocks.front();  // all have the same sizes
        geometry_ = kernels::flare::encode_geometry(
            device_.properties(), weights_->operand(), weights_->shape(),
            block.k_proj.n_layer + block.v_proj.n_layer, n_point_, reproducible_);
    }
    n_partial_ = reproducible_ ? (n_point_ + chunk_points - 1) / chunk_points : geometry_.n_block;
}

void DevicePasses::add_memory() {
    const kernels::flare::DeviceShape& shape = weights_->shape();
    const Sizes& s = shape.sizes;
    const int64_t n_element = kernels::fragment_size(n_point_, shape.width);
    // The staging of columns is the memory of k, which lives only between first and last pass.
    const int64_t staging_bytes = 4 * n_point_ * std::max(columns_.n_input, columns_.n_output);
    x_ = arena_.add(4 * n_element);
    k_ = arena_.add(
        std::max(kernels::operand_bytes(weights_->operand()) * n_element, staging_bytes));
    partials_ = arena_.add(4 * n_partial_ * n_row() * (s.n_dim + 2));
    v_max_ = arena_.add(4 * s.n_head);
    maxima_ = arena_.add(maxima().bytes());
    sums_ = arena_.add(sums().bytes());
    z_ = arena_.add(kernels::flare::latent_bytes(weights_->operand(), shape));
    arena_.take(device_);
    reductions_[0].values = arena_.at<void>(maxima_);
    reductions_[1].values = arena_.at<void>(sums_);
}

/// The sums NaN; integers cannot, there the flag behind the maxima says it.
void DevicePasses::set_poison() {
    const Sizes& s = sizes();
    poison_ = pinned_memory(device_, maxima().bytes() + sums().bytes() + 8);
    float* maxima = static_cast<float*>(poison_.get());
    char* sums = static_cast<char*>(poison_.get()) + reductions_[0].bytes();
    std::fill_n(maxima, n_row(), kernels::flare::lowest_score<float>());
    if (reproducible_) {
        std::fill_n(maxima + n_row(), s.n_head, 0.0F);
        maxima[reductions_[0].count - 1] = 1;
        std::memset(sums, 0, static_cast<size_t>(reductions_[1].bytes()));
    } else {
        std::fill_n(reinterpret_cast<float*>(sums), reductions_[1].count,
                    std::numeric_limits<float>::quiet_NaN());
    }
    reductions_[0].poison = maxima;
    reductions_[1].poison = sums;
}

LatentArgs DevicePasses::latent_args() const {
    LatentArgs args;
    args.shape = weights_->shape();
    args.operand = weights_->operand();
    args.n_partial = n_partial_;
    args.partials = arena_.at<float>(partials_);
    args.v_max = reproducible_ ? arena_.at<float>(v_max_) : nullptr;
    args.n_chunk_global = n_chunk_global_;
    args.maxima = arena_.at<float>(maxima_);
    args.sums = arena_.at<void>(sums_);
    args.z = arena_.at<void>(z_);
    args.findings = columns_.findings;
    return args;
}

void DevicePasses::begin(Stream stream) const {
    kernels_.begin(
        device_.properties(),
        {weights_->shape(), weights_->operand(), n_point_, columns_.inputs, columns_.n_input,
         weights_->layers().in_proj, arena_.at<float>(x_), columns_.findings, columns_.outside},
        stream);
}

void DevicePasses::encode(const DeviceBlock& block, Stream stream) const {
    kernels::flare::EncodeArgs args = weights_->encode_args(block);
    args.geometry = geometry_;
    args.n_point = n_point_;
    args.x = arena_.at<float>(x_);
    args.k = arena_.at<void>(k_);
    args.partials = arena_.at<float>(partials_);
    if (reproducible_) {
        args.v_max = arena_.at<float>(v_max_);
        device_.clear(args.v_max, 4 * args.shape.sizes.n_head, stream);
    }
    kernels_.encode(device_.properties(), args, stream);
}

void DevicePasses::decode(const DeviceBlock& block, Stream stream) const {
    kernels::flare::DecodeArgs args = weights_->decode_args(block);
    args.n_point = n_point_;
    args.k = arena_.at<void>(k_);
    args.z = arena_.at<void>(z_);
    args.x = arena_.at<float>(x_);
    kernels_.decode(device_.properties(), args, stream);
}

void DevicePasses::end(Stream stream) const {
    kernels_.end(device_.properties(),
                 {weights_->shape(), weights_->operand(), n_point_, arena_.at<float>(x_),
                  weights_->layers().out_norm, weights_->layers().out_proj, columns_.outputs,
                  columns_.n_output, columns_.findings},
                 stream);
}

void DevicePasses::enqueue(DeviceSteps& steps) const {
    const kernels::DeviceProperties& properties = device_.properties();
    const Stream stream = steps.stream();
    const LatentArgs latents = latent_args();
    steps.compute([&] { begin(stream); });
    // One rank's reductions change nothing, they only count: the latents come from one kernel.
    const bool is_alone = domain_.context().comm().size() == 1;
    for (const DeviceBlock& block : weights_->layers().blocks) {
        steps.compute([&] {
            encode(block, stream);
            (is_alone ? kernels_.combine : kernels_.maxima)(properties, latents, stream);
        });
        steps.reduce(maxima());
        if (!is_alone) steps.compute([&] { kernels_.sums(properties, latents, stream); });
        steps.reduce(sums());
        steps.compute([&] {
            if (!is_alone) kernels_.latents(properties, latents, stream);
            decode(block, stream);
        });
    }
    steps.compute([&] { end(stream); });
}

std::vector<std::string> DevicePasses::notes() const {
    std::vector<std::string> list;
    if (geometry_.n_pass > 1) {
        list.push_back("encode takes the latents in " + std::to_string(geometry_.n_pass) +
                       " passes and computes k and v in each: they do not fit shared memory at "
                       "once");
    }
    if (reproducible_) {
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

std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request) {
    return std::make_unique<DevicePasses>(config, std::move(weights), domain, request);
}

}  // namespace surrogate::impl::flare
