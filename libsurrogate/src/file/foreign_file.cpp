// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/foreign_file.hpp"

#include "libsurrogate/src/core/documentation.hpp"

namespace surrogate::impl {
namespace {

std::string with_cure(const std::string& what) {
    return what +
           "; make a model file of it with share/surrogate/python/export.py (in the sources "
           "share/python/export.py), see " +
           documentation("how-to/export-from-pytorch.md");
}

/// Name of the first member of a ZIP archive, as far as `begin` has it. Source: PKWARE's APPNOTE
/// 4.3.7, local file header: length of the name at 26, the name at 30.
std::string_view first_member(std::string_view begin) {
    if (begin.size() < 30) return {};
    const size_t length = static_cast<unsigned char>(begin[26]) |
                          static_cast<size_t>(static_cast<unsigned char>(begin[27])) << 8;
    return begin.substr(30, length);
}

std::string archive(std::string_view begin) {
    const std::string_view member = first_member(begin);
    if (member.ends_with(".npy")) return with_cure("this is an archive of NumPy (.npz)");
    if (member.find('/') != std::string_view::npos)
        return with_cure("this is a PyTorch checkpoint (torch.save)");
    return with_cure("this is a ZIP archive, perhaps a PyTorch checkpoint (torch.save)");
}

/// Protocol 2 (torch.save before 1.6, and its `_use_new_zipfile_serialization=False`) to 5.
bool is_pickle(std::string_view begin) {
    return begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
}

}  // namespace

std::string foreign_file(std::string_view begin) {
    if (begin.starts_with("PK\x03\x04")) return archive(begin);
    if (is_pickle(begin))
        return with_cure("this is a Python pickle, perhaps an old PyTorch checkpoint");
    if (begin.starts_with("\x89HDF\r\n\x1a\n"))
        return with_cure("this is an HDF5 file (Keras, h5py)");
    if (begin.starts_with("\x93NUMPY")) return with_cure("this is an array of NumPy (.npy)");
    return "";
}

}  // namespace surrogate::impl
