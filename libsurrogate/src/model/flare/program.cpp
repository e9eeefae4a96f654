// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/program.hpp"

#include "libsurrogate/src/model/flare/passes.hpp"

namespace surrogate::impl::flare {

namespace {

using kernels::flare::chunk_points;

template <class T>
class HostProgram final : public Program {
public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : config_(config),
          domain_(domain),
          reproducible_(request.reproducible),
          ports_(domain, request.queue, config.in_dim, config.out_dim),
          passes_(config, layers, domain.context().comm(), request.queue, request.reproducible,
                  ports_) {}

    void connect() override {
        if (reproducible_) ports_.reorder(chunk_points);
        domain_.context().comm().agree([&] {
            ports_.allocate();
            passes_.allocate(chunk_points / kernels::tile_points,
                             (domain_.n_global() + chunk_points - 1) / chunk_points);
        });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return ports_.gather(inputs, outside);
    }
    bool evaluate(bool alive) override {
        ports_.deliver();
        return passes_.run(alive);
    }
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override { return ports_.bytes() + passes_.bytes(); }
    int64_t n_point() const override { return ports_.n_point(); }
    std::vector<LayerCost> costs() const override {
        Work work{n_point(), domain_.n_local(), ports_.is_reordered(),
                  config_.in_dim * static_cast<int64_t>(sizeof(T)),
                  config_.out_dim * static_cast<int64_t>(sizeof(T))};
        passes_.describe(work);
        return costs_of(config_, work);
    }
    std::vector<std::string> notes() const override {
        if (!reproducible_) return {};
        return {
            "reproducible: inputs and outputs move to canonical order and back; sums are exact"};
    }

private:
    const Config& config_;
    const PointDomain& domain_;
    bool reproducible_;
    PointPorts<T> ports_;
    Passes<T> passes_;
};

}  // namespace

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request) {
    return std::make_unique<HostProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::flare
