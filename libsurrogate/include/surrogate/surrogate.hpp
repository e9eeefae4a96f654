// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_HPP
#define SURROGATE_HPP

// The C interface of surrogate.h as owners and exceptions; header-only, so that solver and library
// may come from different compilers. Shapes, units, collectivity and errors are documented there,
// function by function.

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "surrogate.hpp needs C++17 (-std=c++17); surrogate.h works with C99 and every C++"
#endif

#include <surrogate/surrogate.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace surrogate {

/// A status that is not SURROGATE_SUCCESS, with the library's text.
class Error : public std::runtime_error {
public:
    Error(surrogate_status status, const char* text)
        : std::runtime_error(std::string(surrogate_status_name(status)) + ": " + text),
          status_(status) {}
    surrogate_status status() const noexcept { return status_; }

private:
    surrogate_status status_;
};

/// Throws Error unless the call succeeded.
inline void check(surrogate_status status) {
    if (status != SURROGATE_SUCCESS) throw Error(status, surrogate_error(nullptr));
}

namespace detail {

template <class Handle, void (*destroy)(Handle**)>
struct Deleter {
    void operator()(Handle* handle) const { destroy(&handle); }
};
template <class Handle, void (*destroy)(Handle**)>
using Owner = std::unique_ptr<Handle, Deleter<Handle, destroy>>;

/// The text that copy(text, n_text) gives.
template <class Copy>
std::string text_of(const Copy& copy) {
    int64_t size = 0;
    check(copy(nullptr, &size));
    std::string text(static_cast<std::size_t>(size), '\0');
    check(copy(text.data(), &size));
    text.resize(static_cast<std::size_t>(size) - 1);
    return text;
}
template <class Object>
std::string text_of(const Object* object,
                    surrogate_status (*describe)(const Object*, char*, int64_t*)) {
    return text_of([&](char* text, int64_t* n) { return describe(object, text, n); });
}

/// The object that create(&handle) makes.
template <class Handle, class Create>
Handle* made(const Create& create) {
    Handle* handle = nullptr;
    check(create(&handle));
    return handle;
}

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
    static constexpr int32_t value = SURROGATE_FLOAT32;
};
template <>
struct dtype_of<double> {
    static constexpr int32_t value = SURROGATE_FLOAT64;
};
template <>
struct dtype_of<int32_t> {
    static constexpr int32_t value = SURROGATE_INT32;
};
template <>
struct dtype_of<int64_t> {
    static constexpr int32_t value = SURROGATE_INT64;
};

}  // namespace detail

/// A column of `n` values, `stride` elements apart. Of one field in an interlaced array
/// u[n][n_field]: column(u + field, n, n_field).
template <class T>
surrogate_array column(T* data, int64_t n, int64_t stride = 1) {
    using Value = std::remove_const_t<T>;
    return {const_cast<Value*>(data),
            {n, 1},
            {stride, 1},
            detail::dtype_of<Value>::value,
            SURROGATE_HOST};
}

/// A row-major array [n][n_column], such as the coordinates of points.
template <class T>
surrogate_array matrix(T* data, int64_t n, int64_t n_column) {
    using Value = std::remove_const_t<T>;
    return {const_cast<Value*>(data),
            {n, n_column},
            {n_column, 1},
            detail::dtype_of<Value>::value,
            SURROGATE_HOST};
}

/// The same, where the data lie in memory of the plan's device (backend cuda).
inline surrogate_array on_device(surrogate_array array) {
    array.space = SURROGATE_CUDA;
    return array;
}

/// One field in the inner points of an array of up to 4 axes; the first axis runs fastest. Of
/// u(1:n_x, 1:n_y) in an array with one layer of ghost points: block(&u(1, 1), {n_x, n_y}, {1, n_x
/// + 2}).
template <class T>
surrogate_block block(T* data, std::initializer_list<int64_t> shape,
                      std::initializer_list<int64_t> stride) {
    using Value = std::remove_const_t<T>;
    surrogate_block block{};
    if (shape.size() != stride.size() || shape.size() > 4)
        throw Error(SURROGATE_SHAPE, "a block has 1 .. 4 extents, and as many strides");
    block.data = const_cast<Value*>(data);
    std::copy(shape.begin(), shape.end(), block.shape);
    std::copy(stride.begin(), stride.end(), block.stride);
    block.n_dim = static_cast<int32_t>(shape.size());
    block.dtype = detail::dtype_of<Value>::value;
    return block;
}

/// Options{{"precision", "fp32"}, {"reproducible", "true"}}
class Options {
public:
    Options() : handle_(detail::made<surrogate_options>(surrogate_options_create)) {}
    Options(std::initializer_list<std::pair<std::string, std::string>> pairs) : Options() {
        for (const auto& [key, value] : pairs) set(key, value);
    }
    void set(const std::string& key, const std::string& value) {
        check(surrogate_options_set(handle_.get(), key.c_str(), value.c_str()));
    }
    surrogate_options* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_options, surrogate_options_destroy> handle_;
};

class Context {
public:
    /// One rank. For many: surrogate::Context ctx = surrogate::mpi_context(comm) in
    /// surrogate_mpi.hpp.
    explicit Context(const Options& options = {})
        : handle_(detail::made<surrogate_context>(
              [&](auto handle) { return surrogate_context_create(options.get(), handle); })) {}
    /// Takes a handle over.
    explicit Context(surrogate_context* handle) : handle_(handle) {}

    int rank() const { return ranks().first; }
    int size() const { return ranks().second; }
    /// Collective: throws on all ranks what the first failing one gives; see
    /// surrogate_context_agree.
    void agree(surrogate_status status, const char* text = nullptr) const {
        check(surrogate_context_agree(get(), status, text));
    }
    /// Collective; op: SURROGATE_SUM, SURROGATE_MAX or SURROGATE_MIN, of each of n values.
    void reduce(int32_t op, int64_t n, double* values) const {
        check(surrogate_context_reduce(get(), op, n, values));
    }
    double reduce(int32_t op, double value) const {
        reduce(op, 1, &value);
        return value;
    }
    std::string describe() const { return detail::text_of(get(), surrogate_context_describe); }
    void set_log(surrogate_log_function log, void* user) {
        check(surrogate_context_set_log(get(), log, user));
    }
    surrogate_context* get() const { return handle_.get(); }

private:
    std::pair<int, int> ranks() const {
        int32_t rank = 0, size = 0;
        check(surrogate_context_rank(get(), &rank, &size));
        return {rank, size};
    }
    detail::Owner<surrogate_context, surrogate_context_destroy> handle_;
};

class Model {
public:
    Model(const Context& context, const std::string& path)
        : handle_(detail::made<surrogate_model>([&](auto handle) {
              return surrogate_model_load(context.get(), path.c_str(), handle);
          })) {}
    /// From the bytes of a model file; the bytes of rank 0 count.
    Model(const Context& context, const void* bytes, int64_t n_bytes)
        : handle_(detail::made<surrogate_model>([&](auto handle) {
              return surrogate_model_load_memory(context.get(), bytes, n_bytes, handle);
          })) {}
    /// From a card and all weights; rank 0's count.
    Model(const Context& context, const std::string& card,
          const std::vector<surrogate_tensor>& tensors)
        : handle_(detail::made<surrogate_model>([&](auto handle) {
              return surrogate_model_create(context.get(), card.c_str(),
                                            static_cast<int32_t>(tensors.size()), tensors.data(),
                                            handle);
          })) {}
    /// Takes a handle over.
    explicit Model(surrogate_model* handle) : handle_(handle) {}

    /// Collective.
    void save(const std::string& path) const { check(surrogate_model_save(get(), path.c_str())); }
    std::vector<surrogate_field_info> inputs() const {
        return fields(surrogate_model_n_inputs, surrogate_model_input);
    }
    std::vector<surrogate_field_info> outputs() const {
        return fields(surrogate_model_n_outputs, surrogate_model_output);
    }
    /// Distribution of the pooled training inputs; n_feature 0: the card says nothing.
    surrogate_input_statistics input_statistics() const {
        surrogate_input_statistics info{};
        check(surrogate_model_input_statistics(get(), &info));
        return info;
    }
    uint64_t hash() const {
        uint64_t hash = 0;
        check(surrogate_model_hash(get(), &hash));
        return hash;
    }
    /// Kind of the input domain, and its grid on the sphere.
    surrogate_domain_info input_domain() const { return domain(0); }
    surrogate_domain_info output_domain() const { return domain(1); }
    /// Tensors of the bare network.
    std::vector<surrogate_port_info> ports() const {
        int32_t n = 0;
        check(surrogate_model_n_ports(get(), &n));
        std::vector<surrogate_port_info> list(static_cast<std::size_t>(n));
        for (int32_t i = 0; i < n; ++i)
            check(surrogate_model_port(get(), i, &list[static_cast<std::size_t>(i)]));
        return list;
    }
    bool port_is_optional(int32_t index) const {
        int32_t is_optional = 0;
        check(surrogate_model_port_is_optional(get(), index, &is_optional));
        return is_optional != 0;
    }
    std::string family() const { return detail::text_of(get(), surrogate_model_family); }
    /// Returns the error that `surrogate check` allows; see surrogate_model_check_bound.
    double check_bound(const std::string& precision, bool is_double, double official) const {
        double bound = 0;
        check(surrogate_model_check_bound(get(), precision.c_str(), is_double, official, &bound));
        return bound;
    }
    std::string describe() const { return detail::text_of(get(), surrogate_model_describe); }
    surrogate_model* get() const { return handle_.get(); }

private:
    surrogate_domain_info domain(int32_t is_output) const {
        surrogate_domain_info info{};
        check(surrogate_model_domain(get(), is_output, &info));
        return info;
    }
    std::vector<surrogate_field_info> fields(
        surrogate_status (*count)(const surrogate_model*, int32_t*),
        surrogate_status (*field)(const surrogate_model*, int32_t, surrogate_field_info*)) const {
        int32_t n = 0;
        check(count(get(), &n));
        std::vector<surrogate_field_info> list(static_cast<std::size_t>(n));
        for (int32_t i = 0; i < n; ++i) check(field(get(), i, &list[static_cast<std::size_t>(i)]));
        return list;
    }
    detail::Owner<surrogate_model, surrogate_model_destroy> handle_;
};

class CheckCase {
public:
    CheckCase(const Context& context, const std::string& path)
        : handle_(detail::made<surrogate_check_case>([&](auto handle) {
              return surrogate_check_case_load(context.get(), path.c_str(), handle);
          })) {}
    std::vector<surrogate_tensor> tensors() const {
        int32_t n = 0;
        check(surrogate_check_case_n_tensors(handle_.get(), &n));
        std::vector<surrogate_tensor> list(static_cast<std::size_t>(n));
        for (int32_t i = 0; i < n; ++i)
            check(
                surrogate_check_case_tensor(handle_.get(), i, &list[static_cast<std::size_t>(i)]));
        return list;
    }
    surrogate_check_case* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_check_case, surrogate_check_case_destroy> handle_;
};

class Domain {
public:
    /// Scattered points.
    Domain(const Context& context, const surrogate_points& points)
        : handle_(detail::made<surrogate_domain>([&](auto handle) {
              return surrogate_domain_create_points(context.get(), &points, handle);
          })) {}
    /// The same with coordinates x [n_local, 0..8] and global_id [n_local] or null only.
    Domain(const Context& context, const surrogate_array& x, const int64_t* global_id = nullptr)
        : Domain(context, surrogate_points{x, global_id, nullptr, nullptr}) {}
    /// A block of a grid on the sphere.
    Domain(const Context& context, const surrogate_sphere& sphere)
        : handle_(detail::made<surrogate_domain>([&](auto handle) {
              return surrogate_domain_create_sphere(context.get(), &sphere, handle);
          })) {}
    /// Takes a handle over.
    explicit Domain(surrogate_domain* handle) : handle_(handle) {}

    int64_t n_local() const { return counts().first; }
    int64_t n_global() const { return counts().second; }
    int64_t n_clouds() const {
        int64_t n = 0;
        check(surrogate_domain_n_clouds(get(), &n));
        return n;
    }
    /// Returns the data of a domain of scattered points; see surrogate_domain_points.
    surrogate_points points() const {
        surrogate_points points{};
        check(surrogate_domain_points(get(), &points));
        return points;
    }
    /// Collective: new coordinates, and new counts where points have come or gone; plans follow.
    void update_points(const surrogate_points& points) {
        check(surrogate_domain_update_points(get(), &points));
    }
    void update_points(const surrogate_array& x, const int64_t* global_id = nullptr) {
        update_points(surrogate_points{x, global_id, nullptr, nullptr});
    }
    /// Collective: edges by global ids, each given once, by any rank.
    void set_edges(const std::vector<int64_t>& source, const std::vector<int64_t>& target) {
        const bool fits = source.size() == target.size();
        check(surrogate_domain_set_edges(get(), fits ? static_cast<int64_t>(source.size()) : -1,
                                         source.data(), target.data()));
    }
    surrogate_domain* get() const { return handle_.get(); }

private:
    std::pair<int64_t, int64_t> counts() const {
        int64_t n_local = 0, n_global = 0;
        check(surrogate_domain_n_points(get(), &n_local, &n_global));
        return {n_local, n_global};
    }
    detail::Owner<surrogate_domain, surrogate_domain_destroy> handle_;
};

/// An order of the points of a domain that no partition changes; see surrogate_ordering_create.
class Ordering {
public:
    Ordering(const Domain& domain, int64_t row_bytes)
        : handle_(detail::made<surrogate_ordering>([&](auto handle) {
              return surrogate_ordering_create(domain.get(), row_bytes, handle);
          })) {}

    /// This rank's range of positions.
    int64_t first() const { return range().first; }
    int64_t n() const { return range().second; }
    /// Collective: rows of row_bytes bytes from the solver's partition to the order, and back.
    void to_canonical(int64_t row_bytes, const void* local, void* ordered) const {
        check(surrogate_ordering_to_canonical(get(), row_bytes, local, ordered));
    }
    void to_local(int64_t row_bytes, const void* ordered, void* local) const {
        check(surrogate_ordering_to_local(get(), row_bytes, ordered, local));
    }
    surrogate_ordering* get() const { return handle_.get(); }

private:
    std::pair<int64_t, int64_t> range() const {
        int64_t first = 0, n = 0;
        check(surrogate_ordering_range(get(), &first, &n));
        return {first, n};
    }
    detail::Owner<surrogate_ordering, surrogate_ordering_destroy> handle_;
};

class Plan {
public:
    Plan(const Model& model, const Domain& domain, const Options& options = {})
        : Plan(model, domain, domain, options) {}
    /// Between two domains.
    Plan(const Model& model, const Domain& input, const Domain& output, const Options& options = {})
        : handle_(detail::made<surrogate_plan>([&](auto handle) {
              return surrogate_plan_create(model.get(), input.get(), output.get(), options.get(),
                                           handle);
          })) {}
    /// Context, model, domain and plan in one call, on one rank. For many: mpi_plan in
    /// surrogate_mpi.hpp.
    Plan(const std::string& path, const surrogate_points& points, const Options& options = {})
        : handle_(detail::made<surrogate_plan>([&](auto handle) {
              return surrogate_plan_open(path.c_str(), &points, options.get(), handle);
          })) {}
    /// Takes a handle over.
    explicit Plan(surrogate_plan* handle) : handle_(handle) {}

    /// Returns the objects from which the plan was created; they share ownership with it.
    Context context() const {
        return Context(detail::made<surrogate_context>(
            [&](auto handle) { return surrogate_plan_context(get(), handle); }));
    }
    Model model() const {
        return Model(detail::made<surrogate_model>(
            [&](auto handle) { return surrogate_plan_model(get(), handle); }));
    }
    Domain input_domain() const { return domain(0); }
    Domain output_domain() const { return domain(1); }

    void bind_input(const std::string& name, const surrogate_array& array,
                    const char* unit = nullptr) {
        check(surrogate_plan_bind_input(get(), name.c_str(), unit, &array));
    }
    void bind_output(const std::string& name, const surrogate_array& array,
                     const char* unit = nullptr) {
        check(surrogate_plan_bind_output(get(), name.c_str(), unit, &array));
    }
    void bind_input(const std::string& name, const surrogate_block& block,
                    const char* unit = nullptr) {
        check(surrogate_plan_bind_input_block(get(), name.c_str(), unit, &block));
    }
    void bind_output(const std::string& name, const surrogate_block& block,
                     const char* unit = nullptr) {
        check(surrogate_plan_bind_output_block(get(), name.c_str(), unit, &block));
    }
    void run() { check(surrogate_plan_run(get())); }
    /// Takes part in a run that this rank cannot make; throws.
    void run_with_error(surrogate_status status, const char* text) {
        check(surrogate_plan_run_with_error(get(), status, text));
    }
    void run_network(const std::vector<surrogate_named_array>& inputs,
                     const std::vector<surrogate_named_array>& outputs) {
        check(surrogate_plan_run_network(get(), static_cast<int32_t>(inputs.size()), inputs.data(),
                                         static_cast<int32_t>(outputs.size()), outputs.data()));
    }
    /// stream: a cudaStream_t of the caller's; null is the default stream.
    void set_stream(void* stream) { check(surrogate_plan_set_stream(get(), stream)); }
    void wait() { check(surrogate_plan_wait(get())); }
    std::string option(const std::string& key) const {
        return detail::text_of([&](char* text, int64_t* n) {
            return surrogate_plan_option(get(), key.c_str(), text, n);
        });
    }
    int64_t counter(const std::string& key) const {
        int64_t value = 0;
        check(surrogate_plan_counter(get(), key.c_str(), &value));
        return value;
    }
    /// Extrapolation in an input, numbered as in Model::inputs().
    surrogate_range_info range(int32_t input) const {
        surrogate_range_info info{};
        check(surrogate_plan_range(get(), input, &info));
        return info;
    }
    std::string describe() const { return detail::text_of(get(), surrogate_plan_describe); }
    surrogate_plan* get() const { return handle_.get(); }

private:
    Domain domain(int32_t is_output) const {
        return Domain(detail::made<surrogate_domain>(
            [&](auto handle) { return surrogate_plan_domain(get(), is_output, handle); }));
    }
    detail::Owner<surrogate_plan, surrogate_plan_destroy> handle_;
};

}  // namespace surrogate

#endif
