// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/file/model_file_mutator.hpp"

#include <algorithm>

namespace surrogate::test {

Mutator::Mutator(const ModelWriter& model, uint64_t seed)
    : random_(seed), header_(model.header_text()), sound_(model.bytes()) {
    data_ = sound_.substr(8 + header_.size());
    tree_ = Json::parse(header_);
    card_ = Json::parse(model.card_text());
}

std::string Mutator::next() {
    switch (below(8)) {
        case 0:
        case 1: return raw_bytes();
        case 2:
        case 3: return header_text();
        case 4:
        case 5: return header_tree();
        case 6: return card_tree();
        default: return below(2) ? length_field() : data_size();
    }
}

std::string Mutator::raw_bytes() {
    std::string bytes = sound_;
    damage_bytes(bytes);
    return bytes;
}

/// Damage inside the header, its length kept true: what raw bytes seldom reach.
std::string Mutator::header_text() {
    std::string text = header_;
    damage_bytes(text);
    return safetensors_bytes(text, data_);
}

std::string Mutator::header_tree() {
    Json tree = tree_;
    for (uint64_t i = 0; i <= below(3); ++i) damage_tree(tree);
    return safetensors_bytes(tree.dump(-1, ' ', false, Json::error_handler_t::replace), data_);
}

/// Another card with another checksum is a sound file of another model. So the checksum stays that
/// of the sound card.
std::string Mutator::card_tree() {
    Json card = card_;
    for (uint64_t i = 0; i <= below(3); ++i) damage_tree(card);
    Json tree = tree_;
    tree["__metadata__"]["surrogate.card"] =
        card.dump(-1, ' ', false, Json::error_handler_t::replace);
    return safetensors_bytes(tree.dump(), data_);
}

std::string Mutator::length_field() {
    static const std::vector<uint64_t> lengths{0,
                                               1,
                                               2,
                                               8,
                                               1u << 24,
                                               (1u << 24) + 1,
                                               uint64_t{1} << 31,
                                               uint64_t{1} << 32,
                                               uint64_t{1} << 63,
                                               ~uint64_t{0},
                                               ~uint64_t{7},
                                               ~uint64_t{8}};
    const uint64_t length = below(2) ? pick(lengths) : header_.size() + below(64) - 32;
    std::string bytes = sound_;
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
    return bytes;
}

std::string Mutator::data_size() {
    std::string bytes = sound_;
    bytes.resize(below(2) ? below(bytes.size() + 1) : bytes.size() + below(100), '\0');
    return bytes;
}

void Mutator::damage_bytes(std::string& bytes) {
    static const std::vector<std::string> tokens{"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 "\"",
                                                 ",",
                                                 ":",
                                                 "0",
                                                 "-",
                                                 "1e9",
                                                 "\\u0000",
                                                 "\\",
                                                 "null",
                                                 "\"shape\":[0],",
                                                 "18446744073709551615",
                                                 "\xff",
                                                 "\xc0\x80",
                                                 " "};
    for (uint64_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) {
        const size_t at = below(bytes.size());
        const size_t count = 1 + below(below(8) ? 4 : 64);
        switch (below(7)) {
            case 0:
            case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
            case 2: bytes[at] = static_cast<char>(below(256)); break;
            case 3: bytes.erase(at, count); break;
            case 4: bytes.insert(at, pick(tokens)); break;
            case 5: bytes.insert(at, bytes.substr(below(bytes.size()), count)); break;
            default: std::swap(bytes[at], bytes[below(bytes.size())]); break;
        }
    }
}

std::vector<Mutator::Json*> Mutator::nodes(Json& tree) const {
    std::vector<Json*> all{&tree};
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i]->is_structured())
            for (Json& child : *all[i]) all.push_back(&child);
    return all;
}

void Mutator::damage_tree(Json& tree) {
    const std::vector<Json*> all = nodes(tree);
    Json& node = *pick(all);
    switch (below(6)) {
        case 0: node = value(); break;
        case 1: {
            const Json other = *pick(all);
            node = other;
            break;
        }
        case 2: rename_key(node); break;
        case 3:
            if (node.is_array()) node.push_back(value());
            if (node.is_object()) node[std::string(below(3), 'k')] = value();
            break;
        case 4:
            if (node.is_array() && !node.empty()) node.erase(below(node.size()));
            break;
        default:
            if (node.is_number_unsigned()) node = node.get<uint64_t>() + below(9) - 4;
            if (node.is_string()) {
                std::string text = node;
                damage_bytes(text);
                node = text;
            }
    }
}

void Mutator::rename_key(Json& object) {
    if (!object.is_object() || object.empty()) return;
    auto member = object.begin();
    std::advance(member, static_cast<int64_t>(below(object.size())));
    std::string key = member.key();
    const Json content = member.value();
    if (below(2)) object.erase(member);
    damage_bytes(key);
    object[key] = content;
}

Mutator::Json Mutator::value() {
    static const std::vector<Json> values{nullptr,
                                          true,
                                          0,
                                          1,
                                          -1,
                                          2.0,
                                          1e300,
                                          281474976710656,
                                          281474976710657,
                                          uint64_t{1} << 63,
                                          ~uint64_t{0},
                                          4294967296,
                                          "",
                                          "F32",
                                          "F64",
                                          "F16",
                                          "BF16",
                                          "U8",
                                          std::string(300, 'x'),
                                          Json::array(),
                                          Json::object(),
                                          Json::array({0, 0}),
                                          Json::parse("[[[[[[[[[0]]]]]]]]]")};
    return pick(values);
}

}  // namespace surrogate::test
