// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/program.hpp"

#include "libsurrogate/src/model/bsa/point_program.hpp"

namespace surrogate::impl::bsa {

namespace {

template <class T>
class HostProgram final : public PointProgram<T, Program> {
public:
    using PointProgram<T, Program>::PointProgram;

    bool follow() override {
        this->connect();
        return true;
    }

private:
    bool compute() override {
        this->forward_.embed();
        for (int64_t layer = 0; layer < this->config_.depth; ++layer) {
            if (!this->forward_.run_layer(layer)) return false;
        }
        this->forward_.head();
        return true;
    }
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

}  // namespace surrogate::impl::bsa
