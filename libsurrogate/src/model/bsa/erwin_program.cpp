// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_program.hpp"

#include "libsurrogate/src/model/bsa/erwin_host_program.hpp"

namespace surrogate::impl::bsa::erwin {

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request) {
    return std::make_unique<HostProgram<T, Program>>(config, layers, domain, request);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::bsa::erwin
