// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/model_bytes.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/read_text.hpp"
#include "coupling/job/text_hash.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
constexpr const char* metadata = "__metadata__";
constexpr const char* card_key = "surrogate.card";

/// Checks that the bytes of a tensor are inside the file.
bool has_frame(const json& entry, size_t n_byte) {
    if (!entry.is_object() || !entry.contains("data_offsets")) return false;
    const json& range = entry["data_offsets"];
    if (!range.is_array() || range.size() != 2) return false;
    for (const json& end : range)
        if (!end.is_number_unsigned()) return false;
    return range[0].get<size_t>() <= range[1].get<size_t>() && range[1].get<size_t>() <= n_byte;
}

template <class Stored, class Widen>
std::vector<double> numbers(std::string_view bytes, const Widen& widen) {
    std::vector<double> values(bytes.size() / sizeof(Stored));
    for (size_t i = 0; i < values.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
        values[i] = widen(stored);
    }
    return values;
}

double from_bfloat(uint16_t bits) {
    return std::bit_cast<float>(uint32_t{bits} << 16);
}

double from_half(uint16_t bits) {
    const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const double size = exponent == 0    ? std::ldexp(fraction, -24)
                        : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                         : std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace

ModelBytes ModelBytes::read(const std::string& path) {
    const std::string bytes = read_text(path).value_or("");
    const Failure failure(Exit::bad_usage, "cannot read model file '" + one_line(path) + "'");
    uint64_t n = 0;
    if (bytes.size() < sizeof n) throw failure;
    std::memcpy(&n, bytes.data(), sizeof n);
    if (n > bytes.size() - sizeof n) throw failure;
    ModelBytes model;
    model.header_ = json::parse(bytes.substr(sizeof n, n), nullptr, false);
    if (!model.header_.is_object()) throw failure;
    model.data_ = bytes.substr(sizeof n + n);
    for (const auto& [name, entry] : model.header_.items())
        if (name != metadata && !has_frame(entry, model.data_.size())) throw failure;
    json& about = model.header_[metadata];
    if (about.is_null()) about = json::object();
    if (!about.is_object()) throw failure;
    return model;
}

bool ModelBytes::has_card() const {
    const json& about = header_.at(metadata);
    return about.contains(card_key) && about[card_key].is_string();
}

bool ModelBytes::has_check_case() const {
    for (const auto& [name, entry] : header_.items())
        if (name.starts_with("check/output")) return true;
    return false;
}

void ModelBytes::add_checksums() {
    json sums = json::object();
    for (const auto& [name, entry] : header_.items()) {
        if (name == metadata) continue;
        sums[name] = text_hash(bytes_of(entry));
    }
    json with = card();
    with["checksums"] = std::move(sums);
    const std::string text = with.dump();
    header_[metadata][card_key] = text;
    header_[metadata]["surrogate.card_checksum"] = text_hash(text);
}

void ModelBytes::set_card(const std::string& card) {
    header_[metadata][card_key] = card;
    header_[metadata].erase("surrogate.card_checksum");
}

json ModelBytes::card() const {
    if (!has_card()) throw Failure(Exit::bad_usage, "the file has no card");
    json card = json::parse(header_.at(metadata).at(card_key).get<std::string>(), nullptr, false);
    if (!card.is_object())
        throw Failure(Exit::bad_usage, "the card of the file is not a JSON object");
    return card;
}

void ModelBytes::remove_check_case() {
    header_[metadata].erase("surrogate.check");
    rename([](const std::string& name) { return name.starts_with("check/") ? "" : name; });
}

/// Renames tensors. The remaining tensors are moved together, because files have no gaps.
void ModelBytes::rename(const std::function<std::string(const std::string& name)>& new_name) {
    json header = {{metadata, header_.at(metadata)}};
    std::string data;
    for (const auto& [old_name, entry] : header_.items()) {
        if (old_name == metadata) continue;
        const std::string name = new_name(old_name);
        if (name.empty()) continue;
        const std::string_view tensor = bytes_of(entry);
        header[name] = entry;
        header[name]["data_offsets"] = {data.size(), data.size() + tensor.size()};
        data += tensor;
    }
    header_ = std::move(header);
    data_ = std::move(data);
}

std::string_view ModelBytes::bytes_of(const json& entry) const {
    const auto begin = entry.at("data_offsets").at(0).get<size_t>();
    const auto end = entry.at("data_offsets").at(1).get<size_t>();
    return std::string_view(data_).substr(begin, end - begin);
}

bool ModelBytes::has(const std::string& name) const {
    return name != metadata && header_.contains(name);
}

std::vector<double> ModelBytes::values(const std::string& name) const {
    if (!has(name))
        throw Failure(Exit::bad_usage, "the file has no tensor '" + one_line(name) + "'");
    const json& entry = header_.at(name);
    const auto type = entry.at("dtype").get<std::string>();
    const std::string_view bytes = bytes_of(entry);
    if (type == "F32") return numbers<float>(bytes, [](float value) { return double(value); });
    if (type == "F64")
        return numbers<double>(bytes, [](double value) { return double(float(value)); });
    if (type == "BF16") return numbers<uint16_t>(bytes, from_bfloat);
    if (type == "F16") return numbers<uint16_t>(bytes, from_half);
    throw Failure(Exit::bad_usage, "tensor '" + one_line(name) + "' is of type " + one_line(type));
}

void ModelBytes::add(const std::string& name, const std::string& type,
                     const std::vector<int64_t>& shape, const void* data, size_t n_byte) {
    header_[name] = {
        {"dtype", type}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + n_byte}}};
    data_.append(static_cast<const char*>(data), n_byte);
}

std::string ModelBytes::bytes() const {
    std::string text = header_.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
    const uint64_t n = text.size();
    std::string length(sizeof n, '\0');
    std::memcpy(length.data(), &n, sizeof n);
    return length + text + data_;
}

}  // namespace surrogate::tool
