// SPDX-License-Identifier: BSD-3-Clause
#include <pcap/pcap.h>

#include <algorithm>
#include <cstring>

#include "router/model/wire.h"

namespace pktpit::router {
namespace {

constexpr unsigned longest = 65535;
constexpr uint64_t second = 1'000'000'000;  // ns

using Capture = std::unique_ptr<pcap_t, decltype(&pcap_close)>;
using Dump = std::unique_ptr<pcap_dumper_t, decltype(&pcap_dump_close)>;

/// Unicast, locally administered, and the same each time.
MacAddress mac_of(const std::string& name) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    MacAddress mac{};
    mac.bytes[0] = 2;
    std::memcpy(&mac.bytes[1], &hash, 5);
    return mac;
}

/// pcap files, read once and written anew.
class FileWire : public Wire {
  public:
    FileWire(std::string name, MacAddress mac, bool own_frames, Capture from, Capture format, Dump to)
        : name_(std::move(name)),
          mac_(mac),
          own_frames_(own_frames),
          from_(std::move(from)),
          format_(std::move(format)),
          to_(std::move(to)) {}

    [[nodiscard]] const std::string& name() const override { return name_; }
    [[nodiscard]] MacAddress mac() const override { return mac_; }
    [[nodiscard]] std::optional<uint32_t> mtu() const override { return std::nullopt; }
    void set_mtu(uint32_t) override {}
    [[nodiscard]] bool link_up() const override { return true; }
    [[nodiscard]] bool lost() const override { return false; }
    [[nodiscard]] bool takes_own_frames() const override { return own_frames_; }
    [[nodiscard]] int descriptor() const override { return -1; }

    Frame receive(std::span<std::byte> room) override {
        pcap_pkthdr* header = nullptr;
        const u_char* bytes = nullptr;
        // A record that is cut short by its capture is no frame any more.
        do {
            if (!from_ || pcap_next_ex(from_.get(), &header, &bytes) != 1) {
                from_.reset();
                return {};
            }
        } while (header->caplen != header->len || header->len == 0);
        // Of nanoseconds, as asked for.
        const uint64_t at =
            static_cast<uint64_t>(header->ts.tv_sec) * second + static_cast<uint64_t>(header->ts.tv_usec);
        std::memcpy(room.data(), bytes, std::min<size_t>(header->caplen, room.size()));
        return {header->len, at};
    }

    bool send(std::span<const std::byte> frame, uint64_t at) override {
        if (!to_) return true;
        pcap_pkthdr header{};
        header.ts.tv_sec = static_cast<time_t>(at / second);
        header.ts.tv_usec = static_cast<suseconds_t>(at % second);
        header.caplen = header.len = static_cast<bpf_u_int32>(frame.size());
        pcap_dump(reinterpret_cast<u_char*>(to_.get()), &header,
                  reinterpret_cast<const u_char*>(frame.data()));
        written_ = true;
        return true;
    }
    void flush() override {
        if (std::exchange(written_, false)) pcap_dump_flush(to_.get());
    }

  private:
    std::string name_;
    MacAddress mac_;
    bool own_frames_;
    Capture from_;
    Capture format_;
    Dump to_;
    bool written_ = false;
};

}  // namespace

Result<std::unique_ptr<Wire>> open_file_wire(const std::string& port, const config::Wire& settings,
                                             const config::Config& config, const std::string& where) {
    Capture from(nullptr, pcap_close);
    Capture format(nullptr, pcap_close);
    Dump to(nullptr, pcap_dump_close);
    if (!settings.read.empty()) {
        const std::string path = config::file_path(settings.read, config);
        char why[PCAP_ERRBUF_SIZE] = "";
        from.reset(pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why));
        if (!from) return fail(where + "/read", path + ": " + why, "a readable pcap file", "");
        if (pcap_datalink(from.get()) != DLT_EN10MB)
            return fail(where + "/read",
                        path + " holds frames of another link layer (" +
                            std::to_string(pcap_datalink(from.get())) + ")",
                        "Ethernet frames (DLT_EN10MB)", "");
    }
    if (!settings.write.empty()) {
        const std::string path = config::file_path(settings.write, config);
        format.reset(pcap_open_dead_with_tstamp_precision(DLT_EN10MB, longest, PCAP_TSTAMP_PRECISION_NANO));
        to.reset(pcap_dump_open(format.get(), path.c_str()));
        if (!to) return fail(where + "/write", pcap_geterr(format.get()), "a file that can be made", "");
        pcap_dump_flush(to.get());
    }
    const std::string name = (settings.read.empty() ? "nothing" : settings.read) + " → " +
                             (settings.write.empty() ? "nothing" : settings.write);
    return std::make_unique<FileWire>(name, settings.mac.value_or(mac_of(port)), settings.own_frames,
                                      std::move(from), std::move(format), std::move(to));
}

}  // namespace pktpit::router
