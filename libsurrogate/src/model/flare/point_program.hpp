// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/flare/passes.hpp"
#include "libsurrogate/src/model/flare/point_weights.hpp"

namespace surrogate::impl::flare {

/// Common part of FLARE's programs on a domain of points. Base: Program or GradientProgram.
template <class T, class Base>
class PointProgram : public Base {
public:
    /// Keeps references: `config`, `layers` and the domain must outlive it.
    PointProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                 const PlanRequest& request, Keeps keeps)
        : config_(config),
          domain_(domain),
          reproducible_(request.reproducible),
          ports_(domain, request.queue, config.in_dim, config.out_dim),
          passes_(config, layers, comm(), request.queue, request.reproducible, ports_, {}, keeps) {}

    void connect() override {
        if (config_.point_weights) weights_.read(domain_);
        if (reproducible_) {
            RowRoute route =
                canonical_route(domain_, kernels::flare::chunk_points, weights_.has_zero());
            if (config_.point_weights) weights_.place(comm(), route);
            reorder(std::move(route));
        }
        comm().agree([&] {
            if (config_.point_weights && !reproducible_) weights_.place();
            allocate();
        });
    }
    /// Returns false for several clouds, which need another program.
    bool follow() override {
        if (domain_.n_cloud() > 1) return false;
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return ports_.gather(inputs, outside);
    }
    bool evaluate(bool alive) override {
        ports_.deliver();
        return passes_.run(alive);
    }
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override { return ports_.bytes() + passes_.bytes() + weights_.bytes(); }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override {
        Work work{n_point(), domain_.n_local(), ports_.is_reordered(),
                  config_.in_dim * static_cast<int64_t>(sizeof(T)),
                  config_.out_dim * static_cast<int64_t>(sizeof(T))};
        passes_.describe(work);
        return costs_of(config_, work);
    }
    std::vector<std::string> notes() const override {
        if (!reproducible_) return {};
        return {
            "reproducible: inputs and outputs move to canonical order and back; sums are exact"};
    }

protected:
    Communicator& comm() const { return domain_.context().comm(); }
    /// Returns the chunks of a reproducible plan on all ranks.
    static int64_t n_chunk_of(int64_t n_point) {
        constexpr int64_t n = kernels::flare::chunk_points;
        return (n_point + n - 1) / n;
    }
    int64_t n_chunk_global() const { return n_chunk_of(domain_.n_global()); }
    /// Scatters points by this route from now on. Collective.
    virtual void reorder(RowRoute route) { ports_.reorder(std::move(route)); }
    /// Allocates the memory that depends on the points. Local.
    virtual void allocate() {
        ports_.allocate();
        // Points of weight 0 are not in sums, whose bits must not depend on their number.
        const int64_t n_chunk =
            config_.point_weights ? n_chunk_of(weights_.n_counted()) : n_chunk_global();
        passes_.allocate(kernels::flare::chunk_points / kernels::tile_points, n_chunk);
        passes_.weigh(weights_.tiles());
    }

    const Config& config_;
    const PointDomain& domain_;
    bool reproducible_;
    PointWeights<T> weights_;
    PointPorts<T> ports_;
    Passes<T> passes_;
};

}  // namespace surrogate::impl::flare
