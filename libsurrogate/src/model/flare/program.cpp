// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/program.hpp"

#include <algorithm>
#include <optional>

#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/flare/costs.hpp"
#include "libsurrogate/src/model/flare/reduction.hpp"
#include "libsurrogate/src/model/flare/sweep.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::tile_points;
using kernels::flare::chunk_points;
using kernels::flare::Partial;
using kernels::flare::Sizes;

namespace {

constexpr int64_t chunk_tiles = chunk_points / tile_points;

template <class T>
class HostProgram final : public Program {
public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : config_(config),
          layers_(layers),
          sizes_{config.num_heads, config.num_latents, config.head_dim()},
          domain_(domain),
          comm_(domain.context().comm()),
          queue_(request.queue),
          reproducible_(request.reproducible),
          ports_(domain, request.queue, config.in_dim, config.out_dim) {}

    void connect() override {
        if (reproducible_) ports_.reorder(chunk_points);
        comm_.agree([&] { allocate(); });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return ports_.gather(inputs, outside);
    }

    bool evaluate(bool alive) override {
        ports_.deliver();
        bool is_finite = true;
        for (int64_t s = 0; s <= config_.num_blocks; ++s) {
            if (alive) sweep(s);
            if (s == config_.num_blocks) break;
            is_finite = reduction_->reduce(comm_, !alive, z_.data()) && is_finite;
            alive = alive && is_finite;
        }
        return is_finite;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override {
        return ports_.bytes() + sweep_->bytes() + reduction_->bytes() + z_.bytes();
    }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override {
        return costs_of(config_, {n_point(), domain_.n_local(), ports_.is_reordered(), sizeof(T),
                                  reduction_->bytes_sent(), reduction_->collectives()});
    }
    std::vector<std::string> notes() const override {
        if (!reproducible_) return {};
        return {
            "reproducible: inputs and outputs move to canonical order and back; sums are exact"};
    }

private:
    void allocate() {
        ports_.allocate();
        if (sweep_) {
            sweep_->resize();
        } else {
            sweep_.emplace(config_, layers_, queue_, ports_);
        }
        // Without reproducibility small problems are cut finer, so that every thread has a chunk.
        const int64_t n_tile = ports_.n_tile(), n_thread = queue_.n_thread();
        const int64_t share = (n_tile + n_thread - 1) / n_thread;
        chunk_tiles_ = reproducible_ ? chunk_tiles : std::clamp<int64_t>(share, 1, chunk_tiles);
        n_chunk_ = (n_tile + chunk_tiles_ - 1) / chunk_tiles_;
        set_reduction();
        z_.resize(sizes_.n_head * sizes_.n_latent * sizes_.n_dim);
    }

    /// That of the fast mode does not depend on the points.
    void set_reduction() {
        const int64_t n_chunk_global = (domain_.n_global() + chunk_points - 1) / chunk_points;
        if (reproducible_) {
            reduction_ =
                reproducible_reduction<T>(sizes_, queue_.n_thread(), n_chunk_, n_chunk_global);
        } else if (!reduction_) {
            reduction_ = fast_reduction<T>(sizes_, queue_.n_thread());
        }
    }

    void sweep(int64_t s) {
        const bool encodes = s < config_.num_blocks;
        if (encodes) reduction_->begin();
        queue_.parallel_for(n_chunk_, [&](int64_t chunk, int thread) {
            Partial<T> partial{};
            if (encodes) partial = reduction_->open(chunk, thread);
            const int64_t end = std::min((chunk + 1) * chunk_tiles_, ports_.n_tile());
            for (int64_t tile = chunk * chunk_tiles_; tile < end; ++tile) {
                sweep_->run(s, tile, thread, z_.data(), partial,
                            encodes ? reduction_->v_max(thread) : nullptr);
            }
            if (encodes) reduction_->close(chunk, thread);
        });
    }

    const Config& config_;
    const Layers<T>& layers_;
    Sizes sizes_;
    const PointDomain& domain_;
    Communicator& comm_;
    kernels::Queue queue_;
    bool reproducible_;
    PointPorts<T> ports_;
    std::optional<Sweep<T>> sweep_;
    std::unique_ptr<Reduction<T>> reduction_;
    int64_t chunk_tiles_ = chunk_tiles, n_chunk_ = 0;
    Buffer<T> z_;  // (H, M, D) of the block under way
};

}  // namespace

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request) {
    return std::make_unique<HostProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::flare
