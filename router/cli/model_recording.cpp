// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/model_recording.h"

#include <pcap/pcap.h>

namespace pktpit::router::cli {

Result<std::shared_ptr<const model::Recording>> read_recording(const std::string& path) {
    char why[PCAP_ERRBUF_SIZE] = "";
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> file(
        pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why), pcap_close);
    if (!file) return fail("--pcap", path + ": " + why, "a readable pcap or pcapng file");
    if (pcap_datalink(file.get()) != DLT_EN10MB)
        return fail(
            "--pcap",
            path + " holds frames of another link layer (" + std::to_string(pcap_datalink(file.get())) + ")",
            "Ethernet frames (DLT_EN10MB)");
    auto recording = std::make_shared<model::Recording>();
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    int got = 0;
    while (recording->frames().size() < most_recorded_frames &&
           (got = pcap_next_ex(file.get(), &header, &bytes)) == 1) {
        // By that precision tv_usec holds nanoseconds.
        const auto seconds = static_cast<uint64_t>(std::max<int64_t>(header->ts.tv_sec, 0));
        const auto nanoseconds = static_cast<uint64_t>(std::max<int64_t>(header->ts.tv_usec, 0));
        // Picoseconds of 64 bits are seven months: more than that since 1970 wraps around, and differences
        // are right all the same.
        const model::Time at = (seconds % 10'000'000) * model::second + nanoseconds * model::nanosecond;
        recording->add(at, std::as_bytes(std::span(bytes, header->caplen)), header->len);
    }
    if (got == PCAP_ERROR) return fail("--pcap", path + ": " + pcap_geterr(file.get()), "a whole file");
    if (recording->frames().empty()) return fail("--pcap", path + " has no frames", "at least one");
    return std::shared_ptr<const model::Recording>(std::move(recording));
}

}  // namespace pktpit::router::cli
