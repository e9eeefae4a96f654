// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_program.hpp"

#include <string>

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

    int64_t bytes() const override { return Shared::bytes() + back_.bytes() + backward_.bytes(); }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(backward_note(backward_, this->passes_));
        return list;
    }

private:
    void reorder(RowRoute route) override {
        back_.follow(this->comm(), route);
        Shared::reorder(std::move(route));
    }
    void allocate() override {
        Shared::allocate();
        back_.allocate();
        backward_.allocate(this->n_chunk_global());
        backward_.weigh(this->weights_.tiles());
    }

    BackwardPorts<T> back_;
    GradientPasses<T> backward_;
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
