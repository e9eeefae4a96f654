// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/checkpoint_file.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/model_file.hpp"

namespace surrogate::impl {

namespace {

constexpr const char* about_key = "surrogate.training";
constexpr const char* about_checksum_key = "surrogate.training_checksum";

/// Runs `work` unless something has failed before, and keeps what fails.
template <class Work>
void attempt(std::exception_ptr& problem, const Work& work) {
    if (problem) return;
    try {
        work();
    } catch (...) {
        problem = std::current_exception();
    }
}

std::string checksum_of(const std::string& text) {
    return checksum_text(std::as_bytes(std::span(text)));
}

std::string header_of(const nlohmann::json& about, std::span<const CheckpointTensor> tensors,
                      const std::vector<std::string>& checksums) {
    JsonTree tree{nlohmann::json(about)};
    nlohmann::json& list = tree.root()["checksums"] = nlohmann::json::object();
    std::vector<TensorEntry> entries;
    for (size_t i = 0; i < tensors.size(); ++i) {
        list[tensors[i].entry.name] = checksums[i];
        entries.push_back(tensors[i].entry);
    }
    const std::string text = dump_json(*tree);
    return safetensors_header({{about_key, text}, {about_checksum_key, checksum_of(text)}},
                              entries);
}

}  // namespace

void write_checkpoint(Communicator& comm, const FileLayer& files, const std::string& path,
                      const nlohmann::json& about, std::span<const CheckpointTensor> tensors) {
    const bool writes = comm.rank() == 0;
    std::exception_ptr problem;
    std::vector<std::string> checksums;
    for (const CheckpointTensor& tensor : tensors) {
        const std::span<const std::byte> data = tensor.data();
        if (writes) attempt(problem, [&] { checksums.push_back(checksum_text(data)); });
    }
    std::unique_ptr<NewFile> file;
    if (writes) {
        attempt(problem, [&] {
            const std::string header = header_of(about, tensors, checksums);
            file = files.create(path);
            file->write(header.data(), std::ssize(header));
        });
    }
    for (const CheckpointTensor& tensor : tensors) {
        const std::span<const std::byte> data = tensor.data();
        if (writes) attempt(problem, [&] { file->write(data.data(), std::ssize(data)); });
    }
    if (writes) attempt(problem, [&] { file->commit(); });
    comm.agree([&] {
        if (problem) std::rethrow_exception(problem);
    });
}

CheckpointFile::CheckpointFile(const FileLayer& files, const std::string& path)
    : path_(printable(path)), file_(files.open(path)) {
    const SafetensorsHeader header = read_safetensors_header(*file_);
    const auto text = header.metadata.find(about_key);
    const auto checksum = header.metadata.find(about_checksum_key);
    if (text == header.metadata.end() || checksum == header.metadata.end())
        throw Error(Status::bad_file, "'" + path_ + "' is no checkpoint of a training");
    if (checksum_of(text->second) != checksum->second) {
        throw Error(Status::bad_file,
                    "'" + path_ + "' is damaged: its description does not have its checksum");
    }
    about_.root() = parse_json(text->second, "description of the checkpoint");
    entries_ = header.tensors;
}

bool CheckpointFile::has(const std::string& tensor) const {
    return std::ranges::find(entries_, tensor, &TensorEntry::name) != entries_.end();
}

const TensorEntry& CheckpointFile::find(const TensorEntry& expected) const {
    const auto found = std::ranges::find(entries_, expected.name, &TensorEntry::name);
    if (found != entries_.end() && found->dtype == expected.dtype && found->shape == expected.shape)
        return *found;
    const std::string name = "'" + path_ + "': tensor '" + printable(expected.name) + "' ";
    if (found == entries_.end()) throw Error(Status::bad_file, name + "is missing");
    throw Error(Status::bad_file,
                name + "is " + impl::name(found->dtype) + " " + shape_text(found->shape) +
                    ", expected " + impl::name(expected.dtype) + " " + shape_text(expected.shape));
}

void CheckpointFile::read(const TensorEntry& expected, std::span<std::byte> to) const {
    const TensorEntry& entry = find(expected);
    file_->read(entry.begin, to.data(), std::ssize(to));
    const std::string where = "description of the checkpoint";
    const nlohmann::json& checksums = member(*about_, "checksums", where);
    const std::string& expected_sum =
        string_of(member(checksums, entry.name.c_str(), where), where);
    if (checksum_text(to) == expected_sum) return;
    throw Error(Status::bad_file, "'" + path_ + "' is damaged: tensor '" + printable(entry.name) +
                                      "' does not have its checksum");
}

}  // namespace surrogate::impl
