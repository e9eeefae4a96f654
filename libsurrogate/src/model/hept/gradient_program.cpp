// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/gradient_program.hpp"

#include <limits>

#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/hept/gradient.hpp"
#include "libsurrogate/src/model/hept/point_program.hpp"

namespace surrogate::impl::hept {

using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

namespace {

template <class T>
class HostGradientProgram final : public PointProgram<T, GradientProgram> {
    using Shared = PointProgram<T, GradientProgram>;

public:
    HostGradientProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, layers, domain, request),
          back_(domain, request.queue, config.n_out(), config.in_dim),
          network_(config, layers, request.queue) {}

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }
    void set_dropout(std::optional<DropoutDraw> draw) override { network_.set_dropout(draw); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = back_.begin(alive) && back_.gather(doutputs);
        if (alive) {
            back_.ports.deliver();
            go_back(!dinputs.empty(), sums);
        } else {
            sums.poison();
        }
        if (!dinputs.empty()) back_.ports.scatter(dinputs, alive);
        return alive;
    }

    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(
            "gradients: the tokens before each layer are stored, all other values are recomputed; "
            "sums of weight gradients have a fixed order");
        return list;
    }

private:
    void go_back(bool wants_inputs, GradientSums& sums) {
        const Gradients gradients(this->layers_.weights.master(), sums.open(0));
        if (this->config_.is_pileup) sigmoid_backward();
        const Tiles<T> dx = !this->config_.is_pileup
                                ? Tiles<T>{wants_inputs ? back_.ports.output(0).data : nullptr,
                                           this->config_.in_dim, this->n_point()}
                                : dfeatures();
        network_.backward(x_, tiles(back_.ports.input(0), this->config_.n_out()), gradients,
                          {dx, {}});
        if (this->config_.is_pileup) classes_backward(gradients.at("pids_enc.weight"));
        sums.close(0);
    }

    Tiles<T> tiles(Tile<T> first, int64_t n_channel) const {
        return {first.data, n_channel, this->n_point()};
    }
    /// Returns the gradient of the features, (n_feature, n_point), pile-up only.
    Tiles<T> dfeatures() { return {dfeatures_.data(), this->config_.n_feature(), this->n_point()}; }

    /// Converts the gradient of s = sigmoid(u) to the gradient of u, in place.
    void sigmoid_backward() {
        for (int64_t tile = 0; tile < back_.ports.n_tile(); ++tile) {
            const Tile<T> dy = back_.ports.input(tile), y = this->ports_.output(tile);
            for (int64_t p = 0; p < dy.shape[1]; ++p) dy(0, p) *= y(0, p) * (1 - y(0, p));
        }
    }

    /// Computes the gradients of the embeddings of classes and of the solver's columns from the
    /// gradient of the features.
    void classes_backward(double* drows) {
        const int64_t n_plain = this->config_.in_dim - 1;
        int64_t rows[tile_points];
        for (int64_t tile = 0; tile < back_.ports.n_tile(); ++tile) {
            const Tile<T> from = dfeatures().tile(tile), to = back_.ports.output(tile);
            this->classes(tile, rows);
            kernels::embed_rows_backward<T>(this->request_.queue, rows,
                                            kernels::channels(from, n_plain, Config::class_width),
                                            drows);
            std::copy_n(from.data, n_plain * tile_points, to.data);
            std::fill_n(&to(n_plain, 0), to.shape[1], std::numeric_limits<T>::quiet_NaN());
        }
    }

    bool compute(const Tiles<const T>& x, const Tiles<T>& y) override {
        x_ = x;
        return network_.forward(x, y);
    }
    void set_coordinates(const Tiles<const T>& coordinates) override {
        network_.set_coordinates(coordinates);
    }
    const TokenExchange<T>& exchange() const override { return network_.exchange(); }
    int64_t network_bytes() const override {
        return back_.bytes() + dfeatures_.bytes() + network_.bytes();
    }
    void reorder(RowRoute route) override {
        back_.follow(this->comm_, route);
        Shared::reorder(std::move(route));
    }
    void allocate() override {
        Shared::allocate();
        back_.allocate();
        network_.resize(this->plan_);
        if (this->config_.is_pileup)
            resize_tiles(dfeatures_, back_.ports.n_tile(), this->config_.n_feature());
    }

    BackwardPorts<T> back_;
    NetworkGradient<T> network_;
    Tiles<const T> x_;              // input of the last evaluation
    kernels::Buffer<T> dfeatures_;  // (n_tile, n_feature, tile_points), pile-up only
};

}  // namespace

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request) {
    require_one_rank(domain, "HEPT");
    return std::make_unique<HostGradientProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<GradientProgram> make_gradient_program(const Config&, const Layers<float>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);
template std::unique_ptr<GradientProgram> make_gradient_program(const Config&,
                                                                const Layers<double>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);

}  // namespace surrogate::impl::hept
