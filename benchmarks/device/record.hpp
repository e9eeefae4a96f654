// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdio>
#include <string>

namespace surrogate::benchmarks {

/// One line of JSON: the results of the program, one record per line, written immediately.
class Record {
public:
    explicit Record(const std::string& part) { add("part", part); }

    Record& add(const std::string& key, const std::string& value) {
        return put(key, "\"" + escaped(value) + "\"");
    }
    Record& add(const std::string& key, const char* value) { return add(key, std::string(value)); }
    Record& add(const std::string& key, bool value) { return put(key, value ? "true" : "false"); }
    Record& add(const std::string& key, std::integral auto value) {
        return put(key, std::to_string(value));
    }
    /// Adds a number; NaN and infinity become null, because JSON cannot represent them.
    Record& add(const std::string& key, double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.6g", value);
        return put(key, value - value == 0 ? text : "null");
    }
    /// Writes the record to disk at once, so that a stopped run keeps its results.
    void write(std::FILE* file) const {
        std::fprintf(file, "{%s}\n", text_.c_str());
        std::fflush(file);
    }

private:
    Record& put(const std::string& key, const std::string& value) {
        text_ += (text_.empty() ? "\"" : ", \"") + key + "\": " + value;
        return *this;
    }
    static std::string escaped(const std::string& value) {
        std::string text;
        for (const char c : value) {
            if (c == '"' || c == '\\') text += '\\';
            text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return text;
    }
    std::string text_;
};

}  // namespace surrogate::benchmarks
