// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/execution.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "libsurrogate/src/domain/row_exchange.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/reduction.hpp"
#include "libsurrogate/src/model/flare/sweep.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::flare::Partial;
using kernels::flare::Sizes;

namespace {

/// Points per partial sum: float sums stay accurate up to here, and the reproducible mode's blocks
/// have this size.
constexpr int64_t chunk_tiles = 16;
constexpr int64_t chunk_points = chunk_tiles * tile_points;

template <class T>
class HostExecution final : public Execution {
public:
    HostExecution(const Config& config, const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          sizes_{config.num_heads, config.num_latents, config.head_dim()},
          domain_(domain),
          comm_(domain.context().comm()),
          queue_(request.queue),
          n_solver_(domain.n_local()) {}

    /// Collective, unlike the constructor: ranks agree that they have the object before they meet
    /// in here.
    void prepare(const Weights<T>& weights, const PlanRequest& request) {
        if (request.reproducible)
            reorder_.emplace(domain_, chunk_points, std::max(config_.in_dim, config_.out_dim));
        comm_.agree([&] { allocate(weights, domain_.n_global()); });
    }

    Result run(std::span<const Column> inputs, std::span<const Column> outputs,
               bool poisoned) override {
        Result result;
        outside_.clear();
        if (!poisoned) result.bad_input = gather_inputs(inputs);
        result.set_outside(outside_.join());
        poisoned = poisoned || result.bad_input.column >= 0;
        if (reorder_) to_canonical();

        // A rank without hope computes nothing: its numbers would be NaN, and the host may trap on
        // them.
        bool alive = !poisoned;
        for (int64_t s = 0; s <= config_.num_blocks; ++s) {
            if (alive) sweep(s);
            if (s == config_.num_blocks) break;
            result.is_finite = reduction_->reduce(comm_, !alive, z_.data()) && result.is_finite;
            alive = alive && result.is_finite;
        }
        if (reorder_) to_solver(alive);
        if (alive) {
            result.bad_output = scatter_outputs(outputs);
        } else {
            fill_nan(outputs, n_solver_);
        }
        return result;
    }

    std::span<const Outside> outside() const override { return outside_.joined(); }
    int64_t workspace_bytes() const override {
        return sweep_->bytes() + reduction_->bytes() + z_.bytes() +
               (reorder_ ? reorder_->bytes() : 0);
    }
    int64_t n_point() const override { return sweep_->n_point(); }
    std::vector<LayerCost> costs() const override {
        return costs_of(config_, {n_point(), n_solver_, reorder_.has_value(), sizeof(T),
                                  reduction_->bytes_sent(), reduction_->collectives()});
    }
    std::vector<std::string> notes() const override {
        if (!reorder_) return {};
        return {
            "reproducible: inputs and outputs move to canonical order and back; sums are exact"};
    }

private:
    void allocate(const Weights<T>& weights, int64_t n_global) {
        const int64_t n_point = reorder_ ? reorder_->n_canonical() : n_solver_;
        sweep_ = std::make_unique<Sweep<T>>(config_, weights, queue_, n_point);
        // Without reproducibility small problems are cut finer, so that every thread has a chunk.
        const int64_t share = (sweep_->n_tile() + queue_.n_thread() - 1) / queue_.n_thread();
        chunk_tiles_ = reorder_ ? chunk_tiles : std::clamp<int64_t>(share, 1, chunk_tiles);
        n_chunk_ = (sweep_->n_tile() + chunk_tiles_ - 1) / chunk_tiles_;
        reduction_ = reorder_
                         ? reproducible_reduction<T>(sizes_, queue_.n_thread(), n_chunk_,
                                                     (n_global + chunk_points - 1) / chunk_points)
                         : fast_reduction<T>(sizes_, queue_.n_thread());
        z_ = Buffer<T>(sizes_.n_head * sizes_.n_latent * sizes_.n_dim);
        bad_values_ = Buffer<BadValue>(queue_.n_thread());
        outside_ = OutsideCounts(queue_.n_thread(), config_.in_dim);
    }

    void sweep(int64_t s) {
        const bool encodes = s < config_.num_blocks;
        if (encodes) reduction_->begin();
        queue_.parallel_for(n_chunk_, [&](int64_t chunk, int thread) {
            Partial<T> partial{};
            if (encodes) partial = reduction_->open(chunk, thread);
            const int64_t end = std::min((chunk + 1) * chunk_tiles_, sweep_->n_tile());
            for (int64_t tile = chunk * chunk_tiles_; tile < end; ++tile) {
                sweep_->run(s, tile, thread, z_.data(), partial,
                            encodes ? reduction_->v_max(thread) : nullptr);
            }
            if (encodes) reduction_->close(chunk, thread);
        });
    }

    /// Inputs of the solver's points to tiles, or to rows that will be reordered.
    BadValue gather_inputs(std::span<const Column> inputs) {
        std::fill(bad_values_.begin(), bad_values_.end(), BadValue{});
        const int64_t n_tile = (n_solver_ + tile_points - 1) / tile_points;
        queue_.parallel_for(n_tile, [&](int64_t tile, int thread) {
            const int64_t first = tile * tile_points,
                          count = std::min(tile_points, n_solver_ - first);
            Outside* const outside = outside_.of(thread);
            const BadValue bad =
                reorder_
                    ? gather<T>(inputs, first, count, reorder_->solver() + first * config_.in_dim,
                                config_.in_dim, 1, outside)
                    : gather<T>(inputs, first, count, sweep_->input(tile).data, 1, tile_points,
                                outside);
            if (bad.column >= 0 && bad_values_[thread].column < 0) bad_values_[thread] = bad;
        });
        return first_bad_value();
    }

    BadValue scatter_outputs(std::span<const Column> outputs) {
        std::fill(bad_values_.begin(), bad_values_.end(), BadValue{});
        const int64_t n_tile = (n_solver_ + tile_points - 1) / tile_points;
        queue_.parallel_for(n_tile, [&](int64_t tile, int thread) {
            const int64_t first = tile * tile_points;
            const int64_t count = std::min(tile_points, n_solver_ - first);
            const BadValue bad = reorder_ ? scatter<T>(reorder_->solver() + first * config_.out_dim,
                                                       config_.out_dim, 1, outputs, first, count)
                                          : scatter<T>(sweep_->output(tile).data, 1, tile_points,
                                                       outputs, first, count);
            if (bad.column >= 0 && bad_values_[thread].column < 0) bad_values_[thread] = bad;
        });
        return first_bad_value();
    }

    BadValue first_bad_value() const {
        for (const BadValue& bad : bad_values_) {
            if (bad.column >= 0) return bad;
        }
        return {};
    }

    void to_canonical() {
        const int64_t width = config_.in_dim;
        reorder_->to_canonical(width);
        for (int64_t i = 0; i < sweep_->n_point(); ++i) {
            const Tile<T> tile = sweep_->input(i / tile_points);
            for (int64_t c = 0; c < width; ++c)
                tile(c, i % tile_points) = reorder_->canonical()[i * width + c];
        }
    }

    void to_solver(bool alive) {
        const int64_t width = config_.out_dim;
        for (int64_t i = 0; i < sweep_->n_point(); ++i) {
            const Tile<T> tile = sweep_->output(i / tile_points);
            for (int64_t c = 0; c < width; ++c) {
                reorder_->canonical()[i * width + c] =
                    alive ? tile(c, i % tile_points) : std::numeric_limits<T>::quiet_NaN();
            }
        }
        reorder_->to_solver(width);
    }

    const Config& config_;
    Sizes sizes_;
    const PointDomain& domain_;
    Communicator& comm_;
    kernels::Queue queue_;
    int64_t n_solver_;
    std::optional<RowExchange<T>> reorder_;  // reproducible mode only
    std::unique_ptr<Sweep<T>> sweep_;
    std::unique_ptr<Reduction<T>> reduction_;
    int64_t chunk_tiles_ = chunk_tiles, n_chunk_ = 0;
    Buffer<T> z_;  // (H, M, D) of the block under way
    Buffer<BadValue> bad_values_;
    OutsideCounts outside_;
};

}  // namespace

template <class T>
std::unique_ptr<Execution> make_execution(const Config& config, const Weights<T>& weights,
                                          const PointDomain& domain, const PlanRequest& request) {
    std::unique_ptr<HostExecution<T>> execution;
    domain.context().comm().agree(
        [&] { execution = std::make_unique<HostExecution<T>>(config, domain, request); });
    execution->prepare(weights, request);
    return execution;
}

template std::unique_ptr<Execution> make_execution(const Config&, const Weights<float>&,
                                                   const PointDomain&, const PlanRequest&);
template std::unique_ptr<Execution> make_execution(const Config&, const Weights<double>&,
                                                   const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::flare
