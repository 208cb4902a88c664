// SPDX-License-Identifier: BSD-3-Clause
/// Updates out of MRT BGP4MP and BGP4MP_ET (RFC 6396 section 4.4, ADD-PATH: RFC 8050). Prefixes of IPv4 and
/// IPv6 unicast; an announcement's id is its next hop's address. What is said about other families, state
/// changes and BGP's other messages are counted and passed over. One thread; keeps one record.
#pragma once

#include <string>

#include "fib/tables/bgp.h"
#include "fib/tables/mrt_record.h"
#include "fib/tables/reading.h"
#include "fib/tables/update_reader.h"

namespace pktpit::fib {

class MrtUpdatesReader final : public PieceReader {
  public:
    /// All must outlive the reader.
    MrtUpdatesReader(const std::string& name, const ReadOptions& options, const UpdateVisitor& visit,
                     ReadSummary& summary);

    Result<void> feed(std::string_view piece) override;
    /// A file that holds a table instead is an error, and so is a peer asked for of whom there is nothing.
    Result<void> finish() override;

  private:
    Result<void> record(const MrtRecord& record);
    Result<void> read_update(ByteCursor message, bool add_path);
    Result<void> read_mp_reach(ByteCursor value, bool add_path);
    Result<void> read_mp_unreach(ByteCursor value, bool add_path);
    /// Prefixes up to the end of `bytes`; next_hop empty: withdrawn.
    Result<void> read_prefixes(ByteCursor bytes, Family family, bool add_path, std::string_view next_hop);
    std::optional<Family> family_of(ByteCursor& bytes);

    const std::string& name_;
    const ReadOptions& options_;
    const UpdateVisitor& visit_;
    ReadSummary& summary_;
    MrtFramer framer_;
    AddressTexts texts_;
    Update update_;
    size_t number_ = 0;  ///< of the current record
    uint64_t offset_ = 0;
    size_t messages_ = 0;   ///< BGP4MP records with a BGP message
    size_t from_peer_ = 0;  ///< of those, by the peers asked for
    size_t tables_ = 0;     ///< records that are not of updates but of a table
};

}  // namespace pktpit::fib
