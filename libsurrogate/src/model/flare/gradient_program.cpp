// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_program.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/flare/gradient_passes.hpp"
#include "libsurrogate/src/model/flare/point_program.hpp"

namespace surrogate::impl::flare {

namespace {

template <class T>
class HostGradientProgram final : public PointProgram<T, GradientProgram> {
    using Shared = PointProgram<T, GradientProgram>;

public:
    HostGradientProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, layers, domain, request,
                 request.saves_less ? Keeps::streams : Keeps::everything),
          back_(domain, request.queue, config.out_dim, config.in_dim),
          backward_(config, layers, this->comm(), request.queue, request.reproducible, this->ports_,
                    back_.ports, this->passes_) {}

    void connect() override {
        if (has_dropout()) positions_ = canonical_positions(this->domain_, "dropout");
        Shared::connect();
    }
    void set_dropout(std::optional<DropoutDraw> draw) override { dropout_.set(draw); }

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = back_.begin(alive) && back_.gather(doutputs);
        back_.ports.deliver();
        const bool wants_inputs = !dinputs.empty();
        const bool is_finite = backward_.run(alive, wants_inputs, sums);
        if (wants_inputs) back_.ports.scatter(dinputs, alive && is_finite);
        return is_finite;
    }

    bool leaves_out_weights() const override { return true; }
    std::vector<int> weight_stages() const override { return backward_.stages(); }

    int64_t bytes() const override {
        return Shared::bytes() + back_.bytes() + backward_.bytes() + dropout_rows_.bytes();
    }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(backward_note(backward_, this->passes_));
        return list;
    }

private:
    bool has_dropout() const { return this->config_.physicsnemo.dropout > 0; }

    void reorder(RowRoute route) override {
        back_.follow(this->comm(), route);
        if (has_dropout()) {
            std::optional<RowRoute> copy;
            this->comm().agree([&] { copy = route; });
            RowExchange<int64_t> rows(this->comm(), std::move(*copy), 1);
            std::ranges::copy(positions_, rows.solver());
            rows.to_canonical(1);
            this->comm().agree([&] {
                positions_.assign(rows.canonical(), rows.canonical() + rows.n_canonical());
            });
        }
        Shared::reorder(std::move(route));
    }
    void allocate() override {
        Shared::allocate();
        back_.allocate();
        backward_.allocate(this->n_chunk_global());
        backward_.weigh(this->weights_.tiles());
        if (has_dropout()) allocate_dropout();
    }
    void allocate_dropout() {
        dropout_rows_.resize(kernels::round_up(std::ssize(positions_), kernels::tile_points));
        std::ranges::fill(dropout_rows_, int64_t{0});
        std::ranges::copy(positions_, dropout_rows_.begin());
        const AttentionDropout dropout{&dropout_, this->config_.physicsnemo.dropout,
                                       dropout_rows_.data()};
        this->passes_.set_dropout(dropout);
        backward_.set_dropout(dropout);
    }

    BackwardPorts<T> back_;
    GradientPasses<T> backward_;
    Dropout dropout_;
    std::vector<int64_t> positions_;         // of the program's points in canonical order
    kernels::Buffer<int64_t> dropout_rows_;  // (n_tile, tile_points), the same
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

}  // namespace surrogate::impl::flare
