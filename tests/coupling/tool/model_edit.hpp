// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/coupling/tool/tool_case.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// A model file taken apart to be written again with something wrong: its card without checksums,
/// its weights, and of the check case only what `surrogate check` reads.
struct ModelEdit {
    ModelWriter writer;

    explicit ModelEdit(const std::string& path) {
        const TensorFile file(path);
        for (const auto& [name, entry] : file.header.items()) {
            if (name == "__metadata__") continue;
            const bool is_case = name.starts_with("check/input/x") || name == "check/output/y" ||
                                 name == "check/output64/y";
            if (name.starts_with("check/") && !is_case) continue;
            const auto begin = entry["data_offsets"][0].get<size_t>(),
                       end = entry["data_offsets"][1].get<size_t>();
            writer.tensors.push_back({name, entry["dtype"], entry["shape"],
                                      file.bytes.substr(file.data + begin, end - begin)});
        }
        writer.card = json::parse(file.header["__metadata__"]["surrogate.card"].get<std::string>());
        writer.card.erase("checksums");
    }

    WriterTensor& tensor(const std::string& name) {
        for (WriterTensor& tensor : writer.tensors)
            if (tensor.name == name) return tensor;
        throw std::runtime_error("no tensor " + name);
    }
    ModelEdit& drop(const std::string& name) {
        std::erase_if(writer.tensors, [&](const WriterTensor& t) { return t.name == name; });
        return *this;
    }
    /// All numbers of a tensor as T.
    template <class T>
    ModelEdit& fill(const std::string& name, T value) {
        std::string& bytes = tensor(name).bytes;
        for (size_t at = 0; at < bytes.size(); at += sizeof value)
            std::memcpy(bytes.data() + at, &value, sizeof value);
        return *this;
    }
    /// The same numbers in other dimensions, or none.
    ModelEdit& reshape(const std::string& name, const std::vector<int64_t>& shape) {
        WriterTensor& changed = tensor(name);
        changed.shape = shape;
        if (std::ranges::find(shape, 0) != shape.end()) changed.bytes.clear();
        return *this;
    }
    std::string save(const std::string& path) const {
        write(path, writer.bytes());
        return path;
    }
};

}  // namespace surrogate::test
