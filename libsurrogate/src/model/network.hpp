// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/queue.hpp"
#include "kernels/grid/grid.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/file/model_file.hpp"

/// What a model family is to the rest of the library. A family adds one implementation of Network
/// and Execution, and one line to the table in network.cpp.
namespace surrogate::impl {

/// A tensor the bare network takes or gives: [n_point, n_channel], on the points of one of the
/// plan's domains.
struct Port {
    std::string name;
    int64_t n_channel = 0;
    bool is_on_output_domain = false;
};

using kernels::Grid;

/// Which domains a network works on: grids on the sphere, or points if there are none.
struct DomainKind {
    bool is_sphere = false;
    Grid input, output;
};

/// What a plan asks of a network.
struct PlanRequest {
    const Domain& input;
    const Domain& output;
    kernels::Queue queue;
    bool fp64 = false;
    bool reproducible = false;
    DeviceContext* device = nullptr;  ///< backend cuda; `queue` then does the host's part
    std::string precision = "fp32";
    std::span<const Column> inputs = {};  ///< of runs by the card; those that are constant are set
    bool stops_at_range = false;  ///< values outside make a run one that collect() must tell of
};

/// One line of surrogate_plan_describe: what a layer costs this rank and run.
struct LayerCost {
    std::string name;
    double flops = 0;
    double exponentials = 0;
    int64_t bytes_sent = 0;
    int64_t collectives = 0;
    int64_t messages = 0;  ///< to neighbors
};

/// A network on a domain, ready to run. Owns all workspace; `run` allocates nothing.
class Execution {
public:
    struct Result {
        BadValue bad_input;       ///< a local input that is not finite
        BadValue bad_output;      ///< a local prediction that is not, although all sums were
        bool is_finite = true;    ///< false: some rank's sums were not, and all outputs are NaN
        bool is_pending = false;  ///< only enqueued: collect() tells the rest
        int outside_column = -1;  ///< the first input with values outside its range, and they
        Outside outside;

        void set_outside(std::span<const Outside> columns) {
            for (size_t c = 0; c < columns.size() && outside_column < 0; ++c) {
                if (columns[c].n == 0) continue;
                outside_column = static_cast<int>(c);
                outside = columns[c];
            }
        }
        bool is_good() const { return bad_input.column < 0 && bad_output.column < 0 && is_finite; }
    };

    virtual ~Execution() = default;

    /// Collective, without agreement. Columns stand in the order of the ports, channel by channel.
    /// poisoned: this rank's arguments are bad. It then computes nothing, takes part in all
    /// exchanges and sends NaN.
    virtual Result run(std::span<const Column> inputs, std::span<const Column> outputs,
                       bool poisoned) = 0;

    /// Inputs outside their columns' ranges (columns): of the last run whose end the host has seen.
    virtual std::span<const Outside> outside() const = 0;

    /// Throws not_supported if a run cannot write these columns, although each of them is fine.
    /// Local.
    virtual void require_usable(std::span<const Column>) const {}

    /// Runs are to be enqueued on a stream of the caller's. Local; throws not_supported.
    virtual void set_stream(kernels::Stream stream);

    /// What runs that were only enqueued have found, and which of them: the earliest that is not
    /// good, if any. `wait`: on the host until all are done; otherwise nothing is told before.
    /// Local.
    struct Late {
        int64_t run = 0;  ///< counted from 0 over all calls of run()
        Result result;
    };
    virtual std::optional<Late> collect(bool) { return {}; }
    /// What the last run handed to other ranks, where the communicator's own counters do not tell.
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };
    virtual std::optional<Traffic> traffic() const { return {}; }

    /// Runs that may be enqueued before the next one waits for them.
    static constexpr int64_t max_pending = 64;

    virtual int64_t workspace_bytes() const = 0;
    virtual int64_t n_point() const = 0;  ///< points this rank computes
    virtual std::vector<LayerCost> costs() const = 0;

    /// What else the table of the plan should say, one line each: how rows were dealt, what the
    /// reproducible mode does.
    virtual std::vector<std::string> notes() const = 0;
};

/// Architecture and weights; immutable.
class Network {
public:
    virtual ~Network() = default;
    virtual std::vector<Port> inputs() const = 0;
    virtual std::vector<Port> outputs() const = 0;
    virtual DomainKind domain_kind() const { return {}; }
    virtual int64_t n_parameter() const = 0;

    /// Collective. Throws not_supported, shape, no_memory; local failures are agreed on.
    virtual std::unique_ptr<Execution> plan(const PlanRequest& request) const = 0;
};

/// A tensor that an architecture needs.
struct TensorSpec {
    std::string name;
    std::vector<int64_t> shape;
    bool is_optional = false;  ///< may be absent: the network computes it
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
