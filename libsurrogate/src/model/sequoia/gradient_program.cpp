// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/gradient_program.hpp"

#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/sequoia/gradient.hpp"
#include "libsurrogate/src/model/sequoia/point_program.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tiles;

namespace {

template <class T>
class HostGradientProgram final : public PointProgram<T, GradientProgram> {
    using Shared = PointProgram<T, GradientProgram>;

public:
    HostGradientProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, domain, request),
          back_(domain, request.queue, is_at_leaves() ? config.num_classes : 0, n_back()),
          outside_(request.queue.n_thread(), config.num_classes),
          network_(config, layers, request.queue, request.saves_less) {}

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }
    void set_dropout(std::optional<DropoutDraw> draw) override { network_.set_dropout(draw); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = on_all_ranks(this->comm_, back_.begin(alive) && gather_back(doutputs));
        if (alive) {
            if (is_at_leaves()) back_.ports.deliver();
            go_back(!dinputs.empty(), sums);
        } else {
            sums.poison();
        }
        if (!dinputs.empty()) scatter_back(dinputs, alive);
        return alive;
    }

    bool differentiates_coordinates() const override { return true; }
    bool leaves_out_weights() const override { return true; }

    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(
            std::string("gradients: the nodes before each layer ") +
            (network_.layer().saves_less() ? "" : "and queries, keys and values ") +
            "are stored, all other values are recomputed; the backward pass of a layer sends " +
            std::to_string(n_gather() * network_.layer().bytes_sent()) + " bytes in " +
            std::to_string(n_gather()) + " collectives");
        return list;
    }

private:
    bool is_at_leaves() const { return place_of(this->config_) == Place::leaves; }
    /// Returns the number of channels whose gradients are returned to the solver.
    int64_t n_back() const { return Embedding<T>::n_real(this->config_); }
    int64_t n_gather() const {
        return this->comm_.size() == 1 ? 0 : LayerGradient<T>::n_gather(this->config_, this->tree_);
    }

    /// Gathers the gradients of the outputs. Returns true if all are finite.
    bool gather_back(std::span<const Column> doutputs) {
        if (is_at_leaves()) return back_.gather(doutputs);
        return impl::gather<T>(doutputs, 0, network_.n_row(), drows_.data(),
                               this->config_.num_classes, 1, outside_.of(0))
                   .column < 0;
    }

    void go_back(bool wants_inputs, GradientSums& sums) {
        const Tiles<T> dreal = n_back() > 0 && wants_inputs
                                   ? this->leaf_tiles(back_.ports.output(0), n_back())
                                   : Tiles<T>{};
        const Tiles<T> dleaves = this->leaf_tiles(back_.ports.input(0), this->config_.num_classes);
        network_.backward(this->comm_, this->inputs(),
                          {dleaves, is_at_leaves() ? nullptr : drows_.data()}, sums, dreal);
    }

    /// Scatters the gradients of the inputs.
    void scatter_back(std::span<const Column> dinputs, bool alive) {
        if (n_back() == 0) return fill_nan(dinputs, this->domain_.n_local());
        back_.scatter(dinputs, alive);
    }

    void compute(const LeafInputs<T>& inputs, const Tiles<T>& leaves) override {
        network_.forward(this->comm_, inputs, {leaves, nullptr});
    }
    const Readout<T>& readout() const override { return network_.readout(); }
    int64_t network_bytes() const override {
        return back_.bytes() + drows_.bytes() + network_.bytes();
    }
    int lowest_cut() const override {
        return block_level(this->domain_.n_global(), this->config_.k);
    }
    void reorder(RowRoute route) override {
        back_.follow(this->comm_, route);
        Shared::reorder(std::move(route));
    }
    void allocate() override {
        Shared::allocate();
        back_.allocate();
        network_.resize(this->tree_);
        drows_.resize(is_at_leaves() ? 0 : network_.n_row() * this->config_.num_classes);
    }

    BackwardPorts<T> back_;
    OutsideCounts outside_;  // for nodes and clouds, which have no range
    NetworkGradient<T> network_;
    kernels::Buffer<T> drows_;  // (n_row, num_classes), nodes and clouds only
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

}  // namespace surrogate::impl::sequoia
