// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/program.hpp"

#include "libsurrogate/src/model/hept/forward.hpp"
#include "libsurrogate/src/model/hept/point_program.hpp"

namespace surrogate::impl::hept {

using kernels::Tiles;

namespace {

template <class T>
class HostProgram final : public PointProgram<T, Program> {
    using Shared = PointProgram<T, Program>;

public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : Shared(config, layers, domain, request), forward_(config, layers, request.queue) {}

private:
    bool compute(const Tiles<const T>& x, const Tiles<T>& y) override {
        return forward_.run(this->comm_, x, y);
    }
    void set_coordinates(const Tiles<const T>& coordinates) override {
        forward_.set_coordinates(this->comm_, coordinates);
    }
    const TokenExchange<T>& exchange() const override { return forward_.exchange(); }
    int64_t network_bytes() const override { return forward_.bytes(); }
    void allocate() override {
        Shared::allocate();
        forward_.resize(this->comm_, this->plan_);
    }

    Forward<T> forward_;
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

}  // namespace surrogate::impl::hept
