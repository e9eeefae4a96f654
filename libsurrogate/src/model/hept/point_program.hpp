// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/hept/costs.hpp"
#include "libsurrogate/src/model/hept/home_order.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"
#include "libsurrogate/src/model/hept/particle_class.hpp"
#include "libsurrogate/src/model/hept/token_exchange.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::hept {

/// Common part of the programs of HEPT: sends points to their owner ranks, embeds classes of
/// particles, and returns predictions. Base: Program or GradientProgram.
template <class T, class Base>
class PointProgram : public Base {
public:
    /// Keeps references to `config`, `layers` and the domain, which must outlive this object.
    /// Local.
    PointProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                 const PlanRequest& request)
        : config_(config),
          layers_(layers),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          ports_(domain, request.queue, config.in_dim, config.n_out()) {}

    void connect() override {
        const HomeOrder home = home_order(config_, domain_, request_);
        RowRoute route(comm_, home.positions, home.begins);
        std::optional<RowRoute> of_ports;
        comm_.agree([&] { of_ports.emplace(route); });
        reorder(std::move(*of_ports));
        plan_.connect(comm_, config_, layers_.regions, home);
        comm_.agree([&] { allocate(); });
        send_coordinates(std::move(route));
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        const auto first = static_cast<int>(config_.coords_dim);  // the plan holds the coordinates
        const BadValue bad =
            ports_.gather(inputs.subspan(static_cast<size_t>(first)), outside, first);
        if (bad.column >= 0 || !config_.is_pileup) return bad;
        const int64_t n = config_.in_dim;
        return find_bad_class(ports_.solver_rows(), domain_.n_local(), n, first + n - 1);
    }

    /// Exchanges an error flag first; if any rank has failed, no rank computes. Collective.
    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        ports_.deliver();
        const kernels::Tiles<T> y{ports_.output(0).data, config_.n_out(), n_point()};
        const bool is_finite = compute(features(), y);
        if (is_finite && config_.is_pileup) {
            request_.queue.parallel_for(ports_.n_tile(), [&](int64_t i, int) {
                const kernels::Tile<T> tile = y.tile(i);
                for (int64_t p = 0; p < tile.shape[1]; ++p) tile(0, p) = sigmoid(tile(0, p));
            });
        }
        return is_finite;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override {
        return ports_.bytes() + features_.bytes() + plan_.bytes() + network_bytes();
    }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override { return costs_of(config_, work()); }
    std::vector<std::string> notes() const override { return notes_of(config_, work()); }

protected:
    /// Evaluates the network. Collective; see Forward::run().
    virtual bool compute(const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y) = 0;
    /// Sets the coordinates (D, n_point) after points have moved. Collective.
    virtual void set_coordinates(const kernels::Tiles<const T>& coordinates) = 0;
    virtual const TokenExchange<T>& exchange() const = 0;
    virtual int64_t network_bytes() const = 0;

    /// Sets the route on which points are sent to their owner ranks. Collective.
    virtual void reorder(RowRoute route) { ports_.reorder(std::move(route)); }
    /// Allocates the memory whose size depends on the tokens. Local.
    virtual void allocate() {
        ports_.allocate();
        if (config_.is_pileup) resize_tiles(features_, ports_.n_tile(), config_.n_feature());
    }

    /// Returns the class of a point: a row of the table of embeddings.
    int64_t class_of(int64_t point) {
        const kernels::Tile<T> x = ports_.input(point / kernels::tile_points);
        return static_cast<int64_t>(x(config_.in_dim - 1, point % kernels::tile_points));
    }

    const Config& config_;
    const Layers<T>& layers_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    PointPorts<T> ports_;
    TokenPlan plan_;

private:
    /// Returns 1 / (1 + exp(-u)), without an exponential that overflows.
    static T sigmoid(T u) {
        const double small = std::exp(-std::abs(static_cast<double>(u)));
        return static_cast<T>((u >= 0 ? 1 : small) / (1 + small));
    }

    Work work() const {
        const TokenExchange<T>& tokens = exchange();
        return {plan_,
                domain_.n_local(),
                sizeof(T),
                tokens.bytes_of_layer(config_.h_dim),
                tokens.messages_of_layer(),
                plan_.n_visit() > 0 ? 1 + config_.num_heads : 0};
    }

    /// Sends the coordinates to the tokens, which keep them until points move. Collective.
    void send_coordinates(RowRoute route) {
        const int64_t n_axis = config_.coords_dim;
        RowExchange<T> rows(comm_, std::move(route), n_axis);
        kernels::Buffer<T> coordinates;
        comm_.agree([&] {
            resize_tiles(coordinates, ports_.n_tile(), n_axis);
            std::vector<Outside> outside(request_.coordinates.size());  // counted elsewhere
            impl::gather<T>(request_.coordinates, 0, domain_.n_local(), rows.solver(), n_axis, 1,
                            outside.data());
        });
        rows.to_canonical(n_axis);
        const kernels::Tiles<T> tiles{coordinates.data(), n_axis, n_point()};
        for (int64_t i = 0; i < n_point(); ++i) {
            for (int64_t axis = 0; axis < n_axis; ++axis)
                tiles(axis, i) = rows.canonical()[i * n_axis + axis];
        }
        set_coordinates(tiles);
    }

    /// Returns the features that enter the encoder. A class of particles is stored as a number; its
    /// embedding follows the other features.
    kernels::Tiles<const T> features() {
        const kernels::Tiles<T> x{ports_.input(0).data, config_.in_dim, n_point()};
        if (!config_.is_pileup) return x;
        const int64_t n_plain = config_.in_dim - 1;
        const kernels::Tiles<T> all{features_.data(), config_.n_feature(), n_point()};
        request_.queue.parallel_for(all.n_tile(), [&](int64_t i, int) {
            const kernels::Tile<T> to = all.tile(i);
            std::copy_n(x.tile(i).data, n_plain * kernels::tile_points, to.data);
            int64_t rows[kernels::tile_points];
            for (int64_t p = 0; p < to.shape[1]; ++p)
                rows[p] = class_of(i * kernels::tile_points + p);
            kernels::embed_rows(request_.queue, layers_.classes, rows, false,
                                kernels::channels(to, n_plain, Config::class_width));
        });
        return all;
    }

    kernels::Buffer<T> features_;  // (n_tile, n_feature, tile_points), pile-up only
};

}  // namespace surrogate::impl::hept
