// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::timeloop {

/// A failure of this rank: what was asked, what was found, what would help. It becomes an Error when
/// the ranks have agreed on it.
class Failure : public std::runtime_error {
public:
    Failure(surrogate_status status, const std::string& text)
        : std::runtime_error(text), status_(status) {}
    surrogate_status status() const { return status_; }

private:
    surrogate_status status_;
};

/// Runs work of this rank; the text of what it throws is kept for surrogate_error(). Local.
template <class Work>
surrogate_status status_of(surrogate_context* context, const Work& work) noexcept {
    try {
        work();
        return SURROGATE_SUCCESS;
    } catch (const Failure& failure) {
        return surrogate_context_fail(context, failure.status(), failure.what());
    } catch (const Error& error) {  // of a call of the library, which has kept the text
        return error.status();
    } catch (const std::bad_alloc&) {
        return surrogate_context_fail(context, SURROGATE_NO_MEMORY, "out of memory");
    } catch (const std::exception& error) {
        return surrogate_context_fail(context, SURROGATE_INTERNAL, error.what());
    } catch (...) {
        return surrogate_context_fail(context, SURROGATE_INTERNAL, "an exception of unknown type");
    }
}

/// Runs work of this rank, without communication; then all ranks go on, or all throw the Error of
/// the first that failed. Collective.
template <class Work>
void agreed(surrogate_context* context, const Work& work) {
    const surrogate_status status = status_of(context, work);
    check(surrogate_context_agree(context, status, nullptr));
}

/// Words that go to all ranks, bit for bit, where only one rank knows each of them.
class SharedWords {
public:
    void resize(size_t n) {
        words_.resize(n);
        halves_.resize(2 * n);
    }
    uint64_t& operator[](size_t i) { return words_[i]; }

    /// Makes each word the sum over the ranks; no more than one rank has set it. Collective, takes no
    /// memory; the number of words is the same on all ranks.
    void share(surrogate_context* context) {
        for (size_t i = 0; i < words_.size(); ++i) {
            halves_[2 * i] = static_cast<double>(words_[i] >> 32);
            halves_[2 * i + 1] = static_cast<double>(words_[i] & 0xffffffffu);
        }
        check(surrogate_context_reduce(context, SURROGATE_SUM, static_cast<int64_t>(halves_.size()),
                                       halves_.data()));
        for (size_t i = 0; i < words_.size(); ++i)
            words_[i] = static_cast<uint64_t>(halves_[2 * i]) << 32 |
                        static_cast<uint64_t>(halves_[2 * i + 1]);
    }

private:
    std::vector<uint64_t> words_;
    std::vector<double> halves_;  // of 32 bits each, which a sum of doubles keeps
};

}  // namespace surrogate::timeloop
