// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_host_program.hpp"
#include "libsurrogate/src/model/bsa/erwin_message_gradient.hpp"
#include "libsurrogate/src/model/bsa/erwin_program.hpp"
#include "libsurrogate/src/model/bsa/layer_gradient.hpp"
#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"

namespace surrogate::impl::bsa::erwin {

namespace {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

/// Evaluates Erwin and differentiates it on one rank. x before each block is stored, all other
/// values of a block are recomputed.
template <class T>
class HostGradientProgram final : public HostProgram<T, GradientProgram> {
    using Shared = HostProgram<T, GradientProgram>;

public:
    HostGradientProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, layers, domain, request),
          queue_(request.queue.backend(), request.queue.level(),
                 request.reproducible ? 1 : request.queue.n_thread()),
          back_(domain, request.queue, config.n_out(), 0),
          dfeatures_(domain, request.queue, 0, config.n_given()),
          sums_(layers.weights->master(), queue_.n_thread()),
          message_gradient_(config, layers, queue_, this->messages_, this->features_, dfeatures_,
                            sums_) {
        if (config.has_head())
            head_ = {sums_.add_layer("pred_head.0"), sums_.add_layer("pred_head.2")};
        for (int64_t l = 0; l < config.n_stride(); ++l) {
            const auto at = static_cast<size_t>(l);
            pools_.emplace_back(sums_, *layers.weights, pool_name(config, l), config.width[at + 1]);
            unpools_.emplace_back(sums_, *layers.weights, unpool_name(config, l), config.width[at]);
        }
        sums_.allocate();
        const int64_t n = config.width.front() * tile_points;
        for (int thread = 0; thread < queue_.n_thread(); ++thread)
            scratch_.push_back({Buffer<T>(n), Buffer<T>(n), Buffer<T>(n)});
    }

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = back_.begin(alive) && back_.gather(doutputs);
        if (alive) {
            back_.ports.deliver();
            alive = differentiate(sums);
        }
        if (!alive) sums.poison();
        if (!dinputs.empty()) dfeatures_.scatter(dinputs, alive);
        return alive;
    }

    int64_t bytes() const override {
        int64_t n_byte = Shared::bytes() + back_.bytes() + dfeatures_.bytes() + sums_.bytes() +
                         message_gradient_.bytes() + x_.bytes() + dh_.bytes();
        for (const auto& stage : stages_) {
            n_byte += stage->gradient.bytes();
            for (const Buffer<T>& saved : stage->saved) n_byte += saved.bytes();
        }
        for (const Buffer<T>& dx : dx_) n_byte += dx.bytes();
        for (const Scratch& s : scratch_) n_byte += s.z.bytes() + s.h.bytes() + s.dh.bytes();
        return n_byte;
    }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(
            "gradients: x before each block and h before each step of messages are stored, all "
            "other values are recomputed; statistics of batch norms are constants; sums of weight "
            "gradients have a fixed order " +
            std::string(queue_.n_thread() == 1 ? "on one thread" : "for each number of threads"));
        return list;
    }

private:
    /// Consecutive blocks on a level, and x before each block and after the last one.
    struct Stage {
        Stage(const bsa::Config& own, const bsa::Layers<T>& layers, const kernels::Queue& queue,
              Communicator& comm, Forward<T>& run)
            : config(own), forward(run), gradient(own, layers, queue, comm, run, false) {
            for (int64_t block = 0; block <= own.depth; ++block)
                saved.emplace_back(run.work().shape().size(own.n_channel));
        }
        const bsa::Config& config;
        Forward<T>& forward;
        LayerGradient<T> gradient;
        std::vector<Buffer<T>> saved;  // (depth + 1)

        Tiles<T> tiles(Buffer<T>& buffer) const {
            return forward.work().shape().tiles(buffer.data(), config.n_channel);
        }
        Tiles<T> result() { return tiles(saved.back()); }
    };
    /// Tiles of one thread, (C).
    struct Scratch {
        Buffer<T> z, h, dh;
    };

    RowRoute build() override {
        PointPorts<T>* const ports[] = {&this->ports_, &back_.ports};
        RowRoute route =
            this->levels_.front()->build(this->coordinates_, this->reproducible_, ports);
        this->comm_.agree([&] { route_ = route; });
        return route;
    }
    void allocate() override {
        Shared::allocate();
        for (Pooling<T>& pooling : this->poolings_) pooling.resize(true);
        back_.allocate();
        dfeatures_.allocate();
        message_gradient_.allocate(*route_);
        stages_.clear();
        dx_.clear();
        const Config& config = this->config_;
        for (size_t l = 0; l < config.encoders.size(); ++l)
            stages_.push_back(std::make_unique<Stage>(config.encoders[l],
                                                      *this->layers_.encoders[l], queue_,
                                                      this->comm_, *this->encoders_[l]));
        for (size_t l = 0; l < config.decoders.size(); ++l)
            stages_.push_back(std::make_unique<Stage>(config.decoders[l],
                                                      *this->layers_.decoders[l], queue_,
                                                      this->comm_, *this->decoders_[l]));
        int64_t most = 0;
        for (size_t l = 0; l < config.encoders.size(); ++l) {
            dx_.emplace_back(this->levels_[l]->shape().size(config.width[l]));
            most = std::max(most, dx_.back().size());
        }
        x_ = Buffer<T>(most);
        dh_ = Buffer<T>(this->domain_.n_local() * config.width.front());
    }
    void run_blocks(size_t index, Forward<T>& forward, const bsa::Config& config) override {
        Stage& stage = *stages_[index];
        const T* const x = forward.work().x().data;
        for (int64_t block = 0; block <= config.depth; ++block) {
            Buffer<T>& saved = stage.saved[static_cast<size_t>(block)];
            std::copy_n(x, saved.size(), saved.data());
            if (block < config.depth) forward.run_layer(block);
        }
    }

    Stage& encoder(size_t l) { return *stages_[l]; }
    Stage& decoder(size_t l) { return *stages_[this->encoders_.size() + l]; }
    /// Returns the stage whose result level l gets from its coarser levels, or is the last one.
    Stage& final_stage(size_t l) { return l < this->poolings_.size() ? decoder(l) : encoder(l); }
    Tiles<T> dx(size_t l) {
        return this->levels_[l]->shape().tiles(dx_[l].data(), this->config_.width[l]);
    }

    /// Adds the gradients of weights to `sums`, and computes the gradients of features. Returns
    /// false if scores are not finite.
    bool differentiate(GradientSums& sums) {
        sums_.clear();
        for (Buffer<T>& buffer : dx_) std::fill(buffer.begin(), buffer.end(), T(0));
        queue_.parallel_for(back_.ports.n_tile(),
                            [&](int64_t tile, int thread) { head_backward(tile, thread); });
        const size_t n_stride = this->poolings_.size();
        for (size_t l = 0; l < n_stride; ++l) {
            if (!stage_backward(decoder(l), dx(l), sums)) return false;
            this->poolings_[l].unpool_backward(queue_, final_stage(l + 1).result(),
                                               encoder(l).result(), dx(l), dx(l + 1), unpools_[l],
                                               sums_);
        }
        for (size_t l = n_stride + 1; l-- > 0;) {
            if (l < n_stride)
                this->poolings_[l].pool_backward(queue_, encoder(l).result(), dx(l + 1), dx(l),
                                                 pools_[l], sums_);
            if (!stage_backward(encoder(l), dx(l), sums)) return false;
        }
        sum_copies();
        message_gradient_.run(dh_.data());
        sums_.join();
        for (const auto* list : {&pools_, &unpools_})
            for (const NormedSums<T>& layer : *list) layer.separate(sums_);
        sums_.add_to(sums.open(0));
        sums.close(0);
        return true;
    }

    /// Computes dx of the originals; head and outputs do not read copies.
    void head_backward(int64_t tile, int thread) {
        Scratch& s = scratch_[static_cast<size_t>(thread)];
        const Tile<const T> dy = back_.ports.input(tile);
        const int64_t n = dy.shape[1], c = this->config_.width.front();
        const Tile<T> z{s.z.data(), {c, n}, {tile_points, 1}};
        const int64_t* const slots = this->levels_.front()->slot_of() + tile * tile_points;
        if (this->config_.has_head()) {
            const bsa::Layers<T>& layers = this->layers_.decoders.empty()
                                               ? *this->layers_.encoders.back()
                                               : *this->layers_.decoders.front();
            const Tile<T> h{s.h.data(), z.shape, z.stride}, dh{s.dh.data(), z.shape, z.stride};
            const Tiles<T> x = final_stage(0).result();
            for (int64_t i = 0; i < n; ++i)
                for (int64_t k = 0; k < c; ++k) z(k, i) = x(k, slots[i]);
            kernels::linear<T>(queue_, layers.head1, z, {}, h);
            kernels::linear_backward<T>(queue_, layers.head2, dy, {}, false, dh);
            kernels::activate_backward<T>(queue_, kernels::Activation::gelu, h, dh, dh);
            kernels::activate<T>(queue_, kernels::Activation::gelu, h, h);
            kernels::linear_gradient<T>(queue_, h, dy, sums_.linear(head_[1], thread));
            kernels::linear_gradient<T>(queue_, z, dh, sums_.linear(head_[0], thread));
            kernels::linear_backward<T>(queue_, layers.head1, dh, {}, false, z);
        } else {
            copy_tile(back_.ports.input(tile), z);
        }
        const Tiles<T> to = dx(0);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < c; ++k) to(k, slots[i]) = z(k, i);
    }

    bool stage_backward(Stage& stage, Tiles<T> d, GradientSums& sums) {
        const TreePlan<T>& plan = stage.forward.plan();
        T* const memory = stage.forward.work().free_memory();
        const Tiles<T> x = stage.tiles(x_);
        for (int64_t block = stage.config.depth - 1; block >= 0; --block) {
            const Buffer<T>& saved = stage.saved[static_cast<size_t>(block)];
            std::copy(saved.begin(), saved.end(), x_.begin());
            const bool is_rotated = stage.config.is_layer_rotated(block);
            if (is_rotated) plan.move(x, true, memory);
            if (is_rotated) plan.move(d, true, memory);
            if (!stage.gradient.run(block, x, d, sums)) return false;
            if (is_rotated) plan.move(d, false, memory);
        }
        return true;
    }

    /// Adds the gradients of copies to the gradient of their point, in ascending order of slots.
    void sum_copies() {
        const TreePlan<T>& plan = *this->levels_.front();
        const int64_t c = this->config_.width.front();
        const Tiles<T> d = dx(0);
        queue_.parallel_for(back_.ports.n_tile(), [&](int64_t tile, int) {
            const int64_t end = std::min((tile + 1) * tile_points, plan.n_point());
            for (int64_t point = tile * tile_points; point < end; ++point)
                for (int64_t k = 0; k < c; ++k) {
                    T sum = 0;
                    for (int64_t slot = plan.slot_of()[point]; slot < plan.end_of(point); ++slot)
                        sum += d(k, slot);
                    dh_[point * c + k] = sum;
                }
        });
    }

    kernels::Queue queue_;  // for the backward pass
    BackwardPorts<T> back_;
    PointPorts<T> dfeatures_;  // in the solver's order
    ThreadSums sums_;
    MessageGradient<T> message_gradient_;
    std::array<ThreadSums::Layer, 2> head_;
    std::vector<NormedSums<T>> pools_, unpools_;  // (L)
    std::optional<RowRoute> route_;               // from the solver's order to the tree's
    std::vector<std::unique_ptr<Stage>> stages_;
    std::vector<Buffer<T>> dx_;     // (L + 1) tiles of slots
    Buffer<T> x_, dh_;              // a level; (n_point, C) in the order of the tree
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request) {
    require_one_rank(domain, "Erwin");
    return std::make_unique<HostGradientProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<GradientProgram> make_gradient_program(const Config&, const Layers<float>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);
template std::unique_ptr<GradientProgram> make_gradient_program(const Config&,
                                                                const Layers<double>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);

}  // namespace surrogate::impl::bsa::erwin
