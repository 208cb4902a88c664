// SPDX-License-Identifier: BSD-3-Clause
/// What all readers of tables and updates share: options, what they counted, and their common face. Plain
/// values, one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fib/tables/format.h"
#include "fib/tables/peer.h"

namespace pktpit::fib {

struct ReadOptions {
    /// Only what this peer said. An error for files without peers, that is all but MRT.
    std::optional<PeerSelector> peer;
    /// Files without peers are read whole instead.
    bool peer_where_known = false;
};

/// How often what was passed over, by name. A hostile file may hold billions of kinds: those beyond the first
/// hundred are counted together.
class SkipCounts {
  public:
    void add(std::string_view name, size_t count = 1);
    [[nodiscard]] const std::map<std::string, size_t, std::less<>>& by_name() const { return by_name_; }
    [[nodiscard]] size_t of(std::string_view name) const;

  private:
    std::map<std::string, size_t, std::less<>> by_name_;
};

struct ReadSummary {
    Format format = Format::text;
    Compression compression = Compression::none;
    size_t records = 0;       ///< lines with content, or MRT records
    size_t visited = 0;       ///< routes or updates
    SkipCounts skipped;       ///< what is legal but of no use here
    std::vector<Peer> peers;  ///< of the last list of peers in an MRT table
};

/// One format's reader: takes a file's bytes in pieces as they come.
class PieceReader {
  public:
    virtual ~PieceReader() = default;
    virtual Result<void> feed(std::string_view piece) = 0;
    virtual Result<void> finish() = 0;
};

/// Addresses as text, remembering the latest: a collector has some hundred next hops and prints them millions
/// of times.
class AddressTexts {
  public:
    /// Valid until the next call.
    std::string_view text_of(const IpAddress& address);

  private:
    struct Entry {
        IpAddress address;
        std::string text;
    };
    std::vector<Entry> entries_ = std::vector<Entry>(256);
};

}  // namespace pktpit::fib
