// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/card.hpp"
#include "libsurrogate/src/model/domain.hpp"
#include "libsurrogate/src/model/fields.hpp"
#include "libsurrogate/src/model/model_file.hpp"

/// What a model family is to the rest of the library. A family adds one implementation of Network
/// and Execution, and one line to the table in network.cpp.
namespace surrogate::impl {

/// A tensor the bare network takes or gives: [n_point, n_channel].
struct Port {
    std::string name;
    int64_t n_channel = 0;
};

/// What a plan asks of a network.
struct PlanRequest {
    const PointDomain& input;
    const PointDomain& output;
    kernels::Queue queue;
    bool fp64 = false;
    bool reproducible = false;
};

/// One line of surrogate_plan_describe: what a layer costs this rank and run.
struct LayerCost {
    std::string name;
    double flops = 0;
    double exponentials = 0;
    int64_t bytes_sent = 0;
    int64_t collectives = 0;
};

/// A network on a domain, ready to run. Owns all workspace; `run` allocates nothing.
class Execution {
public:
    struct Result {
        BadValue bad_input;     ///< a local input that is not finite
        BadValue bad_output;    ///< a local prediction that is not, although all sums were
        bool is_finite = true;  ///< false: some rank's sums were not, and all outputs are NaN
    };

    virtual ~Execution() = default;

    /// Collective, without agreement. Columns stand in the order of the ports, channel by channel.
    /// poisoned: this rank's arguments are bad. It then computes nothing, takes part in all
    /// exchanges and sends NaN.
    virtual Result run(std::span<const Column> inputs, std::span<const Column> outputs,
                       bool poisoned) = 0;

    virtual int64_t workspace_bytes() const = 0;
    virtual int64_t n_point() const = 0;  ///< points this rank computes
    virtual std::vector<LayerCost> costs() const = 0;
};

/// Architecture and weights; immutable.
class Network {
public:
    virtual ~Network() = default;
    virtual std::vector<Port> inputs() const = 0;
    virtual std::vector<Port> outputs() const = 0;
    virtual int64_t n_parameter() const = 0;

    /// Collective. Throws not_supported, shape, no_memory; local failures are agreed on.
    virtual std::unique_ptr<Execution> plan(const PlanRequest& request) const = 0;
};

/// A tensor that an architecture needs.
struct TensorSpec {
    std::string name;
    std::vector<int64_t> shape;
};

/// Names and shapes of all weights a card asks for. Throws bad_file (hyperparameters),
/// not_supported (family). n_found: tensors in the file; a card that asks for far more is refused
/// before the list takes memory.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// Throws bad_file unless the file's tensors outside of check/ are exactly `required`: names with
/// near misses, shapes.
void match_tensors(std::span<const TensorSpec> required, std::span<const TensorEntry> found);

/// The network of a loaded file whose tensors matched. Takes the weights over.
std::unique_ptr<Network> make_network(ModelFile file);

}  // namespace surrogate::impl
