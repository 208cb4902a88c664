// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/pcapng.h"

#include <cstring>

namespace pktpit::router::pcapng {
namespace {

constexpr uint32_t section_header_type = 0x0a0d0d0a;
constexpr uint32_t interface_description_type = 1;
constexpr uint32_t byte_order_magic = 0x1a2b3c4d;
constexpr uint16_t linktype_ethernet = 1;

// Options.
constexpr uint16_t opt_comment = 1;
constexpr uint16_t shb_userappl = 4;
constexpr uint16_t if_name = 2;
constexpr uint16_t if_description = 3;
constexpr uint16_t if_tsresol = 9;
constexpr uint16_t epb_flags = 2;
constexpr uint16_t isb_ifrecv = 4;
constexpr uint16_t isb_ifdrop = 5;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they lie in memory");

template <class Number>
void add(std::string& to, Number number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void pad(std::string& to) {
    to.append((4 - to.size() % 4) % 4, '\0');
}

void add_option(std::string& to, uint16_t code, std::string_view value) {
    value = value.substr(0, UINT16_MAX);
    add(to, code);
    add(to, static_cast<uint16_t>(value.size()));
    to.append(value);
    pad(to);
}

template <class Number>
void add_number_option(std::string& to, uint16_t code, Number number) {
    add_option(to, code, {reinterpret_cast<const char*>(&number), sizeof number});
}

// The high half of a timestamp comes first.
void add_time(std::string& to, uint64_t time) {
    add(to, static_cast<uint32_t>(time >> 32));
    add(to, static_cast<uint32_t>(time));
}

std::string block(uint32_t type, std::string_view body) {
    const auto length = static_cast<uint32_t>(body.size() + 12);
    std::string whole;
    whole.reserve(length);
    add(whole, type);
    add(whole, length);
    whole.append(body);
    add(whole, length);
    return whole;
}

constexpr uint32_t end_of_options = 0;

}  // namespace

std::string section_header(std::string_view application) {
    std::string body;
    add(body, byte_order_magic);
    add(body, uint16_t{1});
    add(body, uint16_t{0});
    add(body, UINT64_MAX);  // length of the section: not known
    add_option(body, shb_userappl, application);
    add(body, end_of_options);
    return block(section_header_type, body);
}

std::string interface(std::string_view name, std::string_view description, uint32_t snaplen) {
    std::string body;
    add(body, linktype_ethernet);
    add(body, uint16_t{0});
    add(body, snaplen);
    add_option(body, if_name, name);
    if (!description.empty()) add_option(body, if_description, description);
    add_number_option(body, if_tsresol, uint8_t{9});
    add(body, end_of_options);
    return block(interface_description_type, body);
}

std::string enhanced_packet(const Packet& packet) {
    std::string body;
    add(body, packet.interface);
    add_time(body, packet.time);
    add(body, static_cast<uint32_t>(packet.bytes.size()));
    add(body, packet.length);
    body.append(reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size());
    pad(body);
    if (!packet.comment.empty()) add_option(body, opt_comment, packet.comment);
    if (packet.direction != Direction::unknown)
        add_number_option(body, epb_flags, static_cast<uint32_t>(packet.direction));
    add(body, end_of_options);
    return block(enhanced_packet_type, body);
}

std::string interface_statistics(uint32_t interface, uint64_t time, uint64_t received, uint64_t lost) {
    std::string body;
    add(body, interface);
    add_time(body, time);
    add_number_option(body, isb_ifrecv, received);
    add_number_option(body, isb_ifdrop, lost);
    add(body, end_of_options);
    return block(interface_statistics_type, body);
}

}  // namespace pktpit::router::pcapng
