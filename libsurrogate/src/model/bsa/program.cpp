// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/program.hpp"

#include "libsurrogate/src/model/bsa/costs.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::bsa {

namespace {

template <class T>
class HostProgram final : public Program {
public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request, const ChoiceHook& hook)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          reproducible_(request.reproducible),
          coordinates_(request.coordinates),
          hook_(hook),
          ports_(domain, request.queue, n_given(), config.n_output),
          plan_(config, domain, request.queue),
          forward_(config, layers, request.queue, comm_, ports_, plan_, request.reproducible,
                   hook_) {}

    void connect() override {
        PointPorts<T>* const ports[] = {&ports_};
        plan_.build(coordinates_, reproducible_, ports);
        comm_.agree([&] {
            ports_.allocate();
            forward_.resize();
        });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        const int first = static_cast<int>(config_.n_axis);  // the plan has the coordinates
        return ports_.gather(inputs.subspan(static_cast<size_t>(first)), outside, first);
    }

    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        if (n_given() > 0) ports_.deliver();
        forward_.embed();
        for (int64_t layer = 0; layer < config_.depth; ++layer) {
            if (!forward_.run_layer(layer)) return false;
        }
        forward_.head();
        return true;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override { return ports_.bytes() + plan_.bytes() + forward_.bytes(); }
    int64_t n_point() const override { return plan_.n_point(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    int64_t n_given() const { return config_.features == Features::given ? config_.n_feature : 0; }
    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    bool reproducible_;
    std::span<const Column> coordinates_;
    ChoiceHook hook_;
    PointPorts<T> ports_;
    TreePlan<T> plan_;
    Forward<T> forward_;
};

template <class T>
std::vector<LayerCost> HostProgram<T>::costs() const {
    Work work;
    work.n_point = n_point();
    work.n_solver = domain_.n_local();
    work.n_slot = plan_.shape().n_local();
    work.n_slot_global = plan_.shape().n_slot;
    work.ball = plan_.shape().ball;
    work.n_choice = forward_.n_choice();
    work.value_bytes = sizeof(T);
    work.n_given = n_given();
    work.move_bytes = plan_.move_bytes(config_.n_channel);
    work.moves = comm_.size() > 1 ? 1 : 0;
    if (config_.is_sparse()) {
        work.coarse_bytes = forward_.coarse().bytes_sent(comm_.rank());
        for (const auto& traffic : forward_.fetched())
            work.fetches.push_back({traffic.bytes, traffic.collectives});
    }
    if (!config_.has_balls())
        work.ring = {forward_.ring().bytes_sent(), forward_.ring().collectives()};
    return costs_of(config_, work);
}

template <class T>
std::vector<std::string> HostProgram<T>::notes() const {
    return notes_of(config_, plan_.slots().n_point(), plan_.slots().n_slot(), comm_.size(),
                    reproducible_);
}

}  // namespace

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request,
                                      const ChoiceHook& hook) {
    return std::make_unique<HostProgram<T>>(config, layers, domain, request, hook);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&,
                                               const ChoiceHook&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&,
                                               const ChoiceHook&);

}  // namespace surrogate::impl::bsa
