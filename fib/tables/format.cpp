// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/format.h"

#include <algorithm>

namespace pktpit::fib {

using namespace std::string_view_literals;

const char* name_of(Compression compression) {
    switch (compression) {
        case Compression::xz:
            return "xz";
        case Compression::gzip:
            return "gzip";
        case Compression::bzip2:
            return "bzip2";
        default:
            return "none";
    }
}

const char* name_of(Format format) {
    switch (format) {
        case Format::json:
            return "json";
        case Format::mrt:
            return "mrt";
        default:
            return "text";
    }
}

Compression detect_compression(std::string_view head) {
    if (head.starts_with("\xfd"
                         "7zXZ\0"sv))
        return Compression::xz;
    // Method 8, deflate, is the only one there is (RFC 1952 section 2.3.1).
    if (head.starts_with("\x1f\x8b\x08"sv)) return Compression::gzip;
    // "BZh", the block size, then the magic of a block or of the end.
    if (head.size() >= 10 && head.starts_with("BZh"sv) && head[3] >= '1' && head[3] <= '9' &&
        (head.substr(4, 6) == "1AY&SY"sv || head.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv))
        return Compression::bzip2;
    return Compression::none;
}

Format detect_format(std::string_view head) {
    // A file cut within its first record header is still told as MRT, and then as cut.
    if (head.size() > 4 ? head[4] == 0 : head.find('\0') != std::string_view::npos) return Format::mrt;
    const size_t first = head.find_first_not_of(" \t\r\n\v\f");
    return first != std::string_view::npos && head[first] == '{' ? Format::json : Format::text;
}

}  // namespace pktpit::fib
