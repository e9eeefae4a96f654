// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/model_bytes.hpp"

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>

#include "coupling/tool/job.hpp"
#include "coupling/tool/output.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
constexpr const char* metadata = "__metadata__";

}  // namespace

ModelBytes ModelBytes::read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string bytes = text.str();
    const Failure failure(Exit::bad_usage, "cannot read model file '" + one_line(path) + "'");
    uint64_t n = 0;
    if (!file || bytes.size() < sizeof n) throw failure;
    std::memcpy(&n, bytes.data(), sizeof n);
    if (n > bytes.size() - sizeof n) throw failure;
    ModelBytes model;
    model.header_ = json::parse(bytes.substr(sizeof n, n), nullptr, false);
    if (!model.header_.is_object() || !model.header_.contains(metadata)) throw failure;
    model.data_ = bytes.substr(sizeof n + n);
    return model;
}

void ModelBytes::set_card(const std::string& card) {
    header_[metadata]["surrogate.card"] = card;
    header_[metadata].erase("surrogate.card_checksum");
}

json ModelBytes::card() const {
    return json::parse(header_.at(metadata).at("surrogate.card").get<std::string>());
}

/// The remaining tensors move together: files have no gaps.
void ModelBytes::remove_check_case() {
    json header = {{metadata, header_.at(metadata)}};
    header[metadata].erase("surrogate.check");
    std::string data;
    for (const auto& [name, entry] : header_.items()) {
        if (name == metadata || name.starts_with("check/")) continue;
        const auto begin = entry.at("data_offsets").at(0).get<size_t>();
        const auto end = entry.at("data_offsets").at(1).get<size_t>();
        header[name] = entry;
        header[name]["data_offsets"] = {data.size(), data.size() + end - begin};
        data += data_.substr(begin, end - begin);
    }
    header_ = std::move(header);
    data_ = std::move(data);
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
