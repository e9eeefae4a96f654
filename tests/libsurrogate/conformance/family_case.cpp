// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/conformance/family_case.hpp"

#include <ostream>

namespace surrogate::test {

namespace {

/// The list is made at the first call: initializers run before main() in any order.
std::vector<const FamilyCase& (*)()>& makers() {
    static std::vector<const FamilyCase& (*)()> list;
    return list;
}

}  // namespace

bool add_family(const FamilyCase& (*make)()) {
    makers().push_back(make);
    return true;
}

const std::vector<const FamilyCase*>& family_cases() {
    static const std::vector<const FamilyCase*> cases = [] {
        std::vector<const FamilyCase*> list;
        for (const auto make : makers()) list.push_back(&make());
        return list;
    }();
    return cases;
}

std::vector<Tested> tested_networks(bool (*is_wanted)(const NetworkCase&)) {
    std::vector<Tested> list;
    for (const FamilyCase* family : family_cases()) {
        for (const NetworkCase& network : family->networks)
            if (is_wanted(network)) list.push_back({family, &network});
    }
    return list;
}

std::ostream& operator<<(std::ostream& stream, const Tested& tested) {
    return stream << tested.name();
}

}  // namespace surrogate::test
