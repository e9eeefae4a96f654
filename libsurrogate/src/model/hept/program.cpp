// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/program.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/hept/costs.hpp"
#include "libsurrogate/src/model/hept/forward.hpp"
#include "libsurrogate/src/model/hept/home_order.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::hept {

using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

namespace {

/// 1 / (1 + exp(-u)), without an exponential that overflows.
template <class T>
T sigmoid(T u) {
    const double small = std::exp(-std::abs(static_cast<double>(u)));
    return static_cast<T>((u >= 0 ? 1 : small) / (1 + small));
}

template <class T>
class HostProgram final : public Program {
public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : config_(config),
          layers_(layers),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          ports_(domain, request.queue, config.in_dim, config.n_out()),
          forward_(config, layers, request.queue) {}

    void connect() override {
        const HomeOrder home = home_order(config_, domain_, request_);
        RowRoute route(comm_, home.positions, home.begins);
        std::optional<RowRoute> of_ports;
        comm_.agree([&] { of_ports.emplace(route); });
        ports_.reorder(std::move(*of_ports));
        plan_.connect(comm_, config_, layers_.regions, home);
        comm_.agree([&] {
            ports_.allocate();
            forward_.resize(comm_, plan_);
            if (config_.is_pileup) resize_tiles(features_, ports_.n_tile(), config_.n_feature());
        });
        n_block_ = 0;
        for (const int64_t n : home.cloud_sizes)
            n_block_ += (n + config_.block_size - 1) / config_.block_size;
        send_coordinates(std::move(route));
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        bad_class_ = {};
        const auto first = static_cast<int>(config_.coords_dim);  // the plan has the coordinates
        const BadValue bad =
            ports_.gather(inputs.subspan(static_cast<size_t>(first)), outside, first);
        if (bad.column >= 0 || !config_.is_pileup) return bad;
        return bad_class_ = find_bad_class();
    }

    /// Ranks in trouble say so first; then nobody computes.
    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        ports_.deliver();
        const Tiles<T> y{ports_.output(0).data, config_.n_out(), n_point()};
        const bool is_finite = forward_.run(comm_, features(), y);
        if (is_finite && config_.is_pileup) {
            request_.queue.parallel_for(ports_.n_tile(), [&](int64_t i, int) {
                const Tile<T> tile = y.tile(i);
                for (int64_t p = 0; p < tile.shape[1]; ++p) tile(0, p) = sigmoid(tile(0, p));
            });
        }
        return is_finite;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        const BadValue bad = ports_.scatter(outputs, alive);
        require_classes();
        return bad;
    }

    int64_t bytes() const override {
        return ports_.bytes() + features_.bytes() + plan_.bytes() + forward_.bytes();
    }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override { return costs_of(config_, work()); }
    std::vector<std::string> notes() const override { return notes_of(config_, work()); }

private:
    Work work() const {
        const TokenExchange<T>& exchange = forward_.exchange();
        return {plan_,
                domain_.n_local(),
                n_block_,
                sizeof(T),
                exchange.bytes_of_layer(config_.h_dim),
                exchange.messages_of_layer(),
                plan_.n_visit() > 0 ? 1 + config_.num_heads : 0};
    }

    /// Collective: to the tokens, which keep them until points move.
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
        const Tiles<T> tiles{coordinates.data(), n_axis, n_point()};
        for (int64_t i = 0; i < n_point(); ++i) {
            for (int64_t axis = 0; axis < n_axis; ++axis)
                tiles(axis, i) = rows.canonical()[i * n_axis + axis];
        }
        forward_.set_coordinates(comm_, tiles);
    }

    /// What enters the encoder: a class of particles comes as a number, and its row follows the other
    /// features.
    Tiles<const T> features() {
        const Tiles<T> x{ports_.input(0).data, config_.in_dim, n_point()};
        if (!config_.is_pileup) return x;
        const int64_t n_plain = config_.in_dim - 1;
        const Tiles<T> all{features_.data(), config_.n_feature(), n_point()};
        request_.queue.parallel_for(all.n_tile(), [&](int64_t i, int) {
            const Tile<T> from = x.tile(i), to = all.tile(i);
            std::copy_n(from.data, n_plain * tile_points, to.data);
            int64_t rows[tile_points];
            for (int64_t p = 0; p < from.shape[1]; ++p)
                rows[p] = static_cast<int64_t>(from(n_plain, p));
            kernels::embed_rows(request_.queue, layers_.classes, rows, false,
                                kernels::channels(to, n_plain, Config::class_width));
        });
        return all;
    }

    /// The first class among the solver's rows that does not exist.
    BadValue find_bad_class() {
        const int64_t n = config_.in_dim;
        for (int64_t i = 0; i < domain_.n_local(); ++i) {
            const T value = ports_.solver_rows()[i * n + n - 1];
            const bool is_class =
                value == std::floor(value) && value >= 0 && value < T(Config::n_class_of_particle);
            if (!is_class)
                return {static_cast<int>(config_.coords_dim + n - 1), i,
                        static_cast<double>(value)};
        }
        return {};
    }

    /// A particle without a class, once all exchanges are over.
    void require_classes() const {
        if (bad_class_.column < 0) return;
        throw Error(Status::invalid_argument,
                    "the class of a particle, last of the " + std::to_string(config_.in_dim) +
                        " channels of network input 'x', is " + number_text(bad_class_.value) +
                        " at " + domain_.point_text(bad_class_.point) +
                        "; it must be a whole number from 0 to " +
                        std::to_string(Config::n_class_of_particle - 1));
    }

    const Config& config_;
    const Layers<T>& layers_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    PointPorts<T> ports_;
    TokenPlan plan_;
    int64_t n_block_ = 0;  // of a row, all ranks together
    BadValue bad_class_;
    kernels::Buffer<T> features_;  // (n_tile, n_feature, tile_points), of pile-up
    Forward<T> forward_;
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

}  // namespace surrogate::impl::hept
