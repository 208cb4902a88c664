// SPDX-License-Identifier: BSD-3-Clause
/// In what form a file of routes or updates is: told by its first bytes, never by its name. Pure values, any
/// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pktpit::fib {

enum class Compression : uint8_t { none, xz, gzip, bzip2 };

/// text: one route or update a line; json: one JSON object a line; mrt: RFC 6396.
enum class Format : uint8_t { text, json, mrt };

const char* name_of(Compression compression);  ///< "none", "xz", "gzip", "bzip2"
const char* name_of(Format format);            ///< "text", "json", "mrt"

/// As many bytes as detection needs, unless the file has fewer.
inline constexpr size_t detection_bytes = 16;

/// By the magic numbers.
Compression detect_compression(std::string_view head);

/// Of the unpacked bytes. MRT has no magic number, but the high byte of its record type, byte 4 of a file, is
/// 0 in every type assigned, and text holds no zero byte. JSON lines begin with '{'. All else is text, whose
/// reader says what is wrong with it.
Format detect_format(std::string_view head);

}  // namespace pktpit::fib
