// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/peer/qtest.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace pktpit::test_peer {

Result<Qtest> Qtest::connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return fail(path, "is too long for a socket's path");
    std::memcpy(address.sun_path, path.data(), path.size());
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return fail(path, std::strerror(errno), "QEMU's qtest socket");
    return Qtest(std::move(socket));
}

void Qtest::write32(uint64_t address, uint32_t value) {
    std::array<char, 64> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "writel 0x%" PRIx64 " 0x%" PRIx32 "\n", address, value);
    bool good = ::send(socket_.get(), text.data(), static_cast<size_t>(length), MSG_NOSIGNAL) == length;
    size_t got = 0;
    while (good && (got == 0 || text[got - 1] != '\n')) {
        const auto more = ::recv(socket_.get(), text.data() + got, text.size() - got, 0);
        good = more > 0;
        got += good ? static_cast<size_t>(more) : 0;
    }
    if (good && std::string_view(text.data(), got).starts_with("OK")) return;
    std::fprintf(stderr, "simulated peer: the machine has gone\n");
    std::exit(0);
}

}  // namespace pktpit::test_peer
