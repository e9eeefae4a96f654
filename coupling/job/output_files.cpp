// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/output_files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;

std::string full_name(const fs::path& path) {
    std::error_code none;
    return fs::weakly_canonical(path, none).string();
}

/// Returns the name itself, also for a symbolic link.
std::string entry_of(const fs::path& path) {
    const fs::path folder = path.parent_path();
    return full_name(folder.empty() ? "." : folder) + "/" + path.filename().string();
}

/// Identifies files by device and inode, or by their full name if they do not exist.
class KeptFiles {
public:
    void add(const std::string& what, const std::string& path) {
        const file::Identity identity = file::identity_of(path);
        if (identity.exists)
            there_.try_emplace(identity, InputFile{what, path});
        else
            missing_.try_emplace(full_name(path), InputFile{what, path});
    }

    /// Returns null if `path` is none of the files.
    const InputFile* find(const std::string& path) const {
        const file::Identity identity = file::identity_of(path);
        return identity.exists ? at(there_, identity) : at(missing_, full_name(path));
    }

private:
    template <class Key>
    static const InputFile* at(const std::map<Key, InputFile>& files, const Key& key) {
        const auto found = files.find(key);
        return found == files.end() ? nullptr : &found->second;
    }
    std::map<file::Identity, InputFile> there_;
    std::map<std::string, InputFile> missing_;
};

bool is_device(const std::string& path) {
    if (file::is_stream(path)) return true;
    std::error_code none;
    const auto type = fs::status(path, none).type();
    return type != fs::file_type::regular && type != fs::file_type::directory &&
           type != fs::file_type::not_found && type != fs::file_type::none;
}

void check_name(const OutputFile& output) {
    const bool has_control = std::any_of(output.path.begin(), output.path.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (has_control)
        fail("the output '" + one_line(output.path) +
             "' has a control character in its name; choose another name");
}

std::vector<std::string> names_of(const OutputFile& output) {
    return {output.path, file::temporary_of(output.path, file::Links::replaced),
            file::lock_of(output.path)};
}

[[noreturn]] void refuse(const OutputFile& output, const std::string& name,
                         const std::string& what) {
    fail(output.what + " would replace '" + name + "', which is " + what +
         "; it is not overwritten, choose another name");
}

void check_inputs(const OutputFile& output, const KeptFiles& kept) {
    for (const std::string& name : names_of(output))
        if (const InputFile* file = kept.find(name))
            refuse(output, name, file->what + " (" + file->path + ")");
}

/// Checks against `others`, the entries of earlier outputs. Links to one file are different
/// outputs, because each link is replaced itself.
void check_others(const OutputFile& output, std::map<std::string, std::string>& others) {
    for (const std::string& name : names_of(output)) {
        const auto other = others.find(entry_of(name));
        if (other != others.end()) refuse(output, name, "also written as " + other->second);
    }
    others.emplace(entry_of(output.path), output.what);
}

void check_earlier(const OutputFile& output) {
    std::error_code none;
    const std::string quoted = "'" + output.path + "'";
    const bool is_link = fs::is_symlink(fs::symlink_status(output.path, none));
    if (fs::is_directory(output.path, none)) fail(quoted + " is a folder");
    if (is_device(output.path)) {
        if (output.may_be_device) return;
        fail(quoted + " is a device or a pipe, expected a regular file; choose another name");
    }
    if (!is_link && !fs::exists(output.path, none)) return;
    if (output.earlier == Earlier::replaced) return;
    if (!is_link && output.earlier == Earlier::report) return;
    if (is_link && output.earlier == Earlier::report)
        fail(quoted + " is a symbolic link, expected the name of a regular file");
    fail(quoted + " exists; " + output.remedy);
}

}  // namespace

void check_outputs(const std::vector<InputFile>& inputs, const std::vector<OutputFile>& outputs) {
    for (const OutputFile& output : outputs) check_name(output);
    KeptFiles kept;
    for (const InputFile& input : inputs) kept.add(input.what, input.path);
    std::map<std::string, std::string> others;
    for (const OutputFile& output : outputs) {
        if (is_device(output.path)) continue;  // devices have no content that could be lost
        check_inputs(output, kept);
        check_others(output, others);
    }
    for (const OutputFile& output : outputs) check_earlier(output);
}

void check_outputs(const Job& job, const std::vector<InputFile>& inputs,
                   const std::vector<OutputFile>& outputs) {
    job.agree([&] {
        if (job.is_root()) check_outputs(inputs, outputs);
    });
}

void write_output(const std::string& path, const std::string& bytes) {
    file::write_atomically(path, bytes, file::Links::replaced);
}

std::string option_text(const std::string& option, const std::string& path) {
    return option + " '" + path + "'";
}

}  // namespace surrogate::tool
