// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <utility>
#include <vector>

namespace surrogate::test {

/// The points of a domain that one rank owns, and their indices in the solver's memory.
struct Share {
    std::vector<int64_t> points =
        {};  ///< numbers of the points in the whole, in the library's order
    std::vector<int64_t> places = {};  ///< of each point in memory: 0 .. n_place - 1
    int64_t n_place = 0;
    int64_t first = 0;  ///< the place that an array's data pointer means
    /// Collective over the context.
    std::function<surrogate_status(surrogate_context*, surrogate_domain**)> create = {};
    /// As messages name the i-th point of the rank.
    std::function<std::string(size_t)> name_of = {};

    int64_t n() const { return std::ssize(points); }
};

using OptionList = std::vector<std::pair<std::string, std::string>>;

/// A way to run that a family offers.
struct Mode {
    std::string name;
    OptionList options;
    /// Largest difference between numbers of one rank and of many, relative to the largest number.
    /// 0: bitwise identical, also for any number of threads and any vector level.
    double tolerance;
};

/// A model file of the family.
struct NetworkCase {
    std::string name;
    /// Returns the path of the file, which exists as long as a copy of the pointer exists.
    std::function<std::shared_ptr<const std::string>()> file = {};
    bool has_fields = false;  ///< its card names fields
    /// Small enough for laws that make hundreds of plans, and with an input of real numbers at
    /// points and outputs there. The others obey the laws on numbers.
    bool is_small = false;
    bool is_divided = false;  ///< enough points for the work of three threads
    /// The bytes that it sends depend on the data: the table of a plan says the most there can be,
    /// and after a run what that run has sent.
    bool sends_by_data = false;
    int64_t n_point = 0;  ///< if the model does not say on how many points it works
    /// So many allocations of a plan fail one by one, then ever fewer: each costs a planning.
    int64_t n_failing_in_turn = 12;
    /// Allocations of one rank's plan that shrink_to_fit does without.
    int n_trim = 0;
};

/// A file with check/input/<port> and check/output64/<port>, of which the first sample is compared.
struct Golden {
    std::string name, path;
    double tolerance;  ///< of precision fp64, relative to the norm
};

/// A plan that cannot be made.
struct RefusedPlan {
    std::string name;
    std::string network;  ///< of the family's, by name
    OptionList options;
    /// Makes the domains; an output domain left null is the input domain. Collective.
    std::function<surrogate_status(surrogate_context*, surrogate_domain** input,
                                   surrogate_domain** output)>
        domains;
    surrogate_status status;
    std::string says;
};

/// A family as the laws of this folder see it. A new family writes <family>_case.cpp with a
/// function that returns one, and adds it.
struct FamilyCase {
    std::string name;
    std::vector<NetworkCase> networks = {};
    std::vector<Mode> modes = {};
    /// Names of partitions: "uneven" leaves rank 0 without points, "first", "middle" and "last" all
    /// ranks but one.
    std::vector<std::string> partitions = {};
    /// The share of a rank. `domain` is what the model says of its domain; `n_point` counts the
    /// points if it says nothing.
    Share (*share)(const surrogate_domain_info& domain, int64_t n_point,
                   const std::string& partition, int rank, int size) = nullptr;
    bool has_output_domain = false;  ///< plans take two domains
    /// Tensors of check cases are (samples, channels, points ..), otherwise (samples, points,
    /// channels).
    bool is_channels_first = false;
    std::vector<Golden> goldens = {};
    std::vector<RefusedPlan> refused_plans = {};
};

/// Puts a family on the list. Called before main().
bool add_family(const FamilyCase& (*make)());

/// A network and its family: the parameter of the laws.
struct Tested {
    const FamilyCase* family;
    const NetworkCase* network;

    std::string name() const { return family->name + network->name; }
};

/// Networks of all families for which `is_wanted` holds.
std::vector<Tested> tested_networks(bool (*is_wanted)(const NetworkCase&));

inline bool is_any(const NetworkCase&) {
    return true;
}
inline bool is_small(const NetworkCase& network) {
    return network.is_small;
}
inline bool is_divided(const NetworkCase& network) {
    return network.is_divided;
}

const std::vector<const FamilyCase*>& family_cases();

inline Options options_of(const OptionList& list, const OptionList& more = {}) {
    Options options;
    for (const auto& [key, value] : list) options.set(key, value);
    for (const auto& [key, value] : more) options.set(key, value);
    return options;
}

/// For names of tests.
inline const auto name_of_tested = [](const auto& tested) { return tested.param.name(); };

std::ostream& operator<<(std::ostream& stream, const Tested& tested);

}  // namespace surrogate::test
