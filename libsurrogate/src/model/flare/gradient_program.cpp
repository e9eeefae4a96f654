// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_program.hpp"

#include <string>

#include "libsurrogate/src/model/flare/gradient_passes.hpp"
#include "libsurrogate/src/model/flare/point_program.hpp"

namespace surrogate::impl::flare {

namespace {

void require_gradients(const Config& config) {
    const char* const missing = config.is_sequence()           ? "sequences (ModelWrapper)"
                                : config.num_latent_blocks > 0 ? "models with latent blocks"
                                                               : nullptr;
    if (!missing) return;
    throw Error(Status::not_supported,
                std::string("option 'gradients': gradients of FLARE are not built for ") + missing +
                    "; FLAREModel, and BigFLAREModel without latent blocks, can be trained");
}

template <class T>
class HostProgram final : public PointProgram<T, GradientProgram> {
    using Shared = PointProgram<T, GradientProgram>;

public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : Shared(config, layers, domain, request,
                 request.saves_less ? Keeps::streams : Keeps::everything),
          back_(domain, request.queue, config.out_dim, config.in_dim),
          outside_(request.queue.n_thread(), config.out_dim),
          backward_(config, layers, this->comm(), request.queue, request.reproducible, this->ports_,
                    back_, this->passes_) {}

    bool evaluate(bool alive) override {
        has_run_ = true;
        return Shared::evaluate(alive);
    }

    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override {
        if (!has_run_)
            throw Error(Status::internal, "FLARE: one backward for each evaluation, found another");
        has_run_ = false;
        if (alive) alive = back_.gather(doutputs, outside_).column < 0;
        back_.deliver();
        const bool wants_inputs = !dinputs.empty();
        const bool is_finite = backward_.run(alive, wants_inputs, sums);
        if (wants_inputs) back_.scatter(dinputs, alive && is_finite);
        return is_finite;
    }

    int64_t bytes() const override {
        return Shared::bytes() + back_.bytes() + outside_.bytes() + backward_.bytes();
    }
    std::vector<std::string> notes() const override {
        std::vector<std::string> list = Shared::notes();
        list.push_back("gradients: going back sends " + std::to_string(backward_.bytes_sent()) +
                       " bytes in " + std::to_string(backward_.collectives()) +
                       " collectives between blocks; a run keeps " +
                       std::to_string(this->passes_.kept_bytes()) + " bytes of its blocks");
        return list;
    }

private:
    void reorder(RowRoute route) override {
        std::optional<RowRoute> again;
        this->comm().agree([&] { again.emplace(route); });
        back_.reorder(std::move(*again));
        Shared::reorder(std::move(route));
    }
    void allocate() override {
        has_run_ = false;
        Shared::allocate();
        back_.allocate();
        backward_.allocate(this->n_chunk_global());
    }

    PointPorts<T> back_;     // of gradients
    OutsideCounts outside_;  // of doutputs, which have no range
    GradientPasses<T> backward_;
    bool has_run_ = false;  // evaluated since the last backward
};

}  // namespace

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request) {
    require_gradients(config);
    return std::make_unique<HostProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<GradientProgram> make_gradient_program(const Config&, const Layers<float>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);
template std::unique_ptr<GradientProgram> make_gradient_program(const Config&,
                                                                const Layers<double>&,
                                                                const PointDomain&,
                                                                const PlanRequest&);

}  // namespace surrogate::impl::flare
