// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl {

/// A network on a domain, ready to run. Owns all workspace; `run` allocates nothing.
class Execution {
public:
    struct Result {
        BadValue bad_input;       ///< a local input that is not finite
        BadValue bad_output;      ///< a local prediction that is not, although all sums were
        bool is_finite = true;    ///< false: some rank's sums were not, and all outputs are NaN
        bool is_pending = false;  ///< only enqueued: collect() reports the rest
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

    /// Returns null unless the plan was made with option gradients.
    virtual GradientProgram* gradients() { return nullptr; }

    /// Updates the program for points that have moved; see Program::follow. Collective, with
    /// agreement.
    virtual bool follow() { return false; }

    /// Runs one evaluation. Collective, without agreement. Columns are in the order of the ports,
    /// channel by channel. run: number of the run, counted from 0 over all calls.
    /// If the bool argument is true, this rank's arguments are bad; the rank computes nothing,
    /// takes part in all exchanges and sends NaN.
    virtual Result run(int64_t run, std::span<const Column> inputs, std::span<const Column> outputs,
                       bool poisoned) = 0;

    /// Replaces the ranges of inputs by the ranges of these columns, after the card has changed.
    /// Local.
    virtual void set_ranges(std::span<const Column>) {}

    /// Returns the inputs outside their columns' ranges (columns) of the last run whose end the
    /// host has seen.
    virtual std::span<const Outside> outside() const = 0;

    /// Throws not_supported if a run cannot write these columns, although each of them is fine.
    /// Local.
    virtual void require_usable(std::span<const Column>) const {}

    /// Runs are to be enqueued on a stream of the caller's. Local; throws not_supported.
    virtual void set_stream(kernels::Stream stream);

    /// Returns the result of enqueued runs, and which of them has it: the earliest that is not
    /// good, if any. `wait`: on the host until all are done; otherwise nothing is reported before.
    /// Local.
    struct Late {
        int64_t run = 0;  ///< as given to run()
        Result result;
    };
    virtual std::optional<Late> collect(bool) { return {}; }
    /// Traffic of the last run, if the communicator's own counters do not contain it.
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };
    virtual std::optional<Traffic> traffic() const { return {}; }

    /// Runs that may be enqueued before the next one waits for them.
    static constexpr int64_t max_pending = 64;

    virtual int64_t workspace_bytes() const = 0;
    virtual int64_t n_point() const = 0;          ///< points this rank computes
    virtual int64_t n_node() const { return 0; }  ///< see Program::n_node
    virtual std::vector<LayerCost> costs() const = 0;
    virtual std::vector<std::string> notes() const = 0;
};

/// Makes the network on the request's domains: its program on the host, or its passes on the
/// device. Collective; local failures are agreed on. Throws not_supported, shape, no_memory,
/// device.
std::unique_ptr<Execution> make_execution(const Network& network, const PlanRequest& request);

}  // namespace surrogate::impl
