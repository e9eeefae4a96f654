// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/unit.hpp"

#include <array>
#include <cstddef>

#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {
namespace {

constexpr size_t longest_unit = 64;  // also bounds the recursion

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Recursive descent over
///   product = ['1'] factor { (' ' | '*' | '.' | '/' | middle dot) factor }
///   factor  = ( symbol | number | '(' product ')' ) [ power ]
///   power   = ( '^' | '**' ) exponent | [ '+' | '-' ] digits
///   exponent = [ sign ] number | '(' [ sign ] number [ '/' number ] ')'
class UnitParser {
public:
    explicit UnitParser(std::string_view text) : text_(text) {}

    std::string problem() {
        if (product() && at_ == text_.size()) return "";
        return "cannot be read from offset " + std::to_string(at_) + ", at '" +
               printable(text_.substr(at_), 20) + "'";
    }

private:
    bool product() {
        if (!factor()) return false;
        while (at_ < text_.size() && text_[at_] != ')') {
            if (!separator() || !factor()) return false;
        }
        return true;
    }

    /// Blanks around one operator, or blanks alone.
    bool separator() {
        const size_t begin = at_;
        blanks();
        if (!take("/") && !take("*") && !take(".")) take("\u00b7");
        blanks();
        return at_ > begin;
    }

    bool factor() {
        if (take("(")) return product() && take(")") && power();
        const bool is_number = at_ < text_.size() && is_digit(text_[at_]);
        return (is_number ? number() : symbol()) && power();
    }

    bool symbol() {
        // Letters, and the signs that units use outside of ASCII: degree, micro (twice in Unicode),
        // Ohm, Angstrom.
        static constexpr std::array<std::string_view, 7> signs{
            "%", "_", "\u00b0", "\u00b5", "\u03bc", "\u03a9", "\u00c5"};
        const size_t begin = at_;
        for (bool found = true; found;) {
            found = false;
            while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
            for (const std::string_view sign : signs) found = found || take(sign);
        }
        return at_ > begin;
    }

    bool power() {
        if (take("^") || take("**")) return exponent();
        const size_t begin = at_;
        if (!take("-")) take("+");
        if (digits()) return true;
        at_ = begin;
        return true;
    }

    bool exponent() {
        if (!take("(")) return signed_number();
        return signed_number() && (!take("/") || number()) && take(")");
    }

    bool signed_number() {
        if (!take("-")) take("+");
        return number();
    }

    bool number() {
        if (!digits()) return false;
        const size_t end_of_integer = at_;
        if (take(".") && !digits()) at_ = end_of_integer;  // "10.m": the point is a product
        if (!take("e") && !take("E")) return true;
        if (!take("-")) take("+");
        return digits();
    }

    bool digits() {
        const size_t begin = at_;
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        return at_ > begin;
    }

    void blanks() {
        while (take(" ")) {
        }
    }

    bool take(std::string_view token) {
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }

    static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace

std::string unit_problem(std::string_view unit) {
    if (unit.empty()) return "";
    if (unit.size() > longest_unit)
        return "is longer than " + std::to_string(longest_unit) + " bytes";
    return UnitParser(unit).problem();
}

}  // namespace surrogate::impl
