// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/family/point_network.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {

const PointDomain& same_points(const PlanRequest& request, const char* family) {
    const auto* points = dynamic_cast<const PointDomain*>(&request.input);
    if (!points) {
        throw Error(
            Status::not_supported,
            std::string(family) + " works on scattered points, the domain is a grid on the sphere");
    }
    if (&request.input != &request.output) {
        throw Error(
            Status::not_supported,
            std::string(family) +
                " predicts at the points of its inputs: the output domain differs from the input "
                "domain, expected the same; pass NULL as output domain");
    }
    return *points;
}

void require_no_conventions(const Card& card, const char* family) {
    if (card.conventions->empty()) return;
    throw Error(Status::bad_file, std::string("card: ") + family + " has no conventions, found " +
                                      printable(dump_json(*card.conventions), 60));
}

void require_few_tensors(int64_t n_tensor, int64_t n_found) {
    if (n_tensor <= 2 * n_found + 100) return;
    throw Error(Status::bad_file, "card: the network has " + std::to_string(n_tensor) +
                                      " tensors, the file holds " + std::to_string(n_found));
}

void require_words(const BadValue& bad, const char* input, int64_t n_word,
                   const PointDomain& domain) {
    if (bad.column < 0) return;
    throw Error(Status::invalid_argument,
                std::string("network input '") + input + "' is " + number_text(bad.value) + " at " +
                    domain.point_text(bad.point) + "; the vocabulary has " +
                    std::to_string(n_word) + " words, 0 .. " + std::to_string(n_word - 1));
}

}  // namespace surrogate::impl
