// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/sequence_program.hpp"

#include "libsurrogate/src/model/family/backward_ports.hpp"
#include "libsurrogate/src/model/flare/gradient_passes.hpp"
#include "libsurrogate/src/model/flare/token_program.hpp"

namespace surrogate::impl::flare {

namespace {

template <class T>
class SequenceHostProgram final : public TokenProgram<T, GradientProgram> {
    using Shared = TokenProgram<T, GradientProgram>;

public:
    SequenceHostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, layers, domain, request,
                 request.saves_less ? Keeps::streams : Keeps::everything),
          back_(domain, request.queue, this->is_by_token() ? config.out_dim : 0, 0),
          outside_(request.queue.n_thread(), config.out_dim),
          backward_(config, layers, this->comm_, request.queue, request.reproducible, this->ports_,
                    back_.ports, this->passes_,
                    {&this->tokens_, this->is_by_token() ? nullptr : &this->readout_}) {
        this->tokens_.set_dropout(&dropout_);
        this->readout_.set_dropout(&dropout_);
    }

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }
    void set_dropout(std::optional<DropoutDraw> draw) override { dropout_.set(draw); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = back_.begin(alive) && gather_back(doutputs);
        if (this->is_by_token()) back_.ports.deliver();
        const bool is_finite = backward_.run(alive, false, sums);
        fill_nan(dinputs, this->domain_.n_local());  // words have no gradients
        return is_finite;
    }

    std::vector<int> weight_stages() const override { return backward_.stages(); }

    int64_t bytes() const override { return Shared::bytes() + back_.bytes() + backward_.bytes(); }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(backward_note(backward_, this->passes_));
        return list;
    }

private:
    /// Returns whether they are finite.
    bool gather_back(std::span<const Column> doutputs) {
        if (this->is_by_token()) return back_.gather(doutputs);
        return impl::gather<T>(doutputs, 0, 1, backward_.dlogits(), this->config_.out_dim, 1,
                               outside_.of(0))
                   .column < 0;
    }
    void reorder(RowRoute route) override {
        back_.follow(this->comm_, route);
        Shared::reorder(std::move(route));
    }
    void allocate(std::span<const int64_t> begins) override {
        Shared::allocate(begins);
        back_.allocate();
        backward_.allocate(this->n_tile_global());
    }

    Dropout dropout_;
    BackwardPorts<T> back_;
    OutsideCounts outside_;  // of gradients of one prediction, which have no range
    GradientPasses<T> backward_;
};

}  // namespace

template <class T>
std::unique_ptr<Program> make_sequence_program(const Config& config, const Layers<T>& layers,
                                               const PointDomain& domain,
                                               const PlanRequest& request) {
    return std::make_unique<TokenProgram<T, Program>>(config, layers, domain, request,
                                                      Keeps::nothing);
}

template <class T>
std::unique_ptr<GradientProgram> make_sequence_gradient_program(const Config& config,
                                                                const Layers<T>& layers,
                                                                const PointDomain& domain,
                                                                const PlanRequest& request) {
    return std::make_unique<SequenceHostProgram<T>>(config, layers, domain, request);
}

#define SURROGATE_SEQUENCE_PROGRAMS(T)                                            \
    template std::unique_ptr<Program> make_sequence_program(                      \
        const Config&, const Layers<T>&, const PointDomain&, const PlanRequest&); \
    template std::unique_ptr<GradientProgram> make_sequence_gradient_program(     \
        const Config&, const Layers<T>&, const PointDomain&, const PlanRequest&);
SURROGATE_SEQUENCE_PROGRAMS(float)
SURROGATE_SEQUENCE_PROGRAMS(double)
#undef SURROGATE_SEQUENCE_PROGRAMS

}  // namespace surrogate::impl::flare
