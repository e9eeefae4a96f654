// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/family/clouds_program.hpp"

#include <algorithm>

#include "libsurrogate/src/model/family/clouds_program_base.hpp"

namespace surrogate::impl {

bool runs_by_cloud(const Network& network) {
    if (network.domain_kind().is_sphere) return false;
    const std::vector<Port> inputs = network.inputs(), outputs = network.outputs();
    const auto is_read = [](const Port& port) {
        return port.kind == NumberKind::real && !port.is_optional &&
               (port.place == PortPlace::input_points || port.place == PortPlace::coordinates);
    };
    const auto is_written = [&](const Port& port) {
        return port.place == outputs.front().place && port.place != PortPlace::nodes;
    };
    return std::ranges::all_of(inputs, is_read) && std::ranges::all_of(outputs, is_written);
}

void require_runs_by_cloud(const Network& network, const PlanRequest& request) {
    if (runs_by_cloud(network)) return;
    throw Error(Status::not_supported,
                "the domain has " + std::to_string(request.input.n_cloud()) +
                    " clouds, and this network has inputs or outputs that are not real numbers at "
                    "points; make a domain and a plan of each cloud");
}

std::unique_ptr<Program> make_clouds_program(const Network& network, const PlanRequest& request) {
    require_runs_by_cloud(network, request);
    if (request.is_double())
        return std::make_unique<CloudsProgram<double, Program>>(network, request);
    return std::make_unique<CloudsProgram<float, Program>>(network, request);
}

}  // namespace surrogate::impl
