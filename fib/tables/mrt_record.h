// SPDX-License-Identifier: BSD-3-Clause
/// The outermost layer of MRT (RFC 6396 section 2): a stream of records, each with its time, type and length.
/// Used by the readers of tables and of updates. One thread. Keeps at most one record, and of those that
/// nobody wants nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "fib/tables/byte_cursor.h"

namespace pktpit::fib {

/// RFC 6396 section 4, RFC 8050 section 4. Only those that a reader looks into.
enum MrtType : uint16_t {
    mrt_table_dump = 12,
    mrt_table_dump_v2 = 13,
    mrt_bgp4mp = 16,
    mrt_bgp4mp_et = 17,
};

/// "TABLE_DUMP_V2 RIB_GENERIC", "BGP4MP BGP4MP_STATE_CHANGE", "MRT type 99 subtype 1".
std::string mrt_name(uint16_t type, uint16_t subtype);

struct MrtRecord {
    uint32_t seconds = 0;  ///< since 1970, UTC
    uint16_t type = 0;
    uint16_t subtype = 0;
    std::span<const uint8_t> body;  ///< valid during the call
    size_t number = 0;              ///< from 1
    uint64_t offset = 0;            ///< of the body in the (unpacked) file
};

/// "FILE: record 17 at byte 5331".
std::string mrt_place(const std::string& name, size_t record, uint64_t offset);
/// The fault as an Error of this record.
tl::unexpected<Error> mrt_error(const std::string& name, const MrtRecord& record, const Fault& fault);

class MrtFramer {
  public:
    using Wanted = std::function<bool(uint16_t type, uint16_t subtype)>;
    using Visitor = std::function<Result<void>(const MrtRecord& record)>;

    /// `wanted` is asked once a record; those it refuses are skipped unread. `name` must outlive the framer.
    MrtFramer(const std::string& name, Wanted wanted, Visitor visit)
        : name_(name), wanted_(std::move(wanted)), visit_(std::move(visit)) {}

    Result<void> feed(std::span<const uint8_t> bytes);
    /// A record that is not complete is an error.
    Result<void> finish();
    [[nodiscard]] size_t records() const { return number_; }

  private:
    Result<void> begin_record(std::span<const uint8_t> header);
    Result<void> visit(std::span<const uint8_t> body);
    std::span<const uint8_t> take(std::span<const uint8_t>& bytes, size_t count);

    const std::string& name_;
    Wanted wanted_;
    Visitor visit_;
    MrtRecord current_;
    bool in_record_ = false;     ///< the header is complete, the body is not
    bool keep_ = false;          ///< somebody wants the current record
    size_t missing_ = 0;         ///< bytes of the body
    std::vector<uint8_t> kept_;  ///< of a header or a body that a piece cuts
    size_t number_ = 0;
    uint64_t offset_ = 0;
    uint64_t record_offset_ = 0;  ///< of the current record's header
};

}  // namespace pktpit::fib
