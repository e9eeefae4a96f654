// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_host_program.hpp"
#include "libsurrogate/src/model/bsa/erwin_message_gradient.hpp"
#include "libsurrogate/src/model/bsa/erwin_program.hpp"
#include "libsurrogate/src/model/bsa/layer_gradient.hpp"
#include "libsurrogate/src/model/bsa/position_gradient.hpp"
#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/family/loaded_points.hpp"
#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl::bsa::erwin {

namespace {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

/// Evaluates Erwin and differentiates it. Messages are computed on the ranks of the tree. x before
/// each block is stored, all other values of a block are recomputed. Reproducible: gradients of
/// weights are summed by ball of their level.
template <class T>
class HostGradientProgram final : public HostProgram<T, GradientProgram> {
    using Shared = HostProgram<T, GradientProgram>;

public:
    HostGradientProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, layers, domain, request),
          queue_(request.queue),
          back_(domain, request.queue, config.n_out(), config.n_axis + config.n_given()),
          message_gradient_(config, layers, queue_, this->comm_, this->messages_, this->features_,
                            back_.ports) {
        for (int64_t l = 0; l < config.n_stride(); ++l) {
            const auto at = static_cast<size_t>(l);
            const auto sums_of = [&](const std::string& name, int64_t n_norm) {
                return NormedSums<T>(*layers.weights, name, n_norm, queue_.n_thread());
            };
            pools_.push_back(sums_of(pool_name(config, l), config.width[at + 1]));
            unpools_.push_back(sums_of(unpool_name(config, l), config.width[at]));
        }
        if (config.has_head()) head_names_ = {"pred_head.0", "pred_head.2"};
        const int64_t n = config.width.front() * tile_points;
        for (int thread = 0; thread < queue_.n_thread(); ++thread)
            scratch_.push_back({Buffer<T>(n), Buffer<T>(n), Buffer<T>(n),
                                Buffer<T>(config.n_out() * tile_points)});
    }

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = on_all_ranks(this->comm_, back_.begin(alive) && back_.gather(doutputs));
        if (alive) {
            back_.ports.deliver();
            alive = differentiate(
                sums, back_.wants_positions(this->comm_, dinputs, this->config_.n_axis, sums));
        }
        if (!alive) sums.poison();
        if (!dinputs.empty()) back_.scatter(dinputs, alive);
        return alive;
    }

    bool differentiates_coordinates() const override { return true; }
    bool leaves_out_weights() const override { return true; }

    int64_t bytes() const override {
        int64_t n_byte = Shared::bytes() + back_.bytes() + message_gradient_.bytes() + x_.bytes() +
                         dh_.bytes() + dposition_.bytes();
        for (const PositionGradient<T>& level : dpositions_) n_byte += level.bytes();
        for (const auto& stage : stages_) {
            n_byte += stage->gradient.bytes();
            for (const Buffer<T>& saved : stage->saved) n_byte += saved.bytes();
        }
        for (const Buffer<T>& dx : dx_) n_byte += dx.bytes();
        for (const auto* list : {&pools_, &unpools_})
            for (const NormedSums<T>& sums : *list) n_byte += sums.bytes();
        for (const Scratch& s : scratch_)
            n_byte += s.z.bytes() + s.h.bytes() + s.dh.bytes() + s.y.bytes();
        return n_byte;
    }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(
            "gradients: x before each block and h before each step of messages are stored, all "
            "other values are recomputed; statistics of batch norms are constants; the backward "
            "pass of a step of messages sends " +
            std::to_string(message_gradient_.bytes_sent()) + " bytes in " +
            std::to_string(message_gradient_.collectives()) + " collectives");
        return list;
    }

private:
    /// Consecutive blocks on a level, and x before each block and after the last one.
    struct Stage {
        Stage(const bsa::Config& own, const bsa::Layers<T>& layers, const kernels::Queue& queue,
              Communicator& comm, Forward<T>& run, bool is_reproducible)
            : config(own), forward(run), gradient(own, layers, queue, comm, run, is_reproducible) {
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
    /// Tiles of one thread, (C) and of outputs.
    struct Scratch {
        Buffer<T> z, h, dh, y;
    };

    RowRoute build() override {
        PointPorts<T>* const ports[] = {&this->features_, &this->ports_, &back_.ports};
        return this->levels_.front()->build(this->coordinates_, this->reproducible_, ports);
    }
    void connect_messages(const TreePoints& points, const RowRoute& route) override {
        this->messages_.connect_in_tree(points, route, *this->levels_.front());
        message_gradient_.connect();
    }
    void run_messages() override {
        if (this->config_.n_given() > 0) this->features_.deliver();
        this->messages_.run();
        const T* const rows = this->messages_.rows();
        queue_.parallel_for(this->ports_.n_tile(), [&](int64_t tile, int) {
            const Tile<T> to = this->ports_.input(tile);
            const int64_t c = to.shape[0];
            for (int64_t i = 0; i < to.shape[1]; ++i)
                for (int64_t k = 0; k < c; ++k) to(k, i) = rows[(tile * tile_points + i) * c + k];
        });
    }
    Work work() const override {
        Work work = Shared::work();
        work.n_sent_channel = this->config_.n_given();
        return work;
    }
    void allocate() override {
        Shared::allocate();
        for (Pooling<T>& pooling : this->poolings_) pooling.resize(true);
        back_.allocate();
        chunks_.resize(*this->levels_.front(), this->reproducible_);
        stages_.clear();
        dx_.clear();
        const Config& config = this->config_;
        const auto add_stage = [&](const bsa::Config& own, const bsa::Layers<T>& layers,
                                   Forward<T>& forward) {
            stages_.push_back(std::make_unique<Stage>(own, layers, queue_, this->comm_, forward,
                                                      this->reproducible_));
        };
        for (size_t l = 0; l < config.encoders.size(); ++l)
            add_stage(config.encoders[l], *this->layers_.encoders[l], *this->encoders_[l]);
        for (size_t l = 0; l < config.decoders.size(); ++l)
            add_stage(config.decoders[l], *this->layers_.decoders[l], *this->decoders_[l]);
        int64_t most = 0;
        dpositions_.clear();
        for (size_t l = 0; l < config.encoders.size(); ++l) {
            dpositions_.emplace_back(*this->levels_[l], queue_, config.n_axis);
            dx_.emplace_back(this->levels_[l]->shape().size(config.width[l]));
            most = std::max(most, dx_.back().size());
        }
        x_ = Buffer<T>(most);
        dh_ = Buffer<T>(this->n_point() * config.width.front());
        dposition_ = Buffer<T>(this->n_point() * config.n_axis);
    }
    void run_blocks(size_t index, Forward<T>& forward, const bsa::Config& config) override {
        Stage& stage = *stages_[index];
        for (int64_t block = 0; block <= config.depth; ++block) {
            Buffer<T>& saved = stage.saved[static_cast<size_t>(block)];
            copy(forward.work().x().data, saved.data(), saved.size());
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
    /// Copies n elements on all threads.
    void copy(const T* from, T* to, int64_t n) {
        for_thread_shares(queue_, n, [&](Range of, size_t) {
            std::copy(from + of.begin, from + of.end, to + of.begin);
        });
    }

    /// Adds the gradients of weights to `sums`, and computes the gradients of inputs. Returns
    /// false, on all ranks, if scores are not finite. Collective.
    ///   is_relative  gradients of positions include those through relative positions, differences
    ///                and distances; the same on all ranks
    bool differentiate(GradientSums& sums, bool is_relative) {
        if (is_relative)
            for (PositionGradient<T>& level : dpositions_) level.clear();
        for (Buffer<T>& buffer : dx_)
            for_thread_shares(queue_, buffer.size(), [&](Range of, size_t) {
                std::fill(buffer.data() + of.begin, buffer.data() + of.end, T(0));
            });
        chunks_.run(queue_, this->layers_.weights->master(), sums, head_names_,
                    [&](Range points, int thread, const Gradients& gradients) {
                        head_backward(points, gradients, scratch_[static_cast<size_t>(thread)]);
                    });
        const size_t n_stride = this->poolings_.size();
        for (size_t l = 0; l < n_stride; ++l) {
            if (!stage_backward(decoder(l), l, sums, is_relative)) return false;
            this->poolings_[l].unpool_backward(final_stage(l + 1).result(), encoder(l).result(),
                                               dx(l), dx(l + 1), unpools_[l], sums,
                                               this->reproducible_, is_relative);
        }
        for (size_t l = n_stride + 1; l-- > 0;) {
            if (l < n_stride)
                this->poolings_[l].pool_backward(encoder(l).result(), dx(l + 1), dx(l), pools_[l],
                                                 sums, this->reproducible_, is_relative);
            if (!stage_backward(encoder(l), l, sums, is_relative)) return false;
        }
        sum_copies(dx(0), dh_);
        if (is_relative) positions_backward();
        message_gradient_.run(chunks_, dh_.data(), is_relative ? dposition_.data() : nullptr, sums);
        return true;
    }

    /// Computes the gradient of the points' positions from those on all levels. Collective.
    void positions_backward() {
        for (PositionGradient<T>& level : dpositions_) level.finish();
        for (size_t l = this->poolings_.size(); l-- > 0;)
            this->poolings_[l].positions_backward(dpositions_[l + 1].positions(),
                                                  dpositions_[l].positions());
        sum_copies(dpositions_.front().positions(), dposition_);
    }

    /// Computes dx of the originals; head and outputs do not read copies.
    void head_backward(Range points, const Gradients& gradients, Scratch& s) {
        const Tile<T> first = back_.ports.input(0);
        const Tiles<const T> all{first.data, first.shape[0], this->n_point()};
        const Tile<const T> dy = load<T>(all, points, s.y);
        const int64_t n = dy.shape[1], c = this->config_.width.front();
        const Tile<T> z{s.z.data(), {c, n}, {tile_points, 1}};
        const int64_t* const slots = this->levels_.front()->slot_of() + points.begin;
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
            kernels::linear_gradient<T>(queue_, h, dy, gradients.linear(head_names_[1]));
            kernels::linear_gradient<T>(queue_, z, dh, gradients.linear(head_names_[0]));
            kernels::linear_backward<T>(queue_, layers.head1, dh, {}, false, z);
        } else {
            copy_tile(dy, z);
        }
        const Tiles<T> to = dx(0);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < c; ++k) to(k, slots[i]) = z(k, i);
    }

    bool stage_backward(Stage& stage, size_t level, GradientSums& sums, bool is_relative) {
        const TreePlan<T>& plan = stage.forward.plan();
        const Tiles<T> d = dx(level);
        T* const memory = stage.forward.work().free_memory();
        const Tiles<T> x = stage.tiles(x_);
        for (int64_t block = stage.config.depth - 1; block >= 0; --block) {
            const Buffer<T>& saved = stage.saved[static_cast<size_t>(block)];
            copy(saved.data(), x_.data(), saved.size());
            const bool is_rotated = stage.config.is_layer_rotated(block);
            if (is_rotated) plan.move(x, true, memory);
            if (is_rotated) plan.move(d, true, memory);
            Tiles<T> drelative;
            if (is_relative) drelative = dpositions_[level].relative(is_rotated);
            if (!stage.gradient.run(block, x, d, sums, drelative)) return false;
            if (is_rotated) plan.move(d, false, memory);
        }
        return true;
    }

    /// Computes the rows of points from a field of slots: adds the gradients of copies to the
    /// gradient of their point, in ascending order of slots.
    void sum_copies(const Tiles<T>& d, Buffer<T>& rows) {
        const TreePlan<T>& plan = *this->levels_.front();
        const int64_t c = d.n_channel;
        queue_.parallel_for(back_.ports.n_tile(), [&](int64_t tile, int) {
            const int64_t end = std::min((tile + 1) * tile_points, plan.n_point());
            for (int64_t point = tile * tile_points; point < end; ++point)
                for (int64_t k = 0; k < c; ++k) {
                    T sum = 0;
                    for (int64_t slot = plan.slot_of()[point]; slot < plan.end_of(point); ++slot)
                        sum += d(k, slot);
                    rows[point * c + k] = sum;
                }
        });
    }

    kernels::Queue queue_;
    BackwardPorts<T> back_;
    PointChunks chunks_;
    MessageGradient<T> message_gradient_;
    std::vector<WeightName> head_names_;
    std::vector<NormedSums<T>> pools_, unpools_;  // (L)
    std::vector<std::unique_ptr<Stage>> stages_;
    std::vector<Buffer<T>> dx_;                    // (L + 1) tiles of slots
    std::vector<PositionGradient<T>> dpositions_;  // (L + 1)
    Buffer<T> x_;                                  // a level
    Buffer<T> dh_, dposition_;      // (n_point, C) and (n_point, d) in the order of the tree
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request) {
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
