// SPDX-License-Identifier: BSD-3-Clause
/// Where the data path lives on when the daemon does not: the pin directory of one instance in bpffs.
///
/// Layout below /sys/fs/bpf/pktpit/<instance>/: `v2_counters`, `v2_route_counters`, `v2_counted_routes` and
/// `v2_fib_image` (maps, by their version: earlier_maps.h), `port_<ifindex>` (XDP links),
/// `program_<ifindex>`. A link holds its program and through it every map, so the pinned links alone keep
/// packets flowing; the maps are pinned so that a restarted daemon can read what they hold.
///
/// A daemon may be killed between any two calls, and any call may be refused: a name is there as long as what
/// it stands for, and what was half made is finished or removed by the next open().
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

class PinDirectory {
  public:
    /// Checks that bpffs is mounted and makes the directory, for the daemon's user alone. Errors: no bpffs
    /// (with the mount command), no privileges, a directory that others have made or can write to.
    static Result<PinDirectory> open(const std::string& instance);
    /// The same of one that is there; nothing is made or finished. Error also: there is none.
    static Result<PinDirectory> find(const std::string& instance);

    /// The pinned object, or an empty Fd if there is none.
    [[nodiscard]] Fd get(const std::string& name) const;
    /// Pins `fd` under the name, replacing an older pin in one step, so that the name is never missing. An
    /// Error leaves the older pin.
    Result<void> put(const std::string& name, int fd) const;
    void remove(const std::string& name) const;

    /// Of everything that is pinned.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Pinned XDP links by ifindex.
    [[nodiscard]] std::map<uint32_t, Fd> links() const;
    /// The program that a link runs, and the one that it is about to: nobody gets a program by its id without
    /// CAP_SYS_ADMIN.
    static std::string program_name(uint32_t ifindex) { return "program_" + std::to_string(ifindex); }
    static std::string next_program_name(uint32_t ifindex) {
        return "next_program_" + std::to_string(ifindex);
    }
    /// The link and its programs.
    void remove_port(uint32_t ifindex) const {
        for (const auto& name : {link_name(ifindex), program_name(ifindex), next_program_name(ifindex)})
            remove(name);
    }
    static std::string path_of_instance(const std::string& instance);
    static std::string link_name(uint32_t ifindex) { return "port_" + std::to_string(ifindex); }

    /// Removes every pin, which ends the data path of ports whose links nobody else holds, and the directory.
    void remove_all() const;
    /// Removes the directory if nothing is pinned in it; true if it did.
    bool remove_if_empty() const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    explicit PinDirectory(std::string path) : path_(std::move(path)) {}
    [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }
    void finish_half_made() const;

    std::string path_;
};

}  // namespace pktpit::router
