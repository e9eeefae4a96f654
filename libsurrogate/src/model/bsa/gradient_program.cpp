// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/gradient_program.hpp"

#include <algorithm>
#include <optional>

#include "libsurrogate/src/model/bsa/gradient.hpp"
#include "libsurrogate/src/model/bsa/point_program.hpp"
#include "libsurrogate/src/model/family/backward_ports.hpp"

namespace surrogate::impl::bsa {

namespace {

template <class T>
class HostGradientProgram final : public PointProgram<T, GradientProgram> {
    using Shared = PointProgram<T, GradientProgram>;

public:
    HostGradientProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                        const PlanRequest& request)
        : Shared(config, layers, domain, request),
          layers_(layers),
          queue_(request.queue),
          saves_less_(request.saves_less),
          back_(domain, request.queue, config.n_output, config.n_axis + this->n_given()) {}

    bool evaluate(bool alive) override { return back_.evaluated(Shared::evaluate(alive)); }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        alive = on_all_ranks(this->comm_, back_.begin(alive) && back_.gather(doutputs));
        if (alive) {
            back_.ports.deliver();
            alive = gradient_->backward(
                sums, back_.wants_positions(this->comm_, dinputs, this->config_.n_axis, sums));
        }
        if (!alive) sums.poison();
        if (!dinputs.empty()) back_.scatter(dinputs, alive);
        return alive;
    }

    bool differentiates_coordinates() const override { return true; }
    bool leaves_out_weights() const override { return true; }

    int64_t bytes() const override {
        return Shared::bytes() + back_.bytes() + (gradient_ ? gradient_->bytes() : 0);
    }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back(std::string("gradients: x before each layer ") +
                       (gradient_->layer().stores_attention()
                            ? "and the results of attention are stored"
                            : "is stored") +
                       ", all other values are recomputed; the backward pass of a layer sends, in "
                       "addition to its exchanges, " +
                       std::to_string(gradient_->layer().bytes_sent()) + " bytes in " +
                       std::to_string(gradient_->layer().collectives()) + " collectives");
        return list;
    }

private:
    bool compute() override { return gradient_->forward(); }
    void build() override {
        PointPorts<T>* const ports[] = {&this->ports_, &back_.ports};
        this->plan_.build(this->coordinates_, this->reproducible_, ports);
    }
    void allocate() override {
        Shared::allocate();
        back_.allocate();
        gradient_.emplace(this->config_, layers_, queue_, this->comm_, this->ports_, back_.ports,
                          this->plan_, this->forward_, this->reproducible_, saves_less_);
    }

    const Layers<T>& layers_;
    kernels::Queue queue_;
    bool saves_less_;
    BackwardPorts<T> back_;
    std::optional<Gradient<T>> gradient_;
};

}  // namespace

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request) {
    if (config.is_single_layer) {
        throw Error(
            Status::not_supported,
            "option 'gradients' is not supported for a single layer of Ball Sparse Attention, only "
            "for a whole network");
    }
    return std::make_unique<HostGradientProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<GradientProgram> make_gradient_program(const Config&, const Layers<float>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);
template std::unique_ptr<GradientProgram> make_gradient_program(const Config&,
                                                                const Layers<double>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);

}  // namespace surrogate::impl::bsa
