// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/model/hept/attention.hpp"
#include "tests/libsurrogate/hept/hept_points.hpp"
#include "tests/support/golden_weights.hpp"

namespace surrogate::test {

inline double largest(const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
}

/// Numbers of points or tokens, in tiles of their own.
template <class T>
struct OwnTiles {
    OwnTiles(int64_t n_channel, int64_t n_point)
        : data(n_channel * kernels::round_up(n_point, kernels::tile_points)),
          tiles{data.data(), n_channel, n_point} {}
    T& operator()(int64_t channel, int64_t point) const { return tiles(channel, point); }

    kernels::Buffer<T> data;
    kernels::Tiles<T> tiles;
};

/// Orders of tokens in all layers, one rank.
struct FixedOrders {
    /// (L), each (C, H, n_place): of row table * H + head the tokens at its places
    std::vector<std::vector<int32_t>> queries, keys;
};

/// A plan whose tokens have given orders instead of the orders of their hashes, so that two
/// implementations whose hashes differ in the last bit compute the same.
class FixedOrderPlan final : public impl::hept::TokenPlan {
public:
    /// orders must outlive the plan. Null: the orders of the hashes.
    FixedOrderPlan(const TokenPlan& plan, const FixedOrders* orders)
        : TokenPlan(plan), orders_(orders) {}

    bool fixed_order(int64_t layer, int64_t row, bool is_key,
                     std::span<int32_t> places) const override {
        if (!orders_) return false;
        const auto& rows = is_key ? orders_->keys : orders_->queries;
        std::copy_n(rows[static_cast<size_t>(layer)].data() + row * n_place(), places.size(),
                    places.data());
        return true;
    }

private:
    const FixedOrders* orders_;
};

/// A stored case: its network, and its points as they are planned.
struct HeptCase {
    using Config = impl::hept::Config;

    /// shift: of all weights; scale: of all coordinates.
    explicit HeptCase(const std::string& name, float shift = 0, double scale = 1)
        : HeptCase(name, impl::self_communicator(), nullptr, shift, scale) {
        number_tokens();
    }
    /// On ranks: rows of the file whose points this rank has; null: all. Collective.
    HeptCase(const std::string& name, std::unique_ptr<impl::Communicator> comm,
             const std::vector<int64_t>* rows, float shift = 0, double scale = 1)
        : file(SURROGATE_TEST_DATA "/hept/" + name + ".safetensors"),
          config(impl::hept::parse_config(file.card().at("network"))),
          master(golden_weights(file, impl::hept::layout(config), shift)),
          points(points_of(file, config, scale)),
          plan(std::move(comm), config, rows ? points.rows(*rows) : points) {
        const std::vector<double> regions =
            file.tensor(file.has("regions") ? "regions" : "check/tables/regions").values;
        plan.connect(config, std::vector<float>(regions.begin(), regions.end()));
    }

    static HeptPoints points_of(const GoldenFile& file, const Config& config, double scale = 1) {
        HeptPoints points;
        points.n_axis = config.coords_dim;
        points.x = file.tensor("check/input/coords").values;
        for (double& x : points.x) x *= scale;
        points.clouds = file.integers("check/input/batch");
        for (int64_t i = 0; i < points.n(); ++i) points.ids.push_back(i);
        return points;
    }

    const impl::hept::TokenPlan& tokens() const { return plan.plan; }
    impl::Communicator& comm() const { return plan.domain->context().comm(); }
    /// The row in the file of a point at home.
    int64_t row(int64_t point) const { return plan.home.places[point].id; }

    /// Coordinates of the points at home.
    template <class T>
    OwnTiles<T> coordinates() const {
        OwnTiles<T> x(config.coords_dim, tokens().n_point());
        for (int64_t i = 0; i < tokens().n_point(); ++i)
            for (int64_t c = 0; c < config.coords_dim; ++c)
                x(c, i) =
                    static_cast<T>(points.x[static_cast<size_t>(row(i) * config.coords_dim + c)]);
        return x;
    }

    /// Features of the points at home, with the embedding of their class where there is one.
    template <class T>
    OwnTiles<T> features() const {
        const std::vector<double> given = file.tensor("check/input/x").values;
        OwnTiles<T> x(config.n_feature(), tokens().n_point());
        const int64_t n_real = config.is_pileup ? config.in_dim - 1 : config.in_dim;
        for (int64_t i = 0; i < tokens().n_point(); ++i) {
            const double* const from = given.data() + row(i) * config.in_dim;
            for (int64_t c = 0; c < n_real; ++c) x(c, i) = static_cast<T>(from[c]);
            for (int64_t c = n_real; c < config.n_feature(); ++c)
                x(c, i) =
                    static_cast<T>(class_number(static_cast<int64_t>(from[n_real]), c - n_real));
        }
        return x;
    }

    /// Orders of the file, for all layers.
    FixedOrders orders() const {
        FixedOrders orders;
        for (int64_t l = 0; l < config.n_layers; ++l) {
            const std::string layer = "check/layers/" + std::to_string(l);
            orders.queries.push_back(order(layer + "/order_q"));
            orders.keys.push_back(order(layer + "/order_k"));
        }
        return orders;
    }

    GoldenFile file;
    Config config;
    std::shared_ptr<impl::MasterWeights> master;
    HeptPoints points;  ///< of all ranks
    HeptPlan plan;
    std::vector<int64_t> numbers;  ///< of each token on one rank, the one in the file

private:
    double class_number(int64_t kind, int64_t c) const {
        const impl::MasterWeights::Entry& entry = *master->find("pids_enc.weight");
        return static_cast<double>(
            master->values()[static_cast<size_t>(entry.first + kind * Config::class_width + c)]);
    }

    /// In the file a point comes before its copy; none of these files has two copies of a point.
    void number_tokens() {
        std::vector<int64_t> sources;  // of the file's tokens
        if (file.has("check/tokens/src")) {
            sources = file.integers("check/tokens/src");
        } else {
            for (int64_t i = 0; i < points.n(); ++i) sources.push_back(i);
        }
        for (int64_t t = 0; t < tokens().n_token(); ++t) {
            const bool is_copy = t >= tokens().n_point();
            const int64_t point =
                is_copy ? tokens().copied()[static_cast<size_t>(t - tokens().n_point())] : t;
            auto found = std::ranges::find(sources, row(point));
            if (is_copy) found = std::find(found + 1, sources.end(), row(point));
            numbers.push_back(found - sources.begin());
        }
    }

    /// Keys of zeros come last, and are no tokens here.
    std::vector<int32_t> order(const std::string& name) const {
        const std::vector<int64_t> stored = file.integers(name);
        std::vector<int32_t> token(stored.size());
        for (size_t t = 0; t < numbers.size(); ++t)
            token[static_cast<size_t>(numbers[t])] = static_cast<int32_t>(t);
        const int64_t n = std::ssize(stored) / config.n_row();
        std::vector<int32_t> list;
        for (int64_t r = 0; r < config.n_row(); ++r)
            for (int64_t i = 0; i < tokens().n_place(); ++i)
                list.push_back(token[static_cast<size_t>(stored[static_cast<size_t>(r * n + i)])]);
        return list;
    }
};

}  // namespace surrogate::test
