// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_DATASET_HPP
#define SURROGATE_DATASET_HPP

// The C interface of surrogate_dataset.h as an owner and exceptions; header-only, C++17.
// Collectivity and errors are documented there. A call that fails throws surrogate::Error.
//
//     surrogate::NewDataset set(context, "fields.h5");
//     set.add_axis("sample", n_sample);
//     set.add_axis("point", n_point);
//     set.add("pressure", {"sample", "point"}, "Pa");
//     set.begin();
//     set.set_points(domain);
//     for (..) set.write("pressure", s * n_point, surrogate::column(p.data(), n));
//     set.finish();

#include <surrogate/surrogate_dataset.h>

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate {

/// A data set that is being written. The context must live as long.
class NewDataset {
public:
    /// Creates a data set that finish stores as `path`. Collective; see surrogate_dataset_create.
    NewDataset(const Context& context, const std::string& path)
        : handle_(detail::made<surrogate_dataset>([&](surrogate_dataset** dataset) {
              return surrogate_dataset_create(context.get(), path.c_str(), dataset);
          })) {}
    /// Takes ownership of a handle of the C interface.
    explicit NewDataset(surrogate_dataset* handle) : handle_(handle) {}

    /// Sets a text attribute of the file; see surrogate_dataset_set.
    void set(const std::string& key, const std::string& text) {
        check(surrogate_dataset_set(get(), key.c_str(), text.c_str()));
    }
    /// Adds an axis of length n; see surrogate_dataset_add_axis.
    void add_axis(const std::string& name, int64_t n) {
        check(surrogate_dataset_add_axis(get(), name.c_str(), n));
    }
    /// Adds a variable. axes: names, slowest first; long_name null: none; axis: "X", "Y", "Z", "4"
    /// .. "8" for a coordinate. See surrogate_dataset_add.
    void add(const char* name, const std::vector<const char*>& axes, const char* unit,
             const char* long_name = nullptr, int32_t dtype = SURROGATE_FLOAT64,
             const char* axis = nullptr) {
        const surrogate_variable variable = {
            name, unit, long_name, axis, axes.data(), static_cast<int32_t>(axes.size()), dtype};
        check(surrogate_dataset_add(get(), &variable));
    }
    /// Ends the description and creates the temporary file. Collective; see
    /// surrogate_dataset_begin.
    void begin() { check(surrogate_dataset_begin(get())); }
    /// Sets the domain whose points write() writes. Collective; see surrogate_dataset_set_points.
    void set_points(const Domain& domain) {
        check(surrogate_dataset_set_points(get(), domain.get()));
    }
    /// Writes one value per point in the canonical ordering. Collective; see
    /// surrogate_dataset_write.
    void write(const char* name, int64_t first, const surrogate_array& array) {
        check(surrogate_dataset_write(get(), name, first, &array));
    }
    /// Writes values without reordering. Local; see surrogate_dataset_put.
    void put(const char* name, int64_t first, const surrogate_array& array) {
        check(surrogate_dataset_put(get(), name, first, &array));
    }
    /// Renames the complete file to its path. Collective; see surrogate_dataset_finish.
    void finish() { check(surrogate_dataset_finish(get())); }
    /// Returns the handle of the C interface, borrowed.
    surrogate_dataset* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_dataset, surrogate_dataset_destroy> handle_;
};

}  // namespace surrogate

#endif
