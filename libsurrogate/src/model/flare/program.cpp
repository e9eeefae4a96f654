// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/program.hpp"

#include "libsurrogate/src/model/flare/cloud_program.hpp"
#include "libsurrogate/src/model/flare/point_program.hpp"

namespace surrogate::impl::flare {

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request) {
    if (domain.n_cloud() > 1) return make_cloud_program(config, layers, domain, request);
    return std::make_unique<PointProgram<T, Program>>(config, layers, domain, request,
                                                      Keeps::nothing);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::flare
