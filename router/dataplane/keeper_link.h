// SPDX-License-Identifier: BSD-3-Clause
/// What a daemon says to its keeper: the process that holds descriptors of its devices, so that they forward
/// on when it is killed (docs/peer.md). Messages of one size, with descriptors beside them (SCM_RIGHTS), over
/// a pair of sockets of the daemon's, or, with `let_go` alone, over a socket in the run directory: whoever
/// starts next, or takes down what is left, asks there. Any thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

inline constexpr std::string_view keeper_suffix = ".keeper";  ///< of its socket in the run directory

/// A keeper that was started, and holds nothing yet. Without one the socket is none.
struct KeeperLink {
    Fd socket;
    pid_t process = -1;
};

struct KeeperMessage {
    enum class What : uint32_t {
        listen = 1,  ///< one descriptor: a bound socket, for `let_go`
        events,      ///< one: the kernel's events of devices
        memory,      ///< the memory's, then what else it needs; `name`: PCI address of its device
        device,  ///< a device's, an eventfd (the kernel wants it back), then what else it needs; `name`: port
        drop,    ///< of the device of that name
        let_go,  ///< of everything, in order; then it ends
    };
    What what = What::let_go;
    uint32_t patience_ms = 0;  ///< memory: so long a peer device is waited for
    uint64_t offset = 0;       ///< in the first descriptor: of the memory, of the configuration space
    std::array<char, 48> name{};

    KeeperMessage() = default;
    KeeperMessage(What wanted, std::string_view called, uint64_t place = 0, uint32_t patience = 0);
    [[nodiscard]] std::string called() const;
};
static_assert(sizeof(KeeperMessage) == 64);

struct KeeperReply {
    uint32_t done = 0;     ///< 0: refused, since the daemon lives, or it cannot be done
    uint32_t devices = 0;  ///< that it had to let go of
};

inline constexpr size_t most_descriptors = 6;  ///< of a message

struct ReceivedMessage {
    KeeperMessage message;
    std::vector<Fd> descriptors;
};

/// False: the other side has gone, or takes no more.
bool send_to_keeper(int socket, const KeeperMessage& message, std::span<const int> descriptors);
/// Nothing: the other side has gone, waits longer than the socket's own limit, or sent what is no message.
std::optional<ReceivedMessage> receive_for_keeper(int socket);

/// Has the keeper that an earlier daemon has left behind this path let go of everything: programs revoked,
/// then the NICs stopped, then the descriptors closed. Returns how many NICs there were; 0 also if there is
/// no keeper. Errors: its daemon has not gone after `grace`, or it does not answer within `patience`, which
/// is longer than the longest peer.patience_ms, for which it waits for the device.
Result<unsigned> end_keeper(const std::string& path,
                            std::chrono::milliseconds grace = std::chrono::seconds(10),
                            std::chrono::milliseconds patience = std::chrono::seconds(90));

}  // namespace pktpit::router
