// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "libsurrogate/src/core/file.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

/// Source of the bytes of a model file. Made on every rank, without taking memory; opened on
/// rank 0, within an agreement.
class ModelSource {
public:
    virtual ~ModelSource() = default;
    virtual std::unique_ptr<File> open() const = 0;
    virtual std::string name() const = 0;  ///< "model file 'a.safetensors'"
    /// Opens the file of this name in the folder of the source; null if the source is not a file.
    virtual std::unique_ptr<File> open_beside(const std::string&) const { return nullptr; }
};

class PathSource final : public ModelSource {
public:
    /// Keeps references.
    PathSource(const FileLayer& files, const std::string& path) : files_(files), path_(path) {}
    std::unique_ptr<File> open() const override { return files_.open(path_); }
    std::string name() const override;
    std::unique_ptr<File> open_beside(const std::string& file) const override;

private:
    const FileLayer& files_;
    const std::string& path_;
};

/// See surrogate_model_load_memory. Opening throws invalid_argument or shape.
class BytesSource final : public ModelSource {
public:
    BytesSource(const void* bytes, int64_t n_byte) : bytes_(bytes), n_byte_(n_byte) {}
    std::unique_ptr<File> open() const override;
    std::string name() const override;

private:
    const void* bytes_;
    int64_t n_byte_;
};

/// See surrogate_model_create: the file that card and tensors would make. Opening throws
/// invalid_argument, shape or bad_file.
class TensorsSource final : public ModelSource {
public:
    TensorsSource(const char* card, int32_t n_tensor, const surrogate_tensor* tensors)
        : card_(card), n_tensor_(n_tensor), tensors_(tensors) {}
    std::unique_ptr<File> open() const override;
    std::string name() const override;

private:
    const char* card_;
    int32_t n_tensor_;
    const surrogate_tensor* tensors_;
};

}  // namespace surrogate::impl
