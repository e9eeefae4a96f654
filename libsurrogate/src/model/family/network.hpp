// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/grid/grid.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/family/program.hpp"

/// The interfaces of this folder are what a model family is to the rest of the library. A family
/// implements Network and Program (GradientProgram if it can be trained, DeviceProgram if it has
/// device code), and adds one line to the table in model/families.cpp.
namespace surrogate::impl {

/// Meaning of the rows of a tensor:
///   input_points, output_points   the points of one of the plan's domains
///   clouds        the clouds of the input domain, of which every rank has all: read-outs
///   nodes         what the network makes of the points (Program::n_node); every rank has all
///   coordinates   the points of the input domain, and the tensor is their positions. The plan
///                 reads it from the domain when it is made and when points move; runs are not
///                 given it. There is at most one such port, the first input; its channels are the
///                 axes.
enum class PortPlace { input_points, output_points, clouds, nodes, coordinates };

/// A tensor the bare network takes or gives: [n, n_channel]. Only inputs are integers.
struct Port {
    std::string name;
    int64_t n_channel = 0;
    PortPlace place = PortPlace::input_points;
    NumberKind kind = NumberKind::real;
    bool is_optional = false;  ///< runs may leave it out: its columns then have no data
};

/// Counts the channels of all ports, which are the columns of a run.
inline int64_t n_channel_of(std::span<const Port> ports) {
    int64_t n = 0;
    for (const Port& port : ports) n += port.n_channel;
    return n;
}

/// Counts the channels of the port of coordinates, which comes first; 0: there is none.
inline int64_t n_coordinate_of(std::span<const Port> inputs) {
    if (inputs.empty() || inputs.front().place != PortPlace::coordinates) return 0;
    return inputs.front().n_channel;
}

using kernels::Grid;

/// Which domains a network works on: grids on the sphere, or points if there are none.
struct DomainKind {
    bool is_sphere = false;
    Grid input, output;
    bool keeps_clouds =
        false;  ///< programs take several clouds, whose points do not see each other
};

/// Architecture and weights; immutable.
class Network {
public:
    virtual ~Network() = default;
    virtual std::vector<Port> inputs() const = 0;
    virtual std::vector<Port> outputs() const = 0;
    virtual DomainKind domain_kind() const { return {}; }
    /// Returns true if the only output is a probability, not a logit.
    virtual bool returns_probability() const { return false; }

    /// Returns true if inputs other than coordinates decide what a point attends to, so that
    /// predictions jump where such a choice changes.
    virtual bool chooses_by_values() const { return false; }

    /// Returns the relative accuracy of the official run in double precision, to which fp64 is
    /// checked.
    virtual double truth_accuracy() const { return 1e-10; }

    /// Returns the rates above 0 that the card sets for training; predictions do not use them.
    virtual std::vector<DropoutRate> dropout_rates() const { return {}; }

    /// Returns true if the program of this request takes several clouds. Otherwise
    /// make_clouds_program() runs one program for each.
    virtual bool keeps_clouds(const PlanRequest&) const { return domain_kind().keeps_clouds; }

    /// Makes the program on the host. Local; throws not_supported, shape, no_memory. The network
    /// outlives it.
    virtual std::unique_ptr<Program> program(const PlanRequest& request) const = 0;

    /// Makes the forward and backward pass on the host. Local; throws as program(). The network
    /// outlives it. By default: throws not_supported, the family cannot be trained.
    virtual std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const;

    /// Makes the program on the request's device. Local; throws the same and device. The network
    /// outlives it. By default: throws not_supported, the family has no device code.
    virtual std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const;

    /// Makes the forward and backward pass on the request's device, for numbers of the host. Local;
    /// throws as device_program(). The network outlives it. By default: throws not_supported, the
    /// family is trained on the host only.
    ///
    /// An error of one rank's device is thrown by evaluate() once all its exchanges are over; one
    /// in backward() turns the sums into NaN, and the next evaluation throws it.
    virtual std::unique_ptr<GradientProgram> device_gradient_program(
        const PlanRequest& request) const;
};

}  // namespace surrogate::impl
