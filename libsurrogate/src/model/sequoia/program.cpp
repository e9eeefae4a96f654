// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/program.hpp"

#include <algorithm>

#include "libsurrogate/src/model/sequoia/layer_pass.hpp"
#include "libsurrogate/src/model/sequoia/point_program.hpp"

namespace surrogate::impl::sequoia {

namespace {

template <class T>
class HostProgram final : public PointProgram<T, Program> {
    using Shared = PointProgram<T, Program>;

public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : Shared(config, domain, request),
          embedding_(config, layers, request.queue),
          pass_(config, layers, request.queue),
          readout_(config, layers, request.queue) {}

private:
    void compute(const LeafInputs<T>& inputs, const kernels::Tiles<T>& leaves) override {
        embedding_.run(inputs, this->comm_, gather_, x_);
        for (int64_t i = 0; i < this->config_.num_layers; ++i)
            pass_.run(i, this->comm_, gather_, x_);
        readout_.run(this->comm_, x_, leaves);
    }
    const Readout<T>& readout() const override { return readout_; }
    int64_t network_bytes() const override {
        return x_.bytes() + gather_.bytes() + embedding_.bytes() + pass_.bytes() + readout_.bytes();
    }
    void allocate() override {
        Shared::allocate();
        const Config& config = this->config_;
        const Tree& tree = this->tree_;
        const int size = this->comm_.size();
        x_.resize(tree, config.dim);
        gather_.resize(tree, std::max(config.dim, config.inner_dim()), size);
        embedding_.resize(tree);
        pass_.resize(tree);
        readout_.resize(tree, size);
    }

    NodeTiles<T> x_;
    CutGather<T> gather_;
    Embedding<T> embedding_;
    LayerPass<T> pass_;
    Readout<T> readout_;
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

}  // namespace surrogate::impl::sequoia
