// JSON as the contract needs it: no library for it comes with gRPC.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace json {

struct Value {
    enum Kind { kNull, kBool, kNumber, kText, kArray, kObject } kind = kNull;
    bool truth = false;
    double number = 0;
    std::string text;
    std::vector<Value> items;
    std::map<std::string, Value> fields;

    const Value& at(const std::string& name) const {
        auto found = fields.find(name);
        if (found == fields.end()) throw std::runtime_error("there is no field " + name);
        return found->second;
    }
    const std::string& as_text() const { return of(kText, "text"), text; }
    bool as_bool() const { return of(kBool, "true or false"), truth; }
    // Microseconds and ids: a double has them exactly, up to some centuries.
    std::int64_t as_int() const { return of(kNumber, "a number"), static_cast<std::int64_t>(number); }
    std::optional<std::int64_t> maybe_int() const {
        return kind == kNull ? std::nullopt : std::optional(as_int());
    }

  private:
    void of(Kind wanted, const char* what) const {
        if (kind != wanted) throw std::runtime_error(std::string("a field is not ") + what);
    }
};

class Reader {
  public:
    explicit Reader(const std::string& line) : at_(line.data()), end_(line.data() + line.size()) {}

    Value whole() {
        Value read = value(0);
        if (peek() != '\0') fail();
        return read;
    }

  private:
    static constexpr int kDeepest = 64;

    [[noreturn]] static void fail() { throw std::runtime_error("that is no JSON"); }

    char peek() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
        return at_ < end_ ? *at_ : '\0';
    }
    void take(const std::string& word) {
        peek();
        if (static_cast<std::size_t>(end_ - at_) < word.size() || word.compare(0, word.size(), at_, word.size())) fail();
        at_ += word.size();
    }
    bool took(char wanted) { return peek() == wanted ? (++at_, true) : false; }

    Value value(int depth) {
        if (depth > kDeepest) fail();
        Value read;
        switch (peek()) {
            case '{':
                read.kind = Value::kObject;
                for (take("{"); !took('}');) {
                    if (!read.fields.empty()) take(",");
                    std::string name = string();
                    take(":");
                    read.fields[name] = value(depth + 1);
                }
                return read;
            case '[':
                read.kind = Value::kArray;
                for (take("["); !took(']');) {
                    if (!read.items.empty()) take(",");
                    read.items.push_back(value(depth + 1));
                }
                return read;
            case '"': read.kind = Value::kText; read.text = string(); return read;
            case 't': take("true"); read.kind = Value::kBool; read.truth = true; return read;
            case 'f': take("false"); read.kind = Value::kBool; return read;
            case 'n': take("null"); return read;
            default: read.kind = Value::kNumber; read.number = number(); return read;
        }
    }

    double number() {
        const char* begin = at_;
        while (at_ < end_ && std::string("+-.eE0123456789").find(*at_) != std::string::npos) ++at_;
        std::string digits(begin, at_);
        std::size_t used = 0;
        double read = digits.empty() ? 0 : std::stod(digits, &used);
        if (digits.empty() || used != digits.size()) fail();
        return read;
    }

    std::string string() {
        take("\"");
        std::string read;
        while (at_ < end_ && *at_ != '"') {
            if (*at_ != '\\') {
                read += *at_++;
                continue;
            }
            if (++at_ == end_) fail();
            char escaped = *at_++;
            static const std::string kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
            if (auto place = kFrom.find(escaped); place != std::string::npos) read += kTo[place];
            else if (escaped == 'u') append(code_point(), read);
            else fail();
        }
        take("\"");
        return read;
    }

    std::uint32_t four_digits() {
        if (end_ - at_ < 4) fail();
        std::uint32_t read = std::stoul(std::string(at_, 4), nullptr, 16);
        at_ += 4;
        return read;
    }
    std::uint32_t code_point() {
        std::uint32_t first = four_digits();
        if (first < 0xD800 || first > 0xDBFF || end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') return first;
        at_ += 2;
        return 0x10000 + ((first - 0xD800) << 10) + (four_digits() - 0xDC00);
    }
    static void append(std::uint32_t code, std::string& to) {
        if (code < 0x80) {
            to += static_cast<char>(code);
        } else if (code < 0x800) {
            to += static_cast<char>(0xC0 | code >> 6);
            to += static_cast<char>(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            to += static_cast<char>(0xE0 | code >> 12);
            to += static_cast<char>(0x80 | (code >> 6 & 0x3F));
            to += static_cast<char>(0x80 | (code & 0x3F));
        } else {
            to += static_cast<char>(0xF0 | code >> 18);
            to += static_cast<char>(0x80 | (code >> 12 & 0x3F));
            to += static_cast<char>(0x80 | (code >> 6 & 0x3F));
            to += static_cast<char>(0x80 | (code & 0x3F));
        }
    }

    const char* at_;
    const char* end_;
};

// Text between quotation marks; what is not ASCII, in details for people alone, becomes a question mark.
inline std::string in_quotes(const std::string& text) {
    std::string out = "\"";
    for (unsigned char one : text) {
        if (one == '"' || one == '\\') {
            out += {'\\', static_cast<char>(one)};
        } else if (one < 0x20 || one == 0x7F) {
            static const char* kDigits = "0123456789abcdef";
            out += {'\\', 'u', '0', '0', kDigits[one >> 4], kDigits[one & 15]};
        } else {
            out += one < 0x80 ? static_cast<char>(one) : '?';
        }
    }
    return out + '"';
}

}  // namespace json
