// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace surrogate::h5 {

/// Returns the result of a call of HDF5. Throws Error(IO) with HDF5's reason if it is negative:
/// "cannot <what>: <reason>".
hid_t checked(hid_t result, const char* what);
inline void check(herr_t result, const char* what) {
    checked(result, what);
}

/// Keeps HDF5 from printing errors while an object exists, and then restores the caller's error
/// stack and printing.
class QuietErrors {
public:
    QuietErrors();
    ~QuietErrors();
    QuietErrors(const QuietErrors&) = delete;
    QuietErrors& operator=(const QuietErrors&) = delete;

private:
    hid_t stack_;
    H5E_auto2_t print_ = nullptr;
    void* data_ = nullptr;
};

/// Keeps HDF5 from loading plug-ins while an object exists, and then restores the caller's setting.
/// Files name filters, and HDF5 loads their code from folders that the environment names.
class NoPlugins {
public:
    NoPlugins();
    ~NoPlugins();
    NoPlugins(const NoPlugins&) = delete;
    NoPlugins& operator=(const NoPlugins&) = delete;

private:
    unsigned state_ = 0;
};

/// Owns an object of HDF5.
class Handle {
public:
    using Close = herr_t (*)(hid_t);
    Handle(hid_t id, Close closed_by, const char* what)
        : id_(checked(id, what)), close_(closed_by) {}
    Handle(Handle&& other) noexcept
        : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    operator hid_t() const { return id_; }

    /// Closes the object and checks the result. Files are complete only after a successful close.
    void close(const char* what) { check(close_(std::exchange(id_, H5I_INVALID_HID)), what); }

private:
    hid_t id_;
    Close close_;
};

Handle property_list(hid_t kind);
Handle new_group(hid_t parent, const std::string& name);
Handle group(hid_t parent, const std::string& name);

/// Returns the names of all links of a group, in byte order.
std::vector<std::string> names_in(hid_t group);

/// Escapes a name for use as the name of a link: '/', '%' and a name of dots, which HDF5 reads as
/// paths, become %2F, %25 and %2E.
std::string link_name(const std::string& name);

/// Writes scalar attributes.
void put(hid_t object, const char* name, double value);
void put(hid_t object, const char* name, int64_t value);
void put(hid_t object, const char* name, uint64_t value);
void put(hid_t object, const char* name, const std::string& value);
void get(hid_t object, const char* name, double* value);
void get(hid_t object, const char* name, int64_t* value);
void get(hid_t object, const char* name, uint64_t* value);
void get(hid_t object, const char* name, std::string* value);

}  // namespace surrogate::h5
