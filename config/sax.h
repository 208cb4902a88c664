// SPDX-License-Identifier: BSD-3-Clause
/// nlohmann's SAX parser behind five virtual functions, so that it is compiled once. Internal to config/.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::config {

/// What a reader of JSON hears. Each function returns false to stop.
class SaxHandler {
  public:
    virtual ~SaxHandler() = default;
    virtual bool value(nlohmann::json&& scalar) = 0;
    virtual bool open(nlohmann::json&& container) = 0;  ///< an empty object or array begins
    virtual bool close() = 0;
    virtual bool member(std::string& name) = 0;  ///< the next value or container is that of this key
    virtual bool broken(Error&& error) = 0;      ///< not JSON; nothing follows
};

/// Reads the text once. `consumed` counts the bytes read so far, up to the end of the token that is reported
/// (one further for numbers). True if all of the text is JSON and the handler never stopped it.
bool read_events(std::string_view text, SaxHandler& handler, size_t& consumed);

/// Line and column, both from 1, of the byte at `offset`.
std::pair<size_t, size_t> position_of(std::string_view text, size_t offset);

/// The lines of ascending offsets, in one pass over the text.
class LineCounter {
  public:
    explicit LineCounter(std::string_view text) : text_(text) {}
    size_t line_at(size_t offset);  ///< not before the last one asked for

  private:
    std::string_view text_;
    size_t offset_ = 0;
    size_t line_ = 1;
};

}  // namespace pktpit::config
