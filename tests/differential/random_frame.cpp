// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "tests/differential/random_traffic.h"
#include "tests/unit/forward/packets.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;

constexpr size_t ethernet_header = 14;

void put16(Bytes& out, uint32_t value) {
    out.push_back(static_cast<uint8_t>(value >> 8));
    out.push_back(static_cast<uint8_t>(value));
}

void put(Bytes& out, const Bytes& bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

Bytes random_bytes(Random& random, size_t count) {
    Bytes out(count);
    for (auto& byte : out)
        byte = random.byte();
    return out;
}

/// An address inside a prefix of the FIB, or one that the rules know by itself.
template <size_t Size>
std::array<uint8_t, Size> random_address(const std::vector<Prefix>& prefixes, Random& random) {
    std::array<uint8_t, Size> address{};
    if (random.one_in(8)) {
        constexpr std::array<std::array<uint8_t, 4>, 14> known4{{{0, 0, 0, 0},
                                                                 {0, 1, 2, 3},
                                                                 {127, 0, 0, 1},
                                                                 {169, 254, 1, 1},
                                                                 {169, 253, 1, 1},
                                                                 {223, 255, 255, 255},
                                                                 {224, 0, 0, 5},
                                                                 {239, 255, 255, 255},
                                                                 {240, 0, 0, 1},
                                                                 {255, 255, 255, 254},
                                                                 {255, 255, 255, 255},
                                                                 {126, 9, 9, 9},
                                                                 {128, 0, 0, 0},
                                                                 {1, 0, 0, 0}}};
        constexpr std::array<std::array<uint8_t, 2>, 7> heads6{
            {{0, 0}, {0xff, 2}, {0xff, 0x0e}, {0xfe, 0x80}, {0xfe, 0xbf}, {0xfe, 0xc0}, {0xfd, 0}}};
        if constexpr (Size == 4) return random.pick(known4);
        const auto& head = random.pick(heads6);
        address[0] = head[0];
        address[1] = head[1];
        if (random.one_in(3)) address[10] = address[11] = 0xff;
        if (random.one_in(2)) address[15] = static_cast<uint8_t>(random.below(3));
        return address;
    }
    const Prefix& prefix = random.pick(prefixes);
    std::copy_n(prefix.address.bytes.begin(), Size, address.begin());
    for (size_t bit = prefix.length; bit < Size * 8; bit++)
        if (random.one_in(2)) address[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
    return address;
}

template <size_t Size>
std::array<uint8_t, Size> random_source(const std::vector<Prefix>& prefixes,
                                        const std::vector<IpAddress>& noted, Random& random) {
    if (!random.one_in(4)) return random_address<Size>(prefixes, random);
    std::array<uint8_t, Size> address{};
    std::copy_n(random.pick(noted).bytes.begin(), Size, address.begin());
    return address;
}

/// Mostly well-formed: options of the types that matter, with lengths that fit, or nearly.
Bytes random_ipv4_options(Random& random) {
    constexpr std::array<uint8_t, 9> types{0, 1, 1, 7, 68, 131, 137, 148, 0x5e};
    const size_t room = 4 * (1 + random.below(10));
    Bytes out;
    while (out.size() < room) {
        const uint8_t type = random.one_in(8) ? random.byte() : random.pick(types);
        out.push_back(type);
        if (type <= 1) continue;
        const size_t left = room - out.size() + 1;
        const size_t length =
            random.one_in(6) ? random.below(70) : std::min<size_t>(left, 2 + random.below(9));
        out.push_back(static_cast<uint8_t>(length));
        while (out.size() < room && random.below(8) != 0)
            out.push_back(random.byte());
    }
    out.resize(room);
    return out;
}

Bytes random_transport(Random& random) {
    constexpr std::array<uint32_t, 6> sizes{0, 3, 20, 26, 500, 1480};
    const uint32_t size = random.one_in(2) ? random.below(100) : random.pick(sizes);
    return random_bytes(random, random.one_in(40) ? 3000 + random.below(6000) : size);
}

uint8_t random_ttl(Random& random) {
    return random.one_in(6) ? static_cast<uint8_t>(random.below(4)) : random.byte();
}

void fix_ipv4_checksum(Bytes& frame, size_t l3) {
    if (frame.size() < l3 + 20) return;
    const size_t header = std::min<size_t>((frame[l3] & 15u) * 4, frame.size() - l3);
    frame[l3 + 10] = frame[l3 + 11] = 0;
    const uint16_t sum = forward::checksum_of(&frame[l3], header);
    frame[l3 + 10] = static_cast<uint8_t>(sum >> 8);
    frame[l3 + 11] = static_cast<uint8_t>(sum);
}

/// From the UDP header on; mostly to the port itself.
Bytes random_dhcp_answer(uint16_t port, Random& random) {
    Bytes out = random_bytes(random, random.one_in(4) ? 30 + random.below(20) : 300);
    const Bytes head{0, 67, 0, 68, 1, 44, 0, 0, 2, 1, 6};
    std::ranges::copy(head, out.begin());
    const Bytes client{2, 0, 0, 0, 0, static_cast<uint8_t>(port)};
    for (size_t i = 0; i < client.size() && 36 + i < out.size(); i++)
        out[36 + i] = client[i];
    if (random.one_in(4)) out[random.below(static_cast<uint32_t>(out.size()))] = random.byte();
    return out;
}

Bytes random_ipv4(const RandomFib& fib, uint16_t port, Random& random) {
    constexpr std::array<uint8_t, 8> protocols{1, 2, 6, 17, 33, 50, 132, 136};
    const Bytes options = random.one_in(5) ? random_ipv4_options(random) : Bytes{};
    const bool dhcp = random.one_in(10);
    const Bytes payload = dhcp ? random_dhcp_answer(port, random) : random_transport(random);
    Bytes out{static_cast<uint8_t>(0x45 + options.size() / 4), random.byte()};
    put16(out, static_cast<uint32_t>(20 + options.size() + payload.size()));
    put16(out, random.word());
    put16(out, random.one_in(4) ? random.word() : 0x4000 * random.below(2));
    out.push_back(random_ttl(random));
    out.push_back(dhcp ? uint8_t{17} : random.pick(protocols));
    put16(out, 0);
    for (const auto& address :
         {random_source<4>(fib.prefixes4, fib.noted4, random), random_address<4>(fib.prefixes4, random)})
        out.insert(out.end(), address.begin(), address.end());
    put(out, options);
    put(out, payload);
    fix_ipv4_checksum(out, 0);
    return out;
}

/// One extension header of this kind, its next header still open: options where it has options, noise
/// elsewhere.
Bytes random_extension(uint8_t kind, Random& random) {
    constexpr std::array<uint8_t, 9> option_types{0, 0, 1, 1, 5, 0x1e, 0x5e, 0x9e, 0xde};
    const size_t units = random.one_in(4) ? random.below(10) : random.below(3);
    const size_t size = kind == 51 ? (units + 2) * 4 : (units + 1) * 8;
    const bool reasons_to_drop = random.one_in(3);
    Bytes out{0, static_cast<uint8_t>(units)};
    while (out.size() < size) {
        const uint8_t type = random.one_in(12) ? random.byte() : random.pick(option_types);
        out.push_back(reasons_to_drop ? type : type & 0x3f);
        if (out.back() == 0) continue;
        const size_t left = size - out.size();
        const size_t fitting = left == 0 ? 0 : std::min<size_t>(left - 1, random.below(6));
        const size_t length = random.one_in(8) ? random.below(30) : fitting;
        out.push_back(static_cast<uint8_t>(length));
        out.resize(out.size() + length);
    }
    out.resize(size);
    return out;
}

/// A chain of extension headers; `first` becomes the type of the first one, or of what follows.
Bytes random_extensions(uint8_t& first, Random& random) {
    constexpr std::array<uint8_t, 5> kinds{0, 43, 44, 51, 60};
    constexpr std::array<uint8_t, 6> last{6, 17, 58, 59, 132, 50};
    const uint32_t count = random.one_in(3) ? random.below(10) : random.below(2);
    Bytes chain;
    uint8_t next = random.one_in(4) ? random.byte() : random.pick(last);
    for (uint32_t i = count; i > 0; i--) {
        const uint8_t kind = i == 1 && random.one_in(2) ? 0 : random.pick(kinds);
        Bytes header = random_extension(kind, random);
        header[0] = next;
        put(header, chain);
        chain = std::move(header);
        next = kind;
    }
    first = next;
    return chain;
}

Bytes random_ipv6(const RandomFib& fib, Random& random) {
    uint8_t next = 0;
    const Bytes extensions = random_extensions(next, random);
    const Bytes payload = random_transport(random);
    Bytes out{static_cast<uint8_t>(0x60 | random.below(16)), random.byte(), 0, 0};
    if (random.one_in(2)) {
        out[1] &= 0xf0;  // no flow label
    } else {
        out[2] = random.byte();
        out[3] = random.byte();
    }
    put16(out, static_cast<uint32_t>(extensions.size() + payload.size()));
    out.push_back(next);
    out.push_back(random_ttl(random));
    for (const auto& address :
         {random_source<16>(fib.prefixes6, fib.noted6, random), random_address<16>(fib.prefixes6, random)})
        out.insert(out.end(), address.begin(), address.end());
    put(out, extensions);
    put(out, payload);
    return out;
}

Bytes random_link_layer(const RandomFib& fib, uint16_t port, Random& random) {
    Bytes out{2, 0, 0, 0, 0, static_cast<uint8_t>(port)};
    if (random.one_in(25)) out = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    if (random.one_in(25)) out = {0x33, 0x33, 0, 0, 0, 1};
    if (random.one_in(25)) out[random.below(6)] ^= static_cast<uint8_t>(1 << random.below(8));
    Bytes source = random_bytes(random, 6);
    source[0] &= 0xfe;
    if (random.one_in(25)) source[0] |= 1;
    if (random.one_in(25)) source = {out.begin(), out.begin() + 6};
    if (random.one_in(25)) source[random.below(6)] = out[random.below(6)];
    put(out, source);
    const auto tag = [&](uint32_t vid) {
        const bool other = random.one_in(12);
        put16(out, ((vid & PP_VLAN_SERVICE) != 0) == other ? 0x8100 : 0x88a8);
        put16(out, (vid & PP_VLAN_VID) | random.below(16) << 12);
    };
    if (random.one_in(16)) tag(0);
    if (random.one_in(3)) {
        const auto& vlan = fib.vlans[(port - 1u) * vlans_per_port + random.below(vlans_per_port)];
        tag(random.one_in(10) ? random.below(4096) : vlan.outer);
        if (vlan.inner) tag(vlan.inner);
    }
    if (random.one_in(16)) tag(0);
    return out;
}

/// Breaks the frame somewhere in its headers, and often mends the checksum, so that the break is what is
/// seen.
void mutate(Bytes& frame, size_t l3, bool ipv4, Random& random) {
    constexpr std::array<uint8_t, 8> edges{0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, 0x45};
    const uint32_t changes = 1 + random.below(4);
    for (uint32_t i = 0; i < changes; i++) {
        const size_t from = random.one_in(3) ? 0 : std::min(l3, frame.size() - 1);
        const size_t reach = std::min<size_t>(frame.size() - from, random.one_in(3) ? 130 : 60);
        uint8_t& byte = frame[from + random.below(static_cast<uint32_t>(reach))];
        switch (random.below(4)) {
            case 0:
                byte ^= static_cast<uint8_t>(1 << random.below(8));
                break;
            case 1:
                byte = random.byte();
                break;
            case 2:
                byte = random.pick(edges);
                break;
            default:
                byte = static_cast<uint8_t>(byte + (random.one_in(2) ? 1 : -1));
        }
    }
    if (ipv4 && !random.one_in(4)) fix_ipv4_checksum(frame, l3);
}

}  // namespace

RandomFrame random_frame(const RandomFib& fib, Random& random) {
    RandomFrame frame;
    frame.port = static_cast<uint16_t>(1 + random.below(random_ports));
    frame.bytes = random_link_layer(fib, frame.port, random);
    const uint32_t kind = random.below(40);
    const bool ipv4 = kind < 19;
    if (kind == 38) {
        put16(frame.bytes, random.one_in(2) ? 0x0806 : random.word());
        put(frame.bytes, random_bytes(random, random.below(100)));
    } else if (kind == 39) {
        frame.bytes = random_bytes(random, ethernet_header + random.below(200));
    } else {
        put16(frame.bytes, ipv4 ? 0x0800 : 0x86dd);
    }
    const size_t l3 = frame.bytes.size();
    if (kind < 38) put(frame.bytes, ipv4 ? random_ipv4(fib, frame.port, random) : random_ipv6(fib, random));

    if (random.one_in(3)) mutate(frame.bytes, l3, ipv4, random);
    if (random.one_in(12)) frame.bytes.resize(std::min<size_t>(frame.bytes.size(), random.below(150)));
    if (random.one_in(12)) put(frame.bytes, random_bytes(random, random.below(60)));
    if (random.one_in(30))
        put(frame.bytes, random_bytes(random, random.below(9000)));  // in fragments, mostly
    if (frame.bytes.size() < ethernet_header) frame.bytes.resize(ethernet_header);
    return frame;
}

}  // namespace pktpit::test
