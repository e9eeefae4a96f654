// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vtkCommand.h>
#include <vtkExecutive.h>
#include <vtkNew.h>
#include <vtkXMLWriter.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int code) {
    throw Error(SURROGATE_IO, "cannot " + what + " '" + path + "': " + std::strerror(code));
}

class FileDescriptor {
public:
    FileDescriptor(const std::string& path, int flags)
        : value_(::open(path.c_str(), flags, 0666)) {}
    ~FileDescriptor() {
        if (value_ >= 0) ::close(value_);
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    int get() const { return value_; }

private:
    int value_;
};

/// 0, or the error number of the system.
int write_all(int file, const char* data, size_t n_byte) {
    while (n_byte > 0) {
        const ssize_t n = ::write(file, data, n_byte);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        data += n;
        n_byte -= static_cast<size_t>(n);
    }
    return 0;
}

/// A rename is on the disk when its directory is. Not every file system can do this, and the file
/// is complete anyway: the result is not looked at.
void flush_directory(const std::string& path) {
    const std::string directory = directory_of(path);
    const FileDescriptor handle(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY);
    if (handle.get() >= 0) ::fsync(handle.get());
}

/// Collects what a VTK object reports; an observed object prints nothing.
class ErrorText : public vtkCommand {
public:
    static ErrorText* New() { return new ErrorText; }
    void Execute(vtkObject*, unsigned long, void* data) override {
        if (text.empty() && data != nullptr) text = static_cast<const char*>(data);
    }
    std::string text;
};

/// "Error opening output file .." out of "ERROR: In file, line\nvtkClass (0x..): Error opening
/// output file ..\n\n".
std::string sentence_of(const std::string& message) {
    const size_t begin = message.find("): ");
    std::string text = begin == std::string::npos ? message : message.substr(begin + 3);
    return text.substr(0, text.find('\n'));
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
    const std::string temporary = path + ".tmp";
    int code = 0;
    {
        const FileDescriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
        if (file.get() < 0) fail("create", temporary, errno);
        code = write_all(file.get(), static_cast<const char*>(data), n_byte);
        if (code == 0 && ::fsync(file.get()) != 0) code = errno;
    }
    if (code == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
    if (code != 0) {
        ::unlink(temporary.c_str());
        fail("write", path, code);
    }
    flush_directory(path);
}

void write_atomically(const std::string& path, const std::string& text) {
    write_atomically(path, text.data(), text.size());
}

void make_directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0777) == 0) return;
    const int code = errno;
    struct stat found = {};
    if (code == EEXIST && ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return;
    fail("make the directory", path, code);
}

void write_file(vtkXMLWriter* writer, const std::string& path, Compression compression) {
    // Opened by us first: the system's own reason is clearer than what VTK says.
    if (FileDescriptor(path, O_WRONLY | O_CREAT | O_TRUNC).get() < 0) fail("create", path, errno);
    vtkNew<ErrorText> errors;
    writer->AddObserver(vtkCommand::ErrorEvent, errors);
    writer->AddObserver(vtkCommand::WarningEvent, errors);
    writer->GetExecutive()->AddObserver(vtkCommand::ErrorEvent, errors);
    writer->SetFileName(path.c_str());
    writer->SetDataModeToAppended();
    writer->EncodeAppendedDataOff();
    writer->SetHeaderTypeToUInt64();
    switch (compression) {
        case Compression::none: writer->SetCompressorTypeToNone(); break;
        case Compression::lz4: writer->SetCompressorTypeToLZ4(); break;
        case Compression::zlib: writer->SetCompressorTypeToZLib(); break;
    }
    const bool is_written = writer->Write() == 1;
    if (is_written && errors->text.empty() && ends_as_vtk_file(path)) return;
    ::unlink(path.c_str());
    throw Error(SURROGATE_IO,
                "cannot write '" + path + "': " +
                    (errors->text.empty() ? "the file is not complete; is the disk full?"
                                          : "VTK says: " + sentence_of(errors->text)));
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
