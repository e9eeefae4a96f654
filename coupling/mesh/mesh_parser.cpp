// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_parser.hpp"

#include <vtkBase64InputStream.h>
#include <vtkInputStream.h>
#include <vtkXMLDataElement.h>

#include <algorithm>
#include <cstring>
#include <istream>

#include "coupling/mesh/xml_numbers.hpp"

namespace surrogate::vtk {

namespace {

constexpr std::string_view appended = "<AppendedData";
constexpr HeadLimits limits;

}  // namespace

MeshParser* MeshParser::New() {
    auto* parser = new MeshParser;
    parser->InitializeObjectBase();
    return parser;
}

void MeshParser::StartElement(const char* name, const char** attributes) {
    ++n_events_;
    head_->start(name, attributes);
    if (!head_->has_failed()) Superclass::StartElement(name, attributes);
}

void MeshParser::EndElement(const char* name) {
    ++n_events_;
    if (head_->has_failed()) return;
    head_->end();
    Superclass::EndElement(name);
}

void MeshParser::CharacterDataHandler(const char* data, int length) {
    ++n_events_;
    if (!head_->has_failed() && head_->is_in_key()) Superclass::CharacterDataHandler(data, length);
}

/// Returns 0 to stop the parser.
int MeshParser::ParseBuffer(const char* buffer, unsigned int count) {
    if (head_->has_failed() || !is_prolog_fine(buffer, count)) return 0;
    const int64_t n_events = n_events_;
    const std::string rest = whole_tag(buffer, count);
    if (head_->has_failed()) return 0;
    const std::string joined = rest.empty() ? "" : std::string(buffer, count) + rest;
    const int is_fine =
        rest.empty() ? Superclass::ParseBuffer(buffer, count)
                     : Superclass::ParseBuffer(joined.data(), static_cast<unsigned>(joined.size()));
    // The XML library rescans a tag from its beginning each time a block of it arrives.
    n_silent_ = n_events_ == n_events ? n_silent_ + count : 0;
    if (n_silent_ > limits.tag_bytes)
        head_->fail("it has more than " + std::to_string(limits.tag_bytes) +
                    " bytes without a whole tag or text, as in a very long comment");
    return is_fine != 0 && !head_->has_failed() ? 1 : 0;
}

/// Returns false for a document type, whose entities could grow without limit and which mesh files
/// do not need, and for UTF-16, which would hide one.
bool MeshParser::is_prolog_fine(const char* buffer, unsigned int count) {
    if (head_->has_elements()) return true;
    prolog_.append(buffer, count);
    const std::string_view begin = std::string_view(prolog_).substr(0, 4);
    if (begin.find('\0') != begin.npos || begin.substr(0, 2) == "\xff\xfe" ||
        begin.substr(0, 2) == "\xfe\xff")
        head_->fail("it does not begin like a text of 8-bit characters");
    else if (prolog_.find("<!DOCTYPE") != prolog_.npos || prolog_.find("<!ENTITY") != prolog_.npos)
        head_->fail("it has a document type declaration, expected none in a mesh file; remove it");
    return !head_->has_failed();
}

/// Returns the whole tag <AppendedData ..>, at which VTK ends the document. If the tag exceeds the
/// buffer, VTK appends byte by byte and rescans all of it each time, so its rest is read here.
std::string MeshParser::whole_tag(const char* buffer, unsigned int count) {
    const std::string text = last_bytes_ + std::string(buffer, count);
    last_bytes_ = text.substr(text.size() - std::min(text.size(), appended.size() - 1));
    const size_t at = text.find(appended);
    if (at == text.npos || text.find('>', at) != text.npos) return "";
    std::string rest;
    for (char c = 0; c != '>' && GetStream()->get(c);) {
        rest += c;
        if (static_cast<int64_t>(rest.size()) <= limits.tag_bytes) continue;
        head_->fail("its tag <AppendedData has no end");
        break;
    }
    return rest;
}

/// Positions the stream where VTK reads the array. Returns false if its data are text.
bool MeshParser::seek_data(vtkXMLDataElement* array) {
    if (const char* offset = array->GetAttribute("offset")) {
        DataStream = AppendedDataStream;
        SeekG(AppendedDataPosition + integer_of(offset).value_or(0));
    } else {
        const char* format = array->GetAttribute("format");
        if (format == nullptr || std::strcmp(format, "binary") != 0) return false;
        DataStream = InlineDataStream;
        SeekInlineDataPosition(array);
    }
    DataStream->SetStream(GetStream());
    return true;
}

uint64_t MeshParser::read_word() {
    const auto read = [&](auto word) -> uint64_t {
        unsigned char bytes[sizeof word] = {};
        if (DataStream->Read(bytes, sizeof word) < sizeof word) return UINT64_MAX;
        PerformByteSwap(bytes, 1, sizeof word);
        std::memcpy(&word, bytes, sizeof word);
        return word;
    };
    return HeaderType == 64 ? read(uint64_t{0}) : read(uint32_t{0});
}

/// Returns true if n bytes follow the first word. VTK uses uninitialized memory for missing bytes.
bool MeshParser::has_bytes(uint64_t n) {
    if (vtkBase64InputStream::SafeDownCast(DataStream) == nullptr)
        return static_cast<uint64_t>(TellG()) + n <= static_cast<uint64_t>(head_->n_byte());
    unsigned char block[4096];
    while (n > 0) {
        const size_t wanted = std::min<uint64_t>(n, sizeof block);
        if (DataStream->Read(block, wanted) < wanted) return false;
        n -= wanted;
    }
    return true;
}

std::string MeshParser::check_sizes(vtkXMLDataElement* array) {
    if (array == checked_) return "";
    if (array->GetAttribute("offset") != nullptr && AppendedDataPosition == 0)
        return "is in AppendedData, which the file does not have";
    n_data_ = UINT64_MAX;
    checked_ = array;
    if (!seek_data(array)) return "";
    DataStream->StartReading();
    const uint64_t first = read_word();
    const auto n_byte = static_cast<uint64_t>(head_->n_byte());
    const std::string file = " in a file of " + std::to_string(n_byte) + " bytes";
    const bool is_plain = Compressor == nullptr;
    const bool is_there = !is_plain || (first <= n_byte && has_bytes(first));
    DataStream->EndReading();
    if (!is_there) return "states " + std::to_string(first) + " bytes, which are missing";
    if (!is_plain && first > n_byte / 4)
        return "states " + std::to_string(first) + " compressed blocks" + file;
    n_data_ = first;
    if (is_plain) return "";
    seek_data(array);
    if (ReadCompressionHeader() == 0) return "has no whole list of its compressed blocks";
    return check_blocks();
}

/// Checks the result of ReadCompressionHeader().
std::string MeshParser::check_blocks() {
    const auto room = static_cast<uint64_t>(head_->room());
    const auto n_byte = static_cast<uint64_t>(head_->n_byte());
    const std::string sizes = std::to_string(NumberOfBlocks) + " blocks of " +
                              std::to_string(BlockUncompressedSize) + " bytes, the last of " +
                              std::to_string(PartialLastBlockUncompressedSize);
    n_data_ = 0;
    if (NumberOfBlocks == 0 && PartialLastBlockUncompressedSize == 0) return "";
    if (NumberOfBlocks == 0 || BlockUncompressedSize == 0 ||
        PartialLastBlockUncompressedSize > BlockUncompressedSize)
        return "states " + sizes;
    const uint64_t n_full = NumberOfBlocks - (PartialLastBlockUncompressedSize > 0 ? 1 : 0);
    if (PartialLastBlockUncompressedSize > room || n_full > room / BlockUncompressedSize)
        return "states " + sizes + ", compressed in a file of " + std::to_string(n_byte) + " bytes";
    uint64_t compressed = 0;
    for (size_t block = 0; block < NumberOfBlocks; ++block) {
        if (BlockCompressedSizes[block] > n_byte - compressed)
            return "states that block " + std::to_string(block) + " has " +
                   std::to_string(BlockCompressedSizes[block]) + " compressed bytes in a file of " +
                   std::to_string(n_byte);
        compressed += BlockCompressedSizes[block];
    }
    n_data_ = n_full * BlockUncompressedSize + PartialLastBlockUncompressedSize;
    return "";
}

}  // namespace surrogate::vtk
