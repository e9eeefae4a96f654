// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "coupling/file/new_file.hpp"

class vtkXMLWriter;

namespace surrogate::vtk {

enum class Compression { none, lz4, zlib };

/// Returns the compression of that name; nullopt for an unknown name.
std::optional<Compression> compression_of(const std::string& name);

/// Writes a file atomically: a reader sees the complete old or the complete new content
/// (file::NewFile writes a temporary file, syncs it and renames it). Throws IO with the system's
/// reason; the old file is then unchanged. All files of this folder are written this way.
void write_atomically(const std::string& path, const void* data, size_t n_byte);
void write_atomically(const std::string& path, const std::string& text);

/// Creates a directory unless it exists. Throws IO.
void make_directory(const std::string& path);

/// Writes a file atomically with a VTK writer whose input is set: raw appended data, 64-bit
/// headers. Throws IO with the system's reason or VTK's message; nothing is printed. VTK's return
/// value is not sufficient: it is 1 also if the file could not be opened or the disk was full
/// (9.1), so errors are observed and the end of the file is checked.
void write_file(vtkXMLWriter* writer, const std::string& path, Compression compression,
                file::Links links = file::Links::followed);

/// Returns "run" for "out/run.pvd"; directory_of() returns "out/", extension_of() ".pvd".
std::string stem_of(const std::string& path);
std::string directory_of(const std::string& path);
std::string extension_of(const std::string& path);

}  // namespace surrogate::vtk
