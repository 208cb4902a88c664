// SPDX-License-Identifier: BSD-3-Clause
#include "bench/cpu/capture_file.h"

#include <fstream>

#include "bench/harness/failure.h"
#include "bench/harness/topology.h"

namespace pktpit::bench::cpu {
namespace {

void put16(std::string& out, unsigned value) {
    out += static_cast<char>(value >> 8);
    out += static_cast<char>(value);
}

void put_host32(std::string& out, uint32_t value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// RFC 1071.
unsigned checksum(std::string_view header) {
    uint32_t sum = 0;
    for (size_t i = 0; i < header.size(); i += 2)
        sum += static_cast<uint8_t>(header[i]) << 8 | static_cast<uint8_t>(header[i + 1]);
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

void put_address(std::string& out, const IpAddress& address) {
    out.append(reinterpret_cast<const char*>(address.bytes.data()), address.size());
}

}  // namespace

std::string make_frame(const IpAddress& destination, const CaptureShape& shape, unsigned trailer) {
    const unsigned end = shape.frame_bytes - trailer;
    std::string frame;
    frame.append(reinterpret_cast<const char*>(shape.destination.bytes.data()), 6);
    frame.append("\x02\x50\x42\xff\x00\x01", 6);
    const IpAddress& source = harness::addressing(destination.family).source;
    put16(frame, destination.is_v4() ? 0x0800 : 0x86dd);
    const size_t ip = frame.size();
    if (destination.is_v4()) {
        put16(frame, 0x4500);
        put16(frame, static_cast<unsigned>(end - ip));
        put16(frame, 0);
        put16(frame, 0);
        put16(frame, 64 << 8 | 17);
        put16(frame, 0);
        put_address(frame, source);
        put_address(frame, destination);
        const unsigned sum = checksum(std::string_view(frame).substr(ip));
        frame[ip + 10] = static_cast<char>(sum >> 8);
        frame[ip + 11] = static_cast<char>(sum);
    } else {
        put16(frame, 0x6000);
        put16(frame, 0);
        put16(frame, static_cast<unsigned>(end - ip - 40));
        put16(frame, 17 << 8 | 64);
        put_address(frame, source);
        put_address(frame, destination);
    }
    put16(frame, 1024);
    put16(frame, 1024);
    put16(frame, static_cast<unsigned>(end - frame.size() + 4));
    put16(frame, 0);
    frame.resize(shape.frame_bytes);
    return frame;
}

void write_capture(const std::string& path, std::span<const IpAddress> destinations,
                   const CaptureShape& shape) {
    std::string out;
    put_host32(out, 0xa1b2c3d4);  // pcap, microseconds
    put_host32(out, 2 | 4 << 16);
    put_host32(out, 0);
    put_host32(out, 0);
    put_host32(out, 65535);
    put_host32(out, 1);  // Ethernet
    unsigned hundredths = 0;
    for (const IpAddress& destination : destinations) {
        hundredths += shape.trailers_percent;
        const bool with_trailer = hundredths >= 100;
        if (with_trailer) hundredths -= 100;
        put_host32(out, 0);
        put_host32(out, 0);
        put_host32(out, shape.frame_bytes);
        put_host32(out, shape.frame_bytes);
        out += make_frame(destination, shape, with_trailer ? trailer_bytes : 0);
    }
    if (!(std::ofstream(path, std::ios::binary) << out).flush()) harness::fail_errno("write " + path);
}

}  // namespace pktpit::bench::cpu
