// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/gradient_program.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "libsurrogate/src/model/family/backward_ports.hpp"
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
          back_(domain, request.queue, config.n_out(), config.coords_dim + config.in_dim),
          network_(config, layers, request.queue, request.saves_less) {}

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }
    void set_dropout(std::optional<DropoutDraw> draw) override { network_.set_dropout(draw); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = on_all_ranks(this->comm_, back_.begin(alive) && back_.gather(doutputs));
        if (alive) {
            back_.ports.deliver();
            go_back(!dinputs.empty(), sums);
        } else {
            sums.poison();
        }
        if (!dinputs.empty()) back_.scatter(dinputs, alive);
        return alive;
    }

    bool differentiates_coordinates() const override { return true; }
    bool is_class(int64_t channel) const override {
        return this->config_.is_pileup && channel + 1 == this->config_.in_dim;
    }
    bool leaves_out_weights() const override { return true; }

    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(
            std::string("gradients: the tokens before each layer ") +
            (network_.layer().saves_less() ? "" : "and the sums of attention ") +
            "are stored, all other values are recomputed; the backward pass of a layer sends " +
            std::to_string(network_.layer().bytes_sent()) + " bytes in " +
            std::to_string(network_.layer().messages()) + " messages");
        return list;
    }

private:
    void go_back(bool wants_inputs, GradientSums& sums) {
        const Config& config = this->config_;
        if (config.is_pileup) sigmoid_backward();
        const bool needs_features = wants_inputs || config.is_pileup;
        network_.backward(this->comm_, x_, tiles(back_.ports.input(0), config.n_out()), sums,
                          {needs_features ? gradient(dfeatures_, config.n_feature()) : Tiles<T>{},
                           wants_inputs ? gradient(dcoordinates_, config.coords_dim) : Tiles<T>{}});
        if (config.is_pileup && sums.is_wanted()) classes_backward(sums);
        if (wants_inputs) write_inputs();
    }

    Tiles<T> tiles(Tile<T> first, int64_t n_channel) const {
        return {first.data, n_channel, this->n_point()};
    }
    Tiles<T> gradient(kernels::Buffer<T>& buffer, int64_t n_channel) const {
        return {buffer.data(), n_channel, this->n_point()};
    }

    /// Converts the gradient of s = sigmoid(u) to the gradient of u, in place.
    void sigmoid_backward() {
        for (int64_t tile = 0; tile < back_.ports.n_tile(); ++tile) {
            const Tile<T> dy = back_.ports.input(tile), y = this->ports_.output(tile);
            for (int64_t p = 0; p < dy.shape[1]; ++p) dy(0, p) *= y(0, p) * (1 - y(0, p));
        }
    }

    /// Adds the gradients of the embeddings of classes from the gradient of the features.
    void classes_backward(GradientSums& sums) {
        const MasterWeights& master = this->layers_.weights.master();
        const Tiles<const T> from = gradient(dfeatures_, this->config_.n_feature());
        network_.chunks().run(
            this->request_.queue, master, sums,
            {range_of(master, "pids_enc.weight", "pids_enc.weight")},
            [&](Range points, int thread, const Gradients& gradients) {
                if (points.begin >= this->n_point()) return;  // copies
                int64_t rows[tile_points];
                for (int64_t i = points.begin; i < points.end; ++i)
                    rows[i - points.begin] = this->class_of(i);
                const Tile<T> some = load<T>(from, points, pieces_[static_cast<size_t>(thread)]);
                kernels::embed_rows_backward<T>(
                    this->request_.queue, rows,
                    kernels::channels(some, this->config_.in_dim - 1, Config::class_width),
                    gradients.at("pids_enc.weight"));
            });
    }

    /// Writes the gradients of coordinates and features to their port. A class has no gradient.
    void write_inputs() {
        const int64_t n_axis = this->config_.coords_dim, n_in = this->config_.in_dim;
        const int64_t n_plain = this->config_.is_pileup ? n_in - 1 : n_in;
        const Tiles<T> dx = gradient(dfeatures_, this->config_.n_feature());
        const Tiles<T> dcoordinates = gradient(dcoordinates_, n_axis);
        this->request_.queue.parallel_for(back_.ports.n_tile(), [&](int64_t tile, int) {
            const Tile<T> to = back_.ports.output(tile);
            std::copy_n(dcoordinates.tile(tile).data, n_axis * tile_points, to.data);
            std::copy_n(dx.tile(tile).data, n_plain * tile_points, &to(n_axis, 0));
            if (n_plain < n_in)
                std::fill_n(&to(n_axis + n_plain, 0), to.shape[1],
                            std::numeric_limits<T>::quiet_NaN());
        });
    }

    bool compute(const Tiles<const T>& x, const Tiles<T>& y) override {
        x_ = x;
        return network_.forward(this->comm_, x, y);
    }
    void set_coordinates(const Tiles<const T>& coordinates) override {
        network_.set_coordinates(this->comm_, coordinates);
    }
    const TokenExchange<T>& exchange() const override { return network_.exchange(); }
    int64_t network_bytes() const override {
        int64_t n_byte = back_.bytes() + dfeatures_.bytes() + dcoordinates_.bytes();
        for (const kernels::Buffer<T>& piece : pieces_) n_byte += piece.bytes();
        return n_byte + network_.bytes();
    }
    void reorder(RowRoute route) override {
        back_.follow(this->comm_, route);
        Shared::reorder(std::move(route));
    }
    void allocate() override {
        Shared::allocate();
        back_.allocate();
        network_.resize(this->comm_, this->plan_);
        resize_tiles(dfeatures_, back_.ports.n_tile(), this->config_.n_feature());
        resize_tiles(dcoordinates_, back_.ports.n_tile(), this->config_.coords_dim);
        pieces_.resize(
            this->config_.is_pileup ? static_cast<size_t>(this->request_.queue.n_thread()) : 0);
        for (kernels::Buffer<T>& piece : pieces_)
            piece.resize(this->config_.n_feature() * tile_points);
    }

    BackwardPorts<T> back_;
    NetworkGradient<T> network_;
    Tiles<const T> x_;                             // input of the last evaluation
    kernels::Buffer<T> dfeatures_, dcoordinates_;  // (n_tile, n_feature or D, tile_points)
    std::vector<kernels::Buffer<T>> pieces_;       // (n_thread): (n_feature), pile-up only
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

}  // namespace surrogate::impl::hept
