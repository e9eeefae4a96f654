// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/affine/config.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "libsurrogate/src/file/bad_file.hpp"
#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl::affine {

namespace {

using nlohmann::json;

std::string key_text(const std::string& key) {
    return "card key 'network." + key + "'";
}

/// Appends the numbers of a list. n < 0: any number from 1.
void read_row(const json& list, const std::string& key, int64_t n, std::vector<double>& numbers) {
    const std::string where = key_text(key);
    if (!list.is_array() || list.empty())
        fail_bad_file(where + ": expected a list of numbers, found " + found_text(list));
    if (n >= 0 && std::ssize(list) != n)
        fail_bad_file(where + ": found " + std::to_string(list.size()) + " numbers, expected " +
                      std::to_string(n));
    for (const json& value : list)
        numbers.push_back(
            number_of(value, key_text(key + "[" + std::to_string(numbers.size()) + "]")));
}

void require_count(int64_t n, const std::vector<FieldCard>& fields, const char* what,
                   const char* which) {
    if (fields.empty() || std::ssize(fields) == n) return;
    fail_bad_file(key_text("matrix") + ": found " + std::to_string(n) + " " + what + ", expected " +
                  std::to_string(fields.size()) + ", one for each of the card's " + which);
}

/// From the units of the fields to normalized numbers.
void normalize(const Card& card, Config& c) {
    for (size_t o = 0; o < card.outputs.size(); ++o) {
        const FieldCard& output = card.outputs[o];
        double* const row = c.matrix.data() + static_cast<int64_t>(o) * c.n_in;
        for (size_t i = 0; i < card.inputs.size(); ++i) {
            c.offset[o] += row[i] * card.inputs[i].mean;
            row[i] *= card.inputs[i].std / output.std;
        }
        c.offset[o] = (c.offset[o] - output.mean) / output.std;
    }
}

}  // namespace

Config parse_config(const Card& card) {
    const json& network = *card.network;
    require_keys(network, "card key 'network'", {"matrix", "offset"});
    const json& rows = member(network, "matrix", "card key 'network'");
    if (!rows.is_array() || rows.empty())
        fail_bad_file(key_text("matrix") + ": expected a list of rows, one per output, found " +
                      found_text(rows));
    Config c;
    for (const json& row : rows) {
        std::vector<double> numbers;
        read_row(row, "matrix[" + std::to_string(c.n_out) + "]", c.n_out > 0 ? c.n_in : -1,
                 numbers);
        c.n_in = std::ssize(numbers);
        c.matrix.insert(c.matrix.end(), numbers.begin(), numbers.end());
        ++c.n_out;
    }
    read_row(member(network, "offset", "card key 'network'"), "offset", c.n_out, c.offset);
    require_count(c.n_out, card.outputs, "rows", "outputs");
    require_count(c.n_in, card.inputs, "columns", "inputs");
    normalize(card, c);
    return c;
}

}  // namespace surrogate::impl::affine
