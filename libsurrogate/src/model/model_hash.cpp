// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/model_hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {

namespace {

/// Hashes pieces one after the other, each with its length, so that none can end elsewhere.
class Hash {
public:
    Hash() { XXH3_64bits_reset(&state_); }
    void add(const void* data, size_t n_byte) {
        const uint64_t length = n_byte;
        XXH3_64bits_update(&state_, &length, sizeof length);
        XXH3_64bits_update(&state_, data, n_byte);
    }
    uint64_t digest() const { return XXH3_64bits_digest(&state_); }

private:
    XXH3_state_t state_;
};

std::string canonical(std::string_view card) {
    JsonTree tree(parse_json(card, "card"));
    erase_key(tree.root(), "checksums");
    return dump_json(*tree);
}

}  // namespace

uint64_t model_hash(std::string_view card, const MasterWeights& weights) {
    std::vector<const MasterWeights::Entry*> entries;
    for (const MasterWeights::Entry& entry : weights.entries()) entries.push_back(&entry);
    std::ranges::sort(entries, {}, [](const auto* entry) { return entry->name; });
    Hash hash;
    const std::string text = canonical(card);
    hash.add(text.data(), text.size());
    for (const MasterWeights::Entry* entry : entries) {
        hash.add(entry->name.data(), entry->name.size());
        hash.add(entry->shape.data(), entry->shape.size() * sizeof(int64_t));
        hash.add(weights.values().data() + entry->first,
                 static_cast<size_t>(entry->size) * sizeof(float));
    }
    return hash.digest();
}

}  // namespace surrogate::impl
