// SPDX-License-Identifier: BSD-3-Clause
/// Routes out of MRT TABLE_DUMP_V2 (RFC 6396 section 4.3, ADD-PATH: RFC 8050): one route a prefix, the best
/// of its entries (fib/tables/best_path.h) or that of a peer asked for. A route's id is its next hop's
/// address. One thread; keeps the list of peers and one record.
#pragma once

#include <string>
#include <vector>

#include "fib/tables/best_path.h"
#include "fib/tables/bgp.h"
#include "fib/tables/mrt_record.h"
#include "fib/tables/reading.h"
#include "fib/tables/table_file.h"

namespace pktpit::fib {

class MrtTableReader final : public PieceReader {
  public:
    /// All must outlive the reader. The visitor's `line` is the record's number.
    MrtTableReader(const std::string& name, const ReadOptions& options, const TableVisitor& visit,
                   ReadSummary& summary);

    Result<void> feed(std::string_view piece) override;
    /// A file without any table is an error.
    Result<void> finish() override;

  private:
    Result<void> record(const MrtRecord& record);
    void read_peers(ByteCursor body);
    Result<void> check_selector(const MrtRecord& record) const;
    /// The prefix; its entries go to candidates_.
    Prefix read_rib(ByteCursor body, Family family, bool add_path);
    void read_entry(ByteCursor& body, Family family, bool add_path);
    std::optional<IpAddress> next_hop_of(PathAttributes& attributes, Family family) const;

    const std::string& name_;
    const ReadOptions& options_;
    const TableVisitor& visit_;
    ReadSummary& summary_;
    MrtFramer framer_;
    bool has_peers_ = false;
    std::vector<bool> wanted_;  ///< by peer index
    std::vector<PathCandidate> candidates_;
    AddressTexts texts_;
    size_t updates_ = 0;  ///< records that are not of a table but of updates
};

}  // namespace pktpit::fib
