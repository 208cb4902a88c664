// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/wire_format.h"

#include <cmath>
#include <cstdio>

namespace pktpit::model {
namespace {

constexpr double flit_speed = 64;
constexpr double skp_share = 4.0 / 1538;
constexpr unsigned framing = 8;  // STP, sequence number, LCRC (sections 3.6.2, 4.2.2)
constexpr unsigned ecrc_bytes = 4;
constexpr uint64_t four_gib = uint64_t{1} << 32;

double tlp_bytes_per_second(const LinkSettings& settings) {
    // Flits leave no choice: their TLP bytes are theirs.
    if (settings.data_link == DataLink::share || settings.link.gigatransfers >= flit_speed)
        return offload::tlp_rate(settings.link, settings.mps);
    const double raw = offload::raw_rate(settings.link);
    return settings.data_link == DataLink::none ? raw : raw * (1 - skp_share);
}

}  // namespace

std::string data_link_words(const LinkSettings& settings) {
    const auto text = [](double value, int digits) {
        std::array<char, 32> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
        return std::string(buffer.data());
    };
    if (settings.link.gigatransfers >= flit_speed) return "flits: 236 of 256 bytes are TLPs'";
    if (settings.data_link == DataLink::none) return "none: nothing is charged";
    const double symbols = offload::ack_interval_symbols(settings.link, settings.mps);
    const bool share = settings.data_link == DataLink::share;
    const double bytes = share ? symbols : symbols * settings.link.lanes;
    return std::string(share ? "share (pcie-bench): " : "dllps: ") + "16 B of DLLPs in " + text(bytes, 0) +
           " B, " + text(1600 / bytes, 1) + " %, " +
           (share ? "whatever comes in" : "of the direction against which TLPs come in") +
           "; SKP ordered sets " + text(100 * skp_share, 1) + " %";
}

WireFormat::WireFormat(const LinkSettings& settings) : cxl_(settings.cxl) {
    const double rate = settings.cxl ? offload::raw_rate(settings.link) : tlp_bytes_per_second(settings);
    if (rate <= 0) return;
    ps_per_byte_ = static_cast<uint64_t>(std::llround(1e12 / rate * (1 << fraction)));
    const bool flits = settings.link.gigatransfers >= flit_speed;
    // A flit carries its own CRC; TLPs in it have neither STP nor LCRC (PCIe Base 6.0, section 4.2.3).
    around_ = (flits ? 0 : framing) + (settings.ecrc ? ecrc_bytes : 0);
    if (flits) flit_time_ = time(236);
    if (settings.cxl) return;
    if (settings.data_link == DataLink::dllps && !flits) {
        const double symbols = offload::ack_interval_symbols(settings.link, settings.mps);
        const double symbol_ps = 1e12 * settings.link.lanes / offload::raw_rate(settings.link);
        ack_interval_ = static_cast<Time>(symbols * symbol_ps);
    }
}

uint32_t WireFormat::bytes(const Tlp& tlp) const {
    // A request or a response is a slot; each line of data is four.
    if (cxl_) {
        const auto lines = static_cast<uint32_t>((tlp.address % 64 + tlp.length + 63) / 64);
        return cxl_slot_bytes * (1 + (has_data(tlp.type) ? 4 * lines : 0));
    }
    uint32_t header = 12;
    if (tlp.type == TlpType::message) header = 16;
    const bool by_address =
        tlp.type == TlpType::memory_write || tlp.type == TlpType::memory_read || tlp.type == TlpType::msi;
    if (by_address && tlp.address >= four_gib) header = 16;
    const auto skipped = static_cast<uint32_t>(tlp.address & 3);
    const uint32_t data = has_data(tlp.type) ? (skipped + tlp.length + 3) & ~3U : 0;
    return around_ + header + data;
}

}  // namespace pktpit::model
