// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/attached_file.hpp"

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/bad_file.hpp"
#include "libsurrogate/src/file/model_file.hpp"

namespace surrogate::impl {

namespace {

using Bytes = kernels::Buffer<std::byte>;

/// Returns null if the model is not a file.
std::shared_ptr<Bytes> read_verified(const ModelSource& source, const AttachedFile& attached) {
    const std::unique_ptr<File> file = source.open_beside(attached.name);
    if (!file) return nullptr;
    auto bytes = std::make_shared<Bytes>(file->size());
    file->read(0, bytes->data(), bytes->size());
    const std::string found = checksum_text({bytes->begin(), bytes->end()});
    const std::string expected = checksum_text(attached.checksum);
    if (found == expected) return bytes;
    fail_bad_file(source.name() + ": the file '" + printable(attached.name) +
                  "' beside it has the checksum " + found + ", expected " + expected +
                  "; it belongs to another export");
}

}  // namespace

void require_plain_name(const std::string& name, const std::string& key) {
    const bool is_plain = !name.empty() && name.size() <= 255 && name[0] != '.' &&
                          name.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
    if (is_plain) return;
    fail_bad_file(key + " is '" + printable(name) +
                  "', expected the name of a file beside the model file, without folders");
}

std::shared_ptr<const Bytes> load_attached(Communicator& comm, const ModelSource& source,
                                           const AttachedFile& file) {
    std::shared_ptr<Bytes> bytes;
    comm.agree([&] {
        if (comm.rank() == 0) bytes = read_verified(source, file);
    });
    int64_t n_byte = bytes ? bytes->size() : -1;
    comm.broadcast(&n_byte, sizeof n_byte, 0);
    if (n_byte < 0) return nullptr;
    comm.agree([&] {
        if (!bytes) bytes = std::make_shared<Bytes>(n_byte);
    });
    comm.broadcast(bytes->data(), n_byte, 0);
    return bytes;
}

}  // namespace surrogate::impl
