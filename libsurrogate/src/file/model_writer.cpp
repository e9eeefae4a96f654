// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/model_writer.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {
namespace {

/// Members of the metadata for a card of these tensors.
std::map<std::string, std::string> metadata_of(const std::string& card,
                                               std::span<const WrittenTensor> tensors) {
    JsonTree tree(parse_json(card, "card"));
    const auto checksums = tree.root().find("checksums");
    if (checksums == tree.root().end()) return {{card_key, card}};
    *checksums = nlohmann::json::object();
    for (const WrittenTensor& tensor : tensors)
        (*checksums)[tensor.entry.name] = checksum_text(tensor.data);
    const std::string renewed = dump_json(*tree);
    return {{card_key, renewed},
            {card_checksum_key, checksum_text(std::as_bytes(std::span(renewed)))}};
}

}  // namespace

void save_model_file(const FileLayer& files, const std::string& path, const std::string& card,
                     std::span<const WrittenTensor> tensors) {
    std::vector<TensorEntry> entries;
    for (const WrittenTensor& tensor : tensors) entries.push_back(tensor.entry);
    const std::string header = safetensors_header(metadata_of(card, tensors), entries);
    const std::unique_ptr<NewFile> file = files.create(path);
    file->write(header.data(), std::ssize(header));
    for (const WrittenTensor& tensor : tensors)
        file->write(tensor.data.data(), std::ssize(tensor.data));
    file->commit();
}

}  // namespace surrogate::impl
