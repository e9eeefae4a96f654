// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "coupling/file/new_file.hpp"

class vtkXMLWriter;

namespace surrogate::vtk {

enum class Compression { none, lz4, zlib };

/// Returns the compression of that name; nothing for another name.
std::optional<Compression> compression_of(const std::string& name);

/// Writes a file so that a reader sees either the old or the new content, whole (file::NewFile: to
/// a temporary, to the disk, then renamed). Throws IO with the system's reason; the old file is
/// then untouched. No file of this folder is written in another way.
void write_atomically(const std::string& path, const void* data, size_t n_byte);
void write_atomically(const std::string& path, const std::string& text);

/// Makes a directory; one that exists is fine. Throws IO.
void make_directory(const std::string& path);

/// The same by a VTK writer (its input is set): raw appended data, 64-bit headers. Throws IO with
/// the system's reason, or what VTK said; nothing is printed. VTK's return value is not enough: it
/// is 1 also when the file could not be opened or the disk was full (9.1), so errors are observed
/// and the end of the file is looked at.
void write_file(vtkXMLWriter* writer, const std::string& path, Compression compression,
                file::Links links = file::Links::followed);

/// "run" of "out/run.pvd"; "out/" of it; ".pvd" of it.
std::string stem_of(const std::string& path);
std::string directory_of(const std::string& path);
std::string extension_of(const std::string& path);

}  // namespace surrogate::vtk
