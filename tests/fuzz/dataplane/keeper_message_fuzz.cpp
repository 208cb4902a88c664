// SPDX-License-Identifier: BSD-3-Clause
// What comes to a keeper, of any bytes and with any number of descriptors beside them: the first byte says
// how many. Must hold: a message comes out only of one of the right size, with no more descriptors than a
// message may have, and its name ends within it.
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "router/dataplane/keeper_link.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit;
    constexpr size_t most = 2 * router::most_descriptors;
    if (size == 0 || size > 4096) return 0;
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    Fd client(ends[0]);
    const Fd keeper(ends[1]);
    const Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const size_t count = data[0] % (most + 1);
    std::array<int, most> descriptors;
    descriptors.fill(file.get());
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most * sizeof(int))> beside{};
    iovec part{const_cast<uint8_t*>(data + 1), size - 1};
    msghdr whole{};
    whole.msg_iov = &part;
    whole.msg_iovlen = 1;
    if (count != 0) {
        whole.msg_control = beside.data();
        whole.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* rights = CMSG_FIRSTHDR(&whole);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(rights), descriptors.data(), count * sizeof(int));
    }
    if (sendmsg(client.get(), &whole, MSG_NOSIGNAL) < 0) return 0;
    client.reset();  // nothing more comes: who waits for more is told
    const auto received = router::receive_for_keeper(keeper.get());
    if (!received) return 0;
    if (size - 1 != sizeof received->message || received->descriptors.size() != count ||
        count > router::most_descriptors || received->message.called().size() > received->message.name.size())
        std::abort();
    return 0;
}
