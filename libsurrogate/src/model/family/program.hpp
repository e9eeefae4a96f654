// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/domain/domain.hpp"

namespace surrogate::impl {

class DeviceContext;

/// Requirements of a plan on a network.
struct PlanRequest {
    const Domain& input;
    const Domain& output;
    kernels::Queue queue;
    std::string precision = "fp32";
    bool reproducible = false;
    bool gradients = false;   ///< Network::gradient_program() is wanted
    bool saves_less = false;  ///< gradients: what can be computed again is, though it takes longer
    DeviceContext* device = nullptr;      ///< backend cuda; `queue` then does the host's part
    std::span<const Column> inputs = {};  ///< of runs by the card; those that are constant are set
    /// Coordinates of the input points, one column per axis, if the network has a port of
    /// coordinates: normalized by the card, or unchanged with option coordinates=normalized. The
    /// plan owns the columns and updates them when points move.
    std::span<const Column> coordinates = {};
    bool stops_at_range = false;  ///< values outside make a run one that collect() must report
    bool allows_code = false;     ///< option allow_code: machine code of model files may run

    bool is_double() const { return precision == "fp64"; }
};

/// One line of surrogate_plan_describe: what a layer costs this rank and run.
struct LayerCost {
    /// Kind of a line; `name` is for display only.
    enum class Kind {
        layer,       ///< arithmetic, with what its ranks exchange for it
        error_flag,  ///< ranks agree whether all inputs are valid
        scatter      ///< rows are sent between two orderings; no arithmetic
    };
    std::string name;
    double flops = 0;
    double exponentials = 0;
    int64_t bytes_sent = 0;
    int64_t collectives = 0;
    int64_t messages = 0;  ///< to neighbors
    Kind kind = Kind::layer;
};

/// Describes an 8-byte reduction that tells ranks whether all inputs are valid.
inline LayerCost error_flag_cost(std::string name) {
    return {.name = std::move(name),
            .bytes_sent = sizeof(int64_t),
            .collectives = 1,
            .kind = LayerCost::Kind::error_flag};
}

/// Describes a scatter of rows from one ordering to another.
inline LayerCost scatter_cost(std::string name, int64_t bytes_sent, int64_t collectives) {
    return {.name = std::move(name),
            .bytes_sent = bytes_sent,
            .collectives = collectives,
            .kind = LayerCost::Kind::scatter};
}

/// Network on the domains of one plan, on the host. Families implement it, and plan/execution.hpp
/// calls it. Construction is local; connect() is collective. Does not allocate afterwards, unless
/// points move.
///
/// Ranks do not agree during a run. A rank with invalid inputs computes nothing, takes part in
/// every exchange and sends a value that the other ranks recognize: NaN in sums of floats, a flag
/// in addition to integers and maxima (share/doc/develop/communication.md).
class Program {
public:
    virtual ~Program() = default;

    /// Plans exchanges and allocates the memory that depends on them. Collective, with agreement.
    virtual void connect() = 0;

    /// Repeats connect() for points of the domains that have moved. Allocates only for more points
    /// than ever before (the reproducible mode may allocate for fewer). Returns false, on all
    /// ranks, if a new program is needed. After a failure only follow() may be called again.
    /// Collective, with agreement.
    virtual bool follow() { return false; }

    /// Reads and normalizes the columns, which are in the order of the ports, channel by channel;
    /// columns of a port of coordinates are as in PlanRequest::coordinates. Returns the first value
    /// that is not finite; counts values outside of ranges. Local.
    virtual BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) = 0;

    /// Computes predictions from inputs. alive: the inputs of this rank are valid. Returns false if
    /// this rank has learned that sums of any rank were not finite. Collective.
    virtual bool evaluate(bool alive) = 0;

    /// Writes predictions to the columns, NaN if not alive. Returns the first prediction that its
    /// column cannot hold as a finite number. Collective.
    virtual BadValue scatter(std::span<const Column> outputs, bool alive) = 0;

    virtual int64_t bytes() const = 0;            ///< of memory
    virtual int64_t n_point() const = 0;          ///< points that this rank computes
    virtual int64_t n_node() const { return 0; }  ///< rows of ports at nodes, the same on all ranks
    virtual std::vector<LayerCost> costs() const = 0;

    /// Returns further lines of the plan's table: how rows were distributed, what the
    /// reproducible mode does.
    virtual std::vector<std::string> notes() const = 0;
};

}  // namespace surrogate::impl
