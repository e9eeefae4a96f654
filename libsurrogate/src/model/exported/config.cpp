// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/exported/config.hpp"

#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"

namespace surrogate::impl::exported {

namespace {

constexpr int64_t max_width = 1 << 20;
constexpr int64_t max_row = int64_t{1} << 40;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Status::bad_file, "card: network." + text);
}

void require_key(Hyperparameters& read, const char* key, const char* expected) {
    if (!read.has(key)) refuse(std::string(key) + " is missing, expected " + expected);
}

}  // namespace

Config parse_config(const nlohmann::json& network) {
    Hyperparameters read(network, "an exported PyTorch network");
    Config c;
    require_key(read, "package", "the name of a .pt2 file beside the model file");
    require_key(read, "package_checksum", "XXH3-64 of the package as 16 hex digits");
    require_key(read, "per", "point or cloud");
    require_key(read, "in_dim", "the channels of an input row");
    require_key(read, "out_dim", "the channels of an output row");
    c.package.name = read.text("package", "");
    require_plain_name(c.package.name, "card: network.package");
    c.package.checksum =
        parse_checksum(read.text("package_checksum", ""), "card: network.package_checksum");
    c.is_per_cloud = read.choice("per", {"point", "cloud"}, 0) == 1;
    c.in_dim = read.integer("in_dim", 1, max_width, 0);
    c.out_dim = read.integer("out_dim", 1, max_width, 0);
    c.is_double = read.choice("dtype", {"float32", "float64"}, 0) == 1;
    c.has_batch_axis = read.boolean("batch_axis", false);
    c.min_points = read.integer("min_points", 1, max_row, 1);
    c.max_points = read.integer("max_points", 1, max_row, max_row);
    read.refuse_unknown();
    if (c.min_points > c.max_points) {
        refuse("min_points is " + std::to_string(c.min_points) +
               ", expected at most max_points = " + std::to_string(c.max_points));
    }
    return c;
}

}  // namespace surrogate::impl::exported
