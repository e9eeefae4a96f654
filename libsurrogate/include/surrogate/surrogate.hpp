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

/// Owners and exceptions over the C interface.
namespace surrogate {

/// Exception with a status that is not SURROGATE_SUCCESS, and the library's text.
class Error : public std::runtime_error {
public:
    /// Creates an exception with the text "STATUS: text".
    Error(surrogate_status status, const char* text)
        : std::runtime_error(std::string(surrogate_status_name(status)) + ": " + text),
          status_(status) {}
    /// Returns the status.
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

/// Describes a column of `n` values, `stride` elements apart. For one field of an interlaced array
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

/// Describes a row-major array [n][n_column], such as the coordinates of points.
template <class T>
surrogate_array matrix(T* data, int64_t n, int64_t n_column) {
    using Value = std::remove_const_t<T>;
    return {const_cast<Value*>(data),
            {n, n_column},
            {n_column, 1},
            detail::dtype_of<Value>::value,
            SURROGATE_HOST};
}

/// Returns the array with its data in memory of the plan's device (backend cuda).
inline surrogate_array on_device(surrogate_array array) {
    array.space = SURROGATE_CUDA;
    return array;
}

/// Describes one field in the inner points of an array of up to 4 axes; the first axis is the
/// fastest. For u(1:n_x, 1:n_y) in an array with one layer of ghost points: block(&u(1, 1), {n_x,
/// n_y}, {1, n_x + 2}). Throws Error (SHAPE) if the lists do not fit.
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

/// Options of a context or a plan: Options{{"precision", "fp32"}, {"reproducible", "true"}}; see
/// surrogate_options_create.
class Options {
public:
    /// Creates options without values.
    Options() : handle_(detail::made<surrogate_options>(surrogate_options_create)) {}
    /// Creates options with values, which are checked as in set.
    Options(std::initializer_list<std::pair<std::string, std::string>> pairs) : Options() {
        for (const auto& [key, value] : pairs) set(key, value);
    }
    /// Sets a value; see surrogate_options_set.
    void set(const std::string& key, const std::string& value) {
        check(surrogate_options_set(handle_.get(), key.c_str(), value.c_str()));
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_options* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_options, surrogate_options_destroy> handle_;
};

/// Communicator, default options and log of a job.
class Context {
public:
    /// Creates a context of one rank. For several ranks use mpi_context in surrogate_mpi.hpp.
    explicit Context(const Options& options = {})
        : handle_(detail::made<surrogate_context>(
              [&](auto handle) { return surrogate_context_create(options.get(), handle); })) {}
    /// Takes ownership of a handle of the C interface.
    explicit Context(surrogate_context* handle) : handle_(handle) {}

    /// Returns this rank.
    int rank() const { return ranks().first; }
    /// Returns the number of ranks.
    int size() const { return ranks().second; }
    /// Throws the error of the first rank that failed, on all ranks. Collective; see
    /// surrogate_context_agree.
    void agree(surrogate_status status, const char* text = nullptr) const {
        check(surrogate_context_agree(get(), status, text));
    }
    /// Reduces each of n values over the ranks, in place. op: SURROGATE_SUM, SURROGATE_MAX or
    /// SURROGATE_MIN. Collective; see surrogate_context_reduce.
    void reduce(int32_t op, int64_t n, double* values) const {
        check(surrogate_context_reduce(get(), op, n, values));
    }
    /// Returns one value reduced over the ranks. Collective.
    double reduce(int32_t op, double value) const {
        reduce(op, 1, &value);
        return value;
    }
    /// Returns a text for a log; see surrogate_context_describe.
    std::string describe() const { return detail::text_of(get(), surrogate_context_describe); }
    /// Sets the log function of this rank; null: no log. See surrogate_context_set_log.
    void set_log(surrogate_log_function log, void* user) {
        check(surrogate_context_set_log(get(), log, user));
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_context* get() const { return handle_.get(); }

private:
    std::pair<int, int> ranks() const {
        int32_t rank = 0, size = 0;
        check(surrogate_context_rank(get(), &rank, &size));
        return {rank, size};
    }
    detail::Owner<surrogate_context, surrogate_context_destroy> handle_;
};

/// Network, weights and model card.
class Model {
public:
    /// Loads a model file. Collective; see surrogate_model_load.
    Model(const Context& context, const std::string& path)
        : handle_(detail::made<surrogate_model>([&](auto handle) {
              return surrogate_model_load(context.get(), path.c_str(), handle);
          })) {}
    /// Loads a model from the bytes of a model file on rank 0. Collective; see
    /// surrogate_model_load_memory.
    Model(const Context& context, const void* bytes, int64_t n_bytes)
        : handle_(detail::made<surrogate_model>([&](auto handle) {
              return surrogate_model_load_memory(context.get(), bytes, n_bytes, handle);
          })) {}
    /// Creates a model from the card and all weights of rank 0. Collective; see
    /// surrogate_model_create.
    Model(const Context& context, const std::string& card,
          const std::vector<surrogate_tensor>& tensors)
        : handle_(detail::made<surrogate_model>([&](auto handle) {
              return surrogate_model_create(context.get(), card.c_str(),
                                            static_cast<int32_t>(tensors.size()), tensors.data(),
                                            handle);
          })) {}
    /// Takes ownership of a handle of the C interface.
    explicit Model(surrogate_model* handle) : handle_(handle) {}

    /// Writes a model file. Collective; see surrogate_model_save.
    void save(const std::string& path) const { check(surrogate_model_save(get(), path.c_str())); }
    /// Returns the input fields of the card.
    std::vector<surrogate_field_info> inputs() const {
        return fields(surrogate_model_n_inputs, surrogate_model_input);
    }
    /// Returns the output fields of the card.
    std::vector<surrogate_field_info> outputs() const {
        return fields(surrogate_model_n_outputs, surrogate_model_output);
    }
    /// Returns the statistics of the training inputs; n_feature is 0 if the card has none.
    surrogate_input_statistics input_statistics() const {
        surrogate_input_statistics info{};
        check(surrogate_model_input_statistics(get(), &info));
        return info;
    }
    /// Returns a number that identifies card and weights; see surrogate_model_hash.
    uint64_t hash() const {
        uint64_t hash = 0;
        check(surrogate_model_hash(get(), &hash));
        return hash;
    }
    /// Returns the kind of the input domain, and its grid on the sphere.
    surrogate_domain_info input_domain() const { return domain(0); }
    /// Returns the kind of the output domain, and its grid on the sphere.
    surrogate_domain_info output_domain() const { return domain(1); }
    /// Returns the tensors of the bare network.
    std::vector<surrogate_port_info> ports() const {
        int32_t n = 0;
        check(surrogate_model_n_ports(get(), &n));
        std::vector<surrogate_port_info> list(static_cast<std::size_t>(n));
        for (int32_t i = 0; i < n; ++i)
            check(surrogate_model_port(get(), i, &list[static_cast<std::size_t>(i)]));
        return list;
    }
    /// Returns true if runs may omit a port; see surrogate_model_port_is_optional.
    bool port_is_optional(int32_t index) const {
        int32_t is_optional = 0;
        check(surrogate_model_port_is_optional(get(), index, &is_optional));
        return is_optional != 0;
    }
    /// Returns the family of the card, such as "flare".
    std::string family() const { return detail::text_of(get(), surrogate_model_family); }
    /// Returns the error that `surrogate check` allows; see surrogate_model_check_bound.
    double check_bound(const std::string& precision, bool is_double, double official) const {
        double bound = 0;
        check(surrogate_model_check_bound(get(), precision.c_str(), is_double, official, &bound));
        return bound;
    }
    /// Returns a description in JSON; see surrogate_model_describe.
    std::string describe() const { return detail::text_of(get(), surrogate_model_describe); }
    /// Returns the handle of the C interface, borrowed.
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

/// Stored inputs and outputs of a model file.
class CheckCase {
public:
    /// Loads the check case of a model file. Collective; see surrogate_check_case_load.
    CheckCase(const Context& context, const std::string& path)
        : handle_(detail::made<surrogate_check_case>([&](auto handle) {
              return surrogate_check_case_load(context.get(), path.c_str(), handle);
          })) {}
    /// Returns the tensors; their names and data belong to the check case.
    std::vector<surrogate_tensor> tensors() const {
        int32_t n = 0;
        check(surrogate_check_case_n_tensors(handle_.get(), &n));
        std::vector<surrogate_tensor> list(static_cast<std::size_t>(n));
        for (int32_t i = 0; i < n; ++i)
            check(
                surrogate_check_case_tensor(handle_.get(), i, &list[static_cast<std::size_t>(i)]));
        return list;
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_check_case* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_check_case, surrogate_check_case_destroy> handle_;
};

/// Points of the solver on which models work.
class Domain {
public:
    /// Creates a domain of scattered points. Collective; see surrogate_domain_create_points.
    Domain(const Context& context, const surrogate_points& points)
        : handle_(detail::made<surrogate_domain>([&](auto handle) {
              return surrogate_domain_create_points(context.get(), &points, handle);
          })) {}
    /// Creates a domain of scattered points from x [n_local, 0..8] and global_id [n_local] or null,
    /// without clouds and weights. Collective.
    Domain(const Context& context, const surrogate_array& x, const int64_t* global_id = nullptr)
        : Domain(context, surrogate_points{x, global_id, nullptr, nullptr}) {}
    /// Creates a domain of a grid on the sphere from this rank's block. Collective; see
    /// surrogate_domain_create_sphere.
    Domain(const Context& context, const surrogate_sphere& sphere)
        : handle_(detail::made<surrogate_domain>([&](auto handle) {
              return surrogate_domain_create_sphere(context.get(), &sphere, handle);
          })) {}
    /// Takes ownership of a handle of the C interface.
    explicit Domain(surrogate_domain* handle) : handle_(handle) {}

    /// Returns the number of points of this rank.
    int64_t n_local() const { return counts().first; }
    /// Returns the number of points of all ranks.
    int64_t n_global() const { return counts().second; }
    /// Returns the number of clouds; see surrogate_domain_n_clouds.
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
    /// Replaces the points; plans adapt in their next run. Collective; see
    /// surrogate_domain_update_points.
    void update_points(const surrogate_points& points) {
        check(surrogate_domain_update_points(get(), &points));
    }
    /// Replaces the points of a domain without clouds and weights. Collective.
    void update_points(const surrogate_array& x, const int64_t* global_id = nullptr) {
        update_points(surrogate_points{x, global_id, nullptr, nullptr});
    }
    /// Sets the edges by global ids; each edge is passed once, by any rank. Collective; see
    /// surrogate_domain_set_edges.
    void set_edges(const std::vector<int64_t>& source, const std::vector<int64_t>& target) {
        const bool fits = source.size() == target.size();
        check(surrogate_domain_set_edges(get(), fits ? static_cast<int64_t>(source.size()) : -1,
                                         source.data(), target.data()));
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_domain* get() const { return handle_.get(); }

private:
    std::pair<int64_t, int64_t> counts() const {
        int64_t n_local = 0, n_global = 0;
        check(surrogate_domain_n_points(get(), &n_local, &n_global));
        return {n_local, n_global};
    }
    detail::Owner<surrogate_domain, surrogate_domain_destroy> handle_;
};

/// Points of a domain in the canonical ordering, which does not depend on the partition.
class Ordering {
public:
    /// Creates the ordering for rows of up to row_bytes bytes. Collective; see
    /// surrogate_ordering_create.
    Ordering(const Domain& domain, int64_t row_bytes)
        : handle_(detail::made<surrogate_ordering>([&](auto handle) {
              return surrogate_ordering_create(domain.get(), row_bytes, handle);
          })) {}

    /// Returns the first position of this rank's range.
    int64_t first() const { return range().first; }
    /// Returns the number of positions of this rank's range.
    int64_t n() const { return range().second; }
    /// Sends rows from the solver's partition to the canonical ordering. Collective; see
    /// surrogate_ordering_to_canonical.
    void to_canonical(int64_t row_bytes, const void* local, void* ordered) const {
        check(surrogate_ordering_to_canonical(get(), row_bytes, local, ordered));
    }
    /// Sends rows from the canonical ordering to the solver's partition. Collective; see
    /// surrogate_ordering_to_local.
    void to_local(int64_t row_bytes, const void* ordered, void* local) const {
        check(surrogate_ordering_to_local(get(), row_bytes, ordered, local));
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_ordering* get() const { return handle_.get(); }

private:
    std::pair<int64_t, int64_t> range() const {
        int64_t first = 0, n = 0;
        check(surrogate_ordering_range(get(), &first, &n));
        return {first, n};
    }
    detail::Owner<surrogate_ordering, surrogate_ordering_destroy> handle_;
};

/// A model on a domain, ready to run.
class Plan {
public:
    /// Creates a plan with input and output on one domain. Collective; see surrogate_plan_create.
    Plan(const Model& model, const Domain& domain, const Options& options = {})
        : Plan(model, domain, domain, options) {}
    /// Creates a plan between two domains. Collective; see surrogate_plan_create.
    Plan(const Model& model, const Domain& input, const Domain& output, const Options& options = {})
        : handle_(detail::made<surrogate_plan>([&](auto handle) {
              return surrogate_plan_create(model.get(), input.get(), output.get(), options.get(),
                                           handle);
          })) {}
    /// Creates context, model, domain and plan in one call, on one rank. For several ranks use
    /// mpi_plan in surrogate_mpi.hpp.
    Plan(const std::string& path, const surrogate_points& points, const Options& options = {})
        : handle_(detail::made<surrogate_plan>([&](auto handle) {
              return surrogate_plan_open(path.c_str(), &points, options.get(), handle);
          })) {}
    /// Takes ownership of a handle of the C interface.
    explicit Plan(surrogate_plan* handle) : handle_(handle) {}

    /// Returns the context of the plan; the object shares its ownership.
    Context context() const {
        return Context(detail::made<surrogate_context>(
            [&](auto handle) { return surrogate_plan_context(get(), handle); }));
    }
    /// Returns the model of the plan; the object shares its ownership.
    Model model() const {
        return Model(detail::made<surrogate_model>(
            [&](auto handle) { return surrogate_plan_model(get(), handle); }));
    }
    /// Returns the input domain of the plan; the object shares its ownership.
    Domain input_domain() const { return domain(0); }
    /// Returns the output domain of the plan; the object shares its ownership.
    Domain output_domain() const { return domain(1); }

    /// Binds an array to an input field; unit null: not checked. See surrogate_plan_bind_input.
    void bind_input(const std::string& name, const surrogate_array& array,
                    const char* unit = nullptr) {
        check(surrogate_plan_bind_input(get(), name.c_str(), unit, &array));
    }
    /// Binds an array to an output field; unit null: not checked. See surrogate_plan_bind_output.
    void bind_output(const std::string& name, const surrogate_array& array,
                     const char* unit = nullptr) {
        check(surrogate_plan_bind_output(get(), name.c_str(), unit, &array));
    }
    /// Binds one number for all clouds to an input of role SURROGATE_CLOUD. Runs read the variable.
    void bind_input(const std::string& name, const double& value, const char* unit = nullptr) {
        bind_input(name, column(&value, 1), unit);
    }
    /// Binds one number in single precision for all clouds. Runs read the variable.
    void bind_input(const std::string& name, const float& value, const char* unit = nullptr) {
        bind_input(name, column(&value, 1), unit);
    }
    /// Rejects a temporary: runs read the variable, which must outlive the call.
    void bind_input(const std::string&, const double&&, const char* = nullptr) = delete;
    /// Rejects a temporary in single precision.
    void bind_input(const std::string&, const float&&, const char* = nullptr) = delete;
    /// Binds a strided block to an input field; see surrogate_plan_bind_input_block.
    void bind_input(const std::string& name, const surrogate_block& block,
                    const char* unit = nullptr) {
        check(surrogate_plan_bind_input_block(get(), name.c_str(), unit, &block));
    }
    /// Binds a strided block to an output field; see surrogate_plan_bind_output_block.
    void bind_output(const std::string& name, const surrogate_block& block,
                     const char* unit = nullptr) {
        check(surrogate_plan_bind_output_block(get(), name.c_str(), unit, &block));
    }
    /// Evaluates the surrogate on the bound fields. Collective; see surrogate_plan_run.
    void run() { check(surrogate_plan_run(get())); }
    /// Binds dL / d(output), which backward runs read; the plan has option gradients=inputs. See
    /// surrogate_plan_bind_output_gradient.
    void bind_output_gradient(const std::string& name, const surrogate_array& w,
                              const char* unit = nullptr) {
        check(surrogate_plan_bind_output_gradient(get(), name.c_str(), unit, &w));
    }
    /// Binds dL / d(input), which backward runs write; the plan has option gradients=inputs. See
    /// surrogate_plan_bind_input_gradient.
    void bind_input_gradient(const std::string& name, const surrogate_array& g,
                             const char* unit = nullptr) {
        check(surrogate_plan_bind_input_gradient(get(), name.c_str(), unit, &g));
    }
    /// Binds dL / d(output) in a strided block; see surrogate_plan_bind_output_gradient_block.
    void bind_output_gradient(const std::string& name, const surrogate_block& w,
                              const char* unit = nullptr) {
        check(surrogate_plan_bind_output_gradient_block(get(), name.c_str(), unit, &w));
    }
    /// Binds dL / d(input) in a strided block; see surrogate_plan_bind_input_gradient_block.
    void bind_input_gradient(const std::string& name, const surrogate_block& g,
                             const char* unit = nullptr) {
        check(surrogate_plan_bind_input_gradient_block(get(), name.c_str(), unit, &g));
    }
    /// Differentiates the last run. Collective; see surrogate_plan_run_backward.
    void run_backward() { check(surrogate_plan_run_backward(get())); }

    /// Binds a direction of an input; the plan has option gradients=inputs. See
    /// surrogate_plan_bind_input_tangent.
    void bind_input_tangent(const std::string& name, const surrogate_array& v,
                            const char* unit = nullptr) {
        check(surrogate_plan_bind_input_tangent(get(), name.c_str(), unit, &v));
    }
    /// Binds the derivative of an output along the directions; the plan has option
    /// gradients=inputs. See surrogate_plan_bind_output_tangent.
    void bind_output_tangent(const std::string& name, const surrogate_array& jv,
                             const char* unit = nullptr) {
        check(surrogate_plan_bind_output_tangent(get(), name.c_str(), unit, &jv));
    }
    /// Binds a direction in a strided block; see surrogate_plan_bind_input_tangent_block.
    void bind_input_tangent(const std::string& name, const surrogate_block& v,
                            const char* unit = nullptr) {
        check(surrogate_plan_bind_input_tangent_block(get(), name.c_str(), unit, &v));
    }
    /// Binds the derivative of an output in a strided block; see
    /// surrogate_plan_bind_output_tangent_block.
    void bind_output_tangent(const std::string& name, const surrogate_block& jv,
                             const char* unit = nullptr) {
        check(surrogate_plan_bind_output_tangent_block(get(), name.c_str(), unit, &jv));
    }
    /// Computes J v. Collective; see surrogate_plan_run_tangent.
    void run_tangent() { check(surrogate_plan_run_tangent(get())); }
    /// Takes part in a run that this rank cannot make, and throws. Collective; see
    /// surrogate_plan_run_with_error.
    void run_with_error(surrogate_status status, const char* text) {
        check(surrogate_plan_run_with_error(get(), status, text));
    }
    /// Evaluates the bare network on named tensors. Collective; see surrogate_plan_run_network.
    void run_network(const std::vector<surrogate_named_array>& inputs,
                     const std::vector<surrogate_named_array>& outputs) {
        check(surrogate_plan_run_network(get(), static_cast<int32_t>(inputs.size()), inputs.data(),
                                         static_cast<int32_t>(outputs.size()), outputs.data()));
    }
    /// Sets the stream of a plan with backend cuda: a cudaStream_t of the caller; null: the default
    /// stream. See surrogate_plan_set_stream.
    void set_stream(void* stream) { check(surrogate_plan_set_stream(get(), stream)); }
    /// Waits until all enqueued runs are done; see surrogate_plan_wait.
    void wait() { check(surrogate_plan_wait(get())); }
    /// Returns the value in force of an option; see surrogate_plan_option.
    std::string option(const std::string& key) const {
        return detail::text_of([&](char* text, int64_t* n) {
            return surrogate_plan_option(get(), key.c_str(), text, n);
        });
    }
    /// Returns a counter of this rank; see surrogate_plan_counter.
    int64_t counter(const std::string& key) const {
        int64_t value = 0;
        check(surrogate_plan_counter(get(), key.c_str(), &value));
        return value;
    }
    /// Returns the extrapolation of an input, numbered as in Model::inputs().
    surrogate_range_info range(int32_t input) const {
        surrogate_range_info info{};
        check(surrogate_plan_range(get(), input, &info));
        return info;
    }
    /// Returns a table for a log; see surrogate_plan_describe.
    std::string describe() const { return detail::text_of(get(), surrogate_plan_describe); }
    /// Returns the handle of the C interface, borrowed.
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
