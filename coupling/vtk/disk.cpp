// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/disk.hpp"

#include <sys/stat.h>
#include <vtkCommand.h>
#include <vtkExecutive.h>
#include <vtkNew.h>
#include <vtkXMLWriter.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

/// Runs a write of a file and converts its errors to Error.
template <class Work>
void writing(const Work& work) {
    try {
        work();
    } catch (const file::Error& error) {
        throw Error(SURROGATE_IO, error.what());
    }
}

/// Collects errors that a VTK object reports; an observed object prints nothing.
class ErrorText : public vtkCommand {
public:
    static ErrorText* New() { return new ErrorText; }
    void Execute(vtkObject*, unsigned long, void* data) override {
        if (text.empty() && data != nullptr) text = static_cast<const char*>(data);
    }
    std::string text;
};

/// Returns the reason why VTK could not write: the system's reason if VTK kept it, otherwise VTK's
/// message, or "". The message of the executive contains only addresses.
std::string reason_of(vtkXMLWriter* writer, const std::string& message) {
    constexpr unsigned long first_of_vtk =
        20000;  // vtkErrorCode; lower codes are codes of the system
    const unsigned long code = writer->GetErrorCode();
    if (code > 0 && code < first_of_vtk) return std::strerror(static_cast<int>(code));
    // Extracts "Ran out of .." from "ERROR: In file, line\nvtkClass (0x..): Ran out of ..\n\n"
    const size_t begin = message.find("): ");
    const std::string text = begin == std::string::npos ? message : message.substr(begin + 3);
    if (text.empty() || text.rfind("Algorithm ", 0) == 0) return "";
    return "VTK says: " + text.substr(0, text.find('\n'));
}

/// VTK does not check its last write (the rest of its buffer). Writing once more gives the reason.
void write_again(file::NewFile& result) {
    const std::vector<char> some(65536);
    result.write(some.data(), some.size());
    result.flush();
}

bool ends_as_vtk_file(const std::string& path) {
    const std::string wanted = "</VTKFile>\n";
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::string found(wanted.size(), ' ');
    if (!file || file.tellg() < static_cast<std::streamoff>(wanted.size())) return false;
    file.seekg(-static_cast<std::streamoff>(wanted.size()), std::ios::end);
    file.read(found.data(), static_cast<std::streamsize>(found.size()));
    return file.good() && found == wanted;
}

}  // namespace

void write_atomically(const std::string& path, const void* data, size_t n_byte) {
    writing([&] { file::write_atomically(path, data, n_byte); });
}

void write_atomically(const std::string& path, const std::string& text) {
    write_atomically(path, text.data(), text.size());
}

std::optional<Compression> compression_of(const std::string& name) {
    if (name == "none") return Compression::none;
    if (name == "lz4") return Compression::lz4;
    if (name == "zlib") return Compression::zlib;
    return std::nullopt;
}

void make_directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0777) == 0) return;
    const int code = errno;
    struct stat found = {};
    if (code == EEXIST && ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return;
    throw Error(SURROGATE_IO, "cannot create directory '" + path + "': " + std::strerror(code));
}

void write_file(vtkXMLWriter* writer, const std::string& path, Compression compression,
                file::Links links) {
    vtkNew<ErrorText> errors;
    writer->AddObserver(vtkCommand::ErrorEvent, errors);
    writer->AddObserver(vtkCommand::WarningEvent, errors);
    writer->GetExecutive()->AddObserver(vtkCommand::ErrorEvent, errors);
    writer->SetDataModeToAppended();
    writer->EncodeAppendedDataOff();
    writer->SetHeaderTypeToUInt64();
    switch (compression) {
        case Compression::none: writer->SetCompressorTypeToNone(); break;
        case Compression::lz4: writer->SetCompressorTypeToLZ4(); break;
        case Compression::zlib: writer->SetCompressorTypeToZLib(); break;
    }
    writing([&] {
        file::NewFile result(path, links);
        writer->SetFileName(result.temporary().c_str());
        const bool is_written = writer->Write() == 1;
        if (is_written && errors->text.empty() && ends_as_vtk_file(result.temporary()))
            return result.commit();
        const std::string reason = reason_of(writer, errors->text);
        if (reason.empty()) write_again(result);
        throw Error(SURROGATE_IO, "cannot write '" + path + "': " +
                                      (reason.empty() ? "the file is not complete" : reason));
    });
}

std::string directory_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string extension_of(const std::string& path) {
    const std::string name = path.substr(directory_of(path).size());
    const size_t dot = name.rfind('.');
    return dot == std::string::npos || dot == 0 ? "" : name.substr(dot);
}

std::string stem_of(const std::string& path) {
    const std::string name = path.substr(directory_of(path).size());
    return name.substr(0, name.size() - extension_of(path).size());
}

}  // namespace surrogate::vtk
