// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/same_plan.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <string>

#include "libsurrogate/src/context/option_mark.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

namespace {

/// Facts of a plan that must be equal on all ranks.
enum : size_t {
    of_options,
    of_model,
    of_input,         // points on all ranks
    of_input_clouds,  // their number
    of_input_moves,   // the domain's revision
    of_output,
    of_output_clouds,
    of_output_moves,
    n_fact
};

/// The maximum of each fact over the ranks, then of its complement.
class Facts {
public:
    void set(size_t fact, int64_t value) {
        values_[fact] = value;
        values_[n_fact + fact] = ~value;
    }
    void reduce(Communicator& comm) { comm.all_reduce_max(std::span(values_)); }
    int64_t least(size_t fact) const { return ~values_[n_fact + fact]; }
    int64_t most(size_t fact) const { return values_[fact]; }
    bool differ(size_t fact) const { return least(fact) != most(fact); }

private:
    std::array<int64_t, 2 * n_fact> values_{};
};

/// A model in a message that another rank sends: plain bytes.
struct ModelName {
    uint64_t hash = 0;
    char family[64] = "";

    explicit ModelName(const Model& model) : hash(model.hash()) {
        std::snprintf(family, sizeof family, "%s", model.card().family.c_str());
    }
    std::string text() const {
        char digits[20];
        std::snprintf(digits, sizeof digits, "%016" PRIx64, hash);
        return "'" + printable(family) + "' with hash " + digits;
    }
};

/// Throws on all ranks; the first rank whose model differs from the model of rank 0 provides the
/// text. Collective.
void refuse_models(Communicator& comm, const Model& model) {
    const ModelName own(model);  // the hash is known already: no memory is taken
    ModelName first = own;
    comm.broadcast(&first, sizeof first, 0);
    comm.agree([&] {
        if (own.hash == first.hash) return;
        throw Error(Status::invalid_argument, "the model is " + own.text() + ", on rank 0 it is " +
                                                  first.text() +
                                                  "; create the plan from the same model on all "
                                                  "ranks");
    });
}

void require_same_domain(const Facts& facts, const char* which, size_t points) {
    if (facts.differ(points)) {
        throw Error(Status::invalid_argument,
                    "ranks give " + std::string(which) + " domains of " +
                        std::to_string(facts.least(points)) + " .. " +
                        std::to_string(facts.most(points)) +
                        " points in all; create the plan from the same domain on all ranks");
    }
    if (facts.differ(points + 1) || facts.differ(points + 2)) {
        throw Error(Status::invalid_argument,
                    "ranks give " + std::string(which) +
                        " domains that differ in their clouds or moves; create the plan from the "
                        "same domain on all ranks");
    }
}

}  // namespace

void require_same_plan(const Options& options, const Model& model, const Domain& input,
                       const Domain& output) {
    Communicator& comm = model.context().comm();
    Facts facts;
    comm.agree([&] {
        facts.set(of_options, exchange_mark(options));
        facts.set(of_model, static_cast<int64_t>(model.hash()));
        facts.set(of_input, input.n_global());
        facts.set(of_input_clouds, input.n_cloud());
        facts.set(of_input_moves, input.revision());
        facts.set(of_output, output.n_global());
        facts.set(of_output_clouds, output.n_cloud());
        facts.set(of_output_moves, output.revision());
    });
    facts.reduce(comm);
    if (facts.differ(of_model)) refuse_models(comm, model);
    comm.agree([&] {
        if (facts.differ(of_options)) throw Error(Status::invalid_argument, different_options());
        require_same_domain(facts, "input", of_input);
        require_same_domain(facts, "output", of_output);
    });
}

}  // namespace surrogate::impl
