// SPDX-License-Identifier: Apache-2.0
// Contexts, options and what needs no other object. Contracts stand in surrogate.h.
#include <algorithm>
#include <cstring>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"
#include "libsurrogate/src/transport/device_transports.hpp"

using namespace surrogate::impl;

static_assert(static_cast<int>(Status::device) == SURROGATE_DEVICE &&
              static_cast<int>(Status::out_of_range) == SURROGATE_OUT_OF_RANGE &&
              static_cast<int>(Status::internal) == SURROGATE_INTERNAL &&
              static_cast<int>(Status::not_finite) == SURROGATE_NOT_FINITE &&
              static_cast<int>(Status::bad_file) == SURROGATE_BAD_FILE);

namespace surrogate::impl {

surrogate_error_text& thread_error() {
    thread_local surrogate_error_text error;
    return error;
}

void copy_text(std::string_view from, char* text, int64_t* n_text) {
    require(n_text, "n_text");
    const int64_t capacity = *n_text, needed = std::ssize(from) + 1;
    *n_text = needed;
    if (!text) return;
    if (capacity < 1)
        throw Error(Status::shape,
                    "n_text is " + std::to_string(capacity) + ", expected 1 or more");
    const int64_t n = std::min(capacity, needed) - 1;
    std::memcpy(text, from.data(), static_cast<size_t>(n));
    text[n] = '\0';
    if (capacity < needed) {
        throw Error(Status::shape, "the text needs " + std::to_string(needed) +
                                       " bytes, the buffer has " + std::to_string(capacity));
    }
}

}  // namespace surrogate::impl

const char* surrogate_version(void) {
    return version();
}

const char* surrogate_status_name(surrogate_status status) {
    static const char* const names[] = {
        "SUCCESS",       "INVALID_ARGUMENT", "UNKNOWN_NAME", "SHAPE",   "IO",  "BAD_FILE",
        "NOT_SUPPORTED", "NO_MEMORY",        "NOT_FINITE",   "LIMIT",   "MPI", "BROKEN",
        "INTERNAL",      "DEVICE",           "OUT_OF_RANGE", "CALLBACK"};
    return status >= 0 && status < std::ssize(names) ? names[status] : "UNKNOWN_STATUS";
}

const char* surrogate_error(const surrogate_context* context) {
    return context ? context->error->text : thread_error().text;
}

surrogate_status surrogate_options_create(surrogate_options** options) {
    return guarded(nullptr, [&] {
        require(options, "options");
        *options = nullptr;
        *options = new surrogate_options{};
    });
}

surrogate_status surrogate_options_set(surrogate_options* options, const char* key,
                                       const char* value) {
    return guarded(nullptr, [&] {
        require(options, "options");
        require(key, "key");
        require(value, "value");
        options->value.set(key, value);
    });
}

void surrogate_options_destroy(surrogate_options** options) {
    if (!options) return;
    delete *options;
    *options = nullptr;
}

surrogate_status surrogate_context_create(const surrogate_options* options,
                                          surrogate_context** context) {
    return guarded(nullptr, [&] {
        require(context, "context");
        *context = nullptr;
        uint64_t cores[16];
        process_cores(cores, 16);
        const int n_core = count_bits(cores, 16);
        auto created = std::make_unique<surrogate_context>();
        created->context = std::make_shared<Context>(
            self_communicator(), options ? options->value : Options{}, Placement{1, n_core, n_core},
            posix_files(), DeviceSources{load_device_plugin, collectives_with(load_nccl)});
        created->context->open();
        *context = created.release();
    });
}

surrogate_status surrogate_context_rank(const surrogate_context* context, int32_t* rank,
                                        int32_t* size) {
    return guarded(context, [&] {
        require(context, "context");
        require(rank, "rank");
        require(size, "size");
        *rank = context->context->comm().rank();
        *size = context->context->comm().size();
    });
}

surrogate_status surrogate_context_fail(surrogate_context* context, surrogate_status status,
                                        const char* text) {
    if (status == SURROGATE_SUCCESS) return status;
    return fail(context, static_cast<Status>(status), reason(text));
}

surrogate_status surrogate_context_agree(surrogate_context* context, surrogate_status status,
                                         const char* text) {
    return guarded(context, [&] {
        require(context, "context");
        context->context->comm().agree([&] {
            if (status == SURROGATE_SUCCESS) return;
            const surrogate_error_text& last = *context->error;
            const char* const words = reason(text ? text : last.text);
            if (last.is_echo && std::strcmp(words, last.text) == 0)
                throw EchoedError(static_cast<Status>(status), words);
            throw Error(static_cast<Status>(status), words);
        });
    });
}

surrogate_status surrogate_context_reduce(surrogate_context* context, int32_t op, int64_t n,
                                          double* values) {
    return guarded(context, [&] {
        require(context, "context");
        reduce(context->context->comm(), static_cast<ReduceBy>(op), n, values);
    });
}

surrogate_status surrogate_context_describe(const surrogate_context* context, char* text,
                                            int64_t* n_text) {
    return guarded(context, [&] {
        require(context, "context");
        copy_text(context->context->describe(), text, n_text);
    });
}

surrogate_status surrogate_context_set_log(surrogate_context* context, surrogate_log_function log,
                                           void* user) {
    return guarded(context, [&] {
        require(context, "context");
        if (!log) {
            context->context->set_log({});
            return;
        }
        context->context->set_log(
            [log, user](const std::string& text) { log(user, text.c_str()); });
    });
}

void surrogate_context_destroy(surrogate_context** context) {
    if (!context) return;
    delete *context;
    *context = nullptr;
}

surrogate_status surrogate_partition(const char* kind, int64_t n_rows, int32_t rank, int32_t size,
                                     int64_t* rows, int64_t* n_local) {
    return guarded(nullptr, [&] {
        require(kind, "kind");
        require(n_local, "n_local");
        const std::vector<int64_t> own = partition_rows(kind, n_rows, rank, size);
        *n_local = std::ssize(own);
        if (rows) std::ranges::copy(own, rows);
    });
}

surrogate_status surrogate_partition_sphere(const char* kind, int64_t n_lat, int64_t n_lon,
                                            int32_t rank, int32_t size, int64_t block[4]) {
    return guarded(nullptr, [&] {
        require(kind, "kind");
        require(block, "block");
        std::ranges::copy(partition_sphere(kind, n_lat, n_lon, rank, size), block);
    });
}
