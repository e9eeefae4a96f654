// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/grid/grid.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/device_program.hpp"
#include "libsurrogate/src/model/gradient_program.hpp"
#include "libsurrogate/src/model/program.hpp"

/// What a model family is to the rest of the library. A family adds one implementation of Network
/// and Program (and DeviceProgram, if it has device code), and one line to the table in network.cpp.
namespace surrogate::impl {

/// What the rows of a tensor stand for:
///   input_points, output_points   the points of one of the plan's domains
///   clouds        the clouds of the input domain, of which every rank has all: read-outs
///   nodes         what the network makes of the points (Program::n_node); every rank has all
///   coordinates   the points of the input domain, and the tensor is their positions. The plan reads
///                 it from the domain when it is made and when points move; runs are not given it.
///                 There is at most one such port, the first input; its channels are the axes.
enum class PortPlace { input_points, output_points, clouds, nodes, coordinates };

/// A tensor the bare network takes or gives: [n, n_channel]. Only inputs are integers.
struct Port {
    std::string name;
    int64_t n_channel = 0;
    PortPlace place = PortPlace::input_points;
    NumberKind kind = NumberKind::real;
    bool is_optional = false;  ///< runs may leave it out: its columns then have no data
};

/// Channels of all ports: columns of a run.
inline int64_t n_channel_of(std::span<const Port> ports) {
    int64_t n = 0;
    for (const Port& port : ports) n += port.n_channel;
    return n;
}

/// Channels of the port of coordinates, which come first; 0: there is none.
inline int64_t n_coordinate_of(std::span<const Port> inputs) {
    if (inputs.empty() || inputs.front().place != PortPlace::coordinates) return 0;
    return inputs.front().n_channel;
}

using kernels::Grid;

/// Which domains a network works on: grids on the sphere, or points if there are none.
struct DomainKind {
    bool is_sphere = false;
    Grid input, output;
    bool keeps_clouds = false;  ///< points of different clouds do not see each other
};

/// Architecture and weights; immutable.
class Network {
public:
    virtual ~Network() = default;
    virtual std::vector<Port> inputs() const = 0;
    virtual std::vector<Port> outputs() const = 0;
    virtual DomainKind domain_kind() const { return {}; }

    /// How exact the official run in double precision is, relative: what fp64 is checked to.
    virtual double truth_accuracy() const { return 1e-10; }

    /// On the host. Local; throws not_supported, shape, no_memory. The network outlives it.
    virtual std::unique_ptr<Program> program(const PlanRequest& request) const = 0;

    /// Forward and backward, on the host. Local; throws as program(). The network outlives it. A
    /// family that cannot be trained refuses.
    virtual std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const;

    /// On the request's device. Local; throws the same and device. The network outlives it. A
    /// family without device code refuses.
    virtual std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const;
};

/// A tensor that an architecture needs.
struct TensorSpec {
    std::string name;
    std::vector<int64_t> shape;
    bool is_optional = false;  ///< may be absent: the network computes it
    /// Another name that it may have in a file without this one.
    std::string other_name = {};
    bool is_fixed = false;  ///< a constant of the network: training leaves it as it is
};

/// How the numbers of a tensor begin in a network that is to be trained: mean + width times a normal
/// number, or one between -1 and 1.
struct InitialValues {
    enum class Kind { constant, normal, uniform } kind = Kind::constant;
    double mean = 0, width = 0;
};

/// As the official code of the family draws them. Throws not_supported (family, network).
InitialValues initial_values(const Card& card, const TensorSpec& tensor);

/// Names and shapes of all weights a card asks for. Throws bad_file (hyperparameters),
/// not_supported (family). n_found: tensors in the file; a card that asks for far more is refused
/// before the list takes memory.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// Gives tensors that a file has under their other names those that the network wants.
void adopt_names(std::span<const TensorSpec> required, std::vector<TensorEntry>& found);

/// Throws bad_file unless the file's tensors outside of check/ are exactly `required`: names with
/// near misses, shapes.
void match_tensors(std::span<const TensorSpec> required, std::span<const TensorEntry> found);

/// The network of a loaded file whose tensors matched and became `weights`.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl
