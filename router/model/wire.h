// SPDX-License-Identifier: BSD-3-Clause
/// Where the frames of a modelled port come from and go: a Linux device, or pcap files. Opened by the daemon;
/// then the worker's, but for what the daemon does while the worker is paused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/address.h"
#include "config/config.h"

namespace pktpit::router {

class Wire {
  public:
    virtual ~Wire() = default;

    /// What people know it by: "w1", "in.pcap → out.pcap".
    [[nodiscard]] virtual const std::string& name() const = 0;
    [[nodiscard]] virtual MacAddress mac() const = 0;
    /// Of the device below, if there is one.
    [[nodiscard]] virtual std::optional<uint32_t> mtu() const = 0;
    virtual void set_mtu(uint32_t mtu) = 0;
    [[nodiscard]] virtual bool link_up() const = 0;
    /// The device below has gone, and does not come back under this object.
    [[nodiscard]] virtual bool lost() const = 0;

    /// The next frame, into `room`; 0: none now. What is longer than the room is cut and told as it was.
    struct Frame {
        uint32_t length = 0;
        std::optional<uint64_t> at;  ///< when it was captured, ns since 1970; nothing: it comes in now
    };
    virtual Frame receive(std::span<std::byte> room) = 0;
    /// `at`: for a capture, ns since 1970. False: it could not be sent.
    virtual bool send(std::span<const std::byte> frame, uint64_t at) = 0;
    /// Frames that the router itself sends go out here, too.
    [[nodiscard]] virtual bool takes_own_frames() const = 0;
    /// Readable when receive() has something; -1: that is never news.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// All that was sent is where others can see it.
    virtual void flush() {}
};

/// Errors: no such device, one that the kernel uses, no permission; a file that is no pcap of Ethernet
/// frames, or that cannot be read or made. `where`: JSON pointer of the wire's settings. `config`: where
/// paths begin.
Result<std::unique_ptr<Wire>> open_device_wire(const std::string& device, const std::string& where,
                                               const std::string& instance);
Result<std::unique_ptr<Wire>> open_file_wire(const std::string& port, const config::Wire& settings,
                                             const config::Config& config, const std::string& where);

}  // namespace pktpit::router
