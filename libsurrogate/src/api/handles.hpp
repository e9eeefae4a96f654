// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/core/hidden_characters.hpp"
#include "libsurrogate/src/domain/point_order.hpp"
#include "libsurrogate/src/plan/plan.hpp"
#include "surrogate/surrogate.h"

/// Objects behind the opaque handles. Each shares ownership of the objects that it uses, so that
/// handles may be destroyed in any order.

/// A fixed buffer: keeping the text of a failure must not fail. Nothing in it moves a terminal's
/// cursor: texts quote names from files.
struct surrogate_error_text {
    char text[2048] = "";
    bool is_echo = false;  ///< another rank knows the cause; see EchoedError
    void set(const char* new_text, bool echo) {
        surrogate::impl::copy_visible(new_text, text, sizeof text);
        is_echo = echo;
    }
};

struct surrogate_options {
    surrogate::impl::Options value;
};

struct surrogate_context {
    std::shared_ptr<surrogate::impl::Context> context;
    std::shared_ptr<surrogate_error_text> error = std::make_shared<surrogate_error_text>();
};

struct surrogate_model {
    surrogate_context owner;
    std::shared_ptr<const surrogate::impl::Model> model;
};

struct surrogate_check_case {
    surrogate_context owner;
    std::shared_ptr<const surrogate::impl::CheckCase> check_case;
};

struct surrogate_domain {
    surrogate_context owner;
    std::shared_ptr<surrogate::impl::Domain> domain;
};

struct surrogate_ordering {
    surrogate_context owner;
    std::shared_ptr<const surrogate::impl::PointOrder> order;
};

struct surrogate_plan {
    surrogate_context owner;
    std::optional<surrogate::impl::Plan> plan;
    /// Set while a call works on the plan; shared with trainers of the plan. See exclusive().
    std::shared_ptr<std::atomic_flag> is_in_use = std::make_shared<std::atomic_flag>();
};

namespace surrogate::impl {

/// Returns the text of this thread's last failed call.
surrogate_error_text& thread_error();

inline surrogate_status fail(const surrogate_context* context, Status status, const char* text,
                             bool is_echo = false) {
    thread_error().set(text, is_echo);
    if (context) context->error->set(text, is_echo);
    return static_cast<surrogate_status>(status);
}

/// Returns the text that a caller gives for a failure of its own.
inline const char* reason(const char* text) {
    return text && *text ? text : "no reason was given";
}

/// Calls work() and converts exceptions to a status: every function of the C interface runs inside,
/// so that no exception leaves the library. `context` (may be null) keeps the text.
template <class Work>
surrogate_status guarded(const surrogate_context* context, const Work& work) noexcept {
    try {
        work();
        return SURROGATE_SUCCESS;
    } catch (const EchoedError& error) {
        return fail(context, error.status(), error.what(), true);
    } catch (const Error& error) {
        return fail(context, error.status(), error.what());
    } catch (const std::bad_alloc&) {
        return fail(context, Status::no_memory, "out of memory");
    } catch (const std::length_error&) {
        return fail(context, Status::no_memory, "a count is larger than any memory");
    } catch (const std::exception& error) {
        return fail(context, Status::internal, error.what());
    } catch (...) {
        return fail(context, Status::internal, "unknown exception");
    }
}

template <class Handle>
const surrogate_context* owner_of(const Handle* handle) {
    return handle ? &handle->owner : nullptr;
}

/// Runs `call`, which returns a status, unless another call uses the plan at the same time: from
/// another thread, or higher on the stack of this thread (a log function). The error text is stored
/// per thread, as the other call owns the context. Does not allocate.
template <class Call>
surrogate_status exclusive(std::atomic_flag& is_in_use, const Call& call) {
    if (is_in_use.test_and_set(std::memory_order_acquire)) {
        return fail(nullptr, Status::invalid_argument,
                    "the plan is in use by another call, expected one call at a time; wait for the "
                    "call to return, or create a context and a plan per thread");
    }
    struct Release {
        std::atomic_flag& flag;
        ~Release() { flag.clear(std::memory_order_release); }
    } release{is_in_use};
    return call();
}

/// Throws invalid_argument naming the argument if it is null.
inline void require(const void* argument, const char* name) {
    if (!argument)
        throw Error(Status::invalid_argument, std::string("argument '") + name + "' is NULL");
}

/// Makes a handle around an object whose constructor is collective. The ranks agree beforehand on
/// the memory for both: a rank that fails to get it would otherwise leave the others waiting in the
/// constructor. `name` is the argument's in the C interface.
template <class Object, class Handle, class Member, class... Arguments>
void create(surrogate_context* context, const char* name, Handle** handle,
            std::shared_ptr<Member> Handle::*member, const Arguments&... arguments) {
    require(context, "context");
    if (handle) *handle = nullptr;
    std::unique_ptr<Handle> created;
    std::shared_ptr<std::optional<Object>> room;
    context->context->comm().agree([&] {
        require(handle, name);
        created = std::make_unique<Handle>();
        room = std::make_shared<std::optional<Object>>();
    });
    created->owner = *context;
    Object& object = room->emplace(context->context, arguments...);
    created.get()->*member = std::shared_ptr<Member>(room, &object);
    *handle = created.release();
}

/// Copies a text out as surrogate.h says of pairs (text, n_text).
void copy_text(std::string_view from, char* text, int64_t* n_text);

}  // namespace surrogate::impl
