// SPDX-License-Identifier: BSD-3-Clause
/// Which devices take frames that a native XDP program redirects to them, as the kernel's netdev family
/// (generic netlink, Linux 6.3) says: NETDEV_XDP_ACT_NDO_XMIT. A frame for one that does not is lost behind
/// the program's back: bpf_redirect_map() has returned XDP_REDIRECT by then. A veth takes them while its peer
/// has GRO on or an XDP program; bridges, macvlans and many NICs never do. Used by XdpDataplane; one thread.
#pragma once

#include <libmnl/libmnl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pktpit::router {

class RedirectTargets {
  public:
    /// Null where the kernel does not say.
    static std::unique_ptr<RedirectTargets> open();

    /// Has a device changed since the last call? Events may be lost: ask all now and then.
    bool changed();
    /// Nothing: the kernel does not say, or there is no such device.
    [[nodiscard]] std::optional<bool> takes_redirects(uint32_t ifindex);

  private:
    struct Close {
        void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
    };
    using Socket = std::unique_ptr<mnl_socket, Close>;
    RedirectTargets(Socket requests, Socket events, uint16_t family)
        : requests_(std::move(requests)), events_(std::move(events)), family_(family) {}

    Socket requests_;
    Socket events_;
    uint16_t family_;
    uint32_t sequence_ = 0;
};

/// Whether the device's driver writes in front of frames that it sends for XDP. One that came in by a queue
/// with zero-copy has no room there (Linux: xdp_convert_zc_to_xdp_frame()), and is lost like those above.
bool wants_headroom(const std::string& device);
std::string why_no_headroom();

/// Of a device that takes none: why, and what to do.
std::string why_no_redirects(const std::string& device);

}  // namespace pktpit::router
