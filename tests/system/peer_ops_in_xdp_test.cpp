// SPDX-License-Identifier: BSD-3-Clause
// Verified peer programs, compiled by offload/peer_ops, executed at a port by XDP (peer_ops.bpf.c): a copy of
// each frame into a ring in memory, and one to a second port with a header in front. A probe of the kernel's
// verifier, and no feature (docs/peer.md).
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "offload/peer_ops/codec.h"
#include "offload/peer_ops/compiler.h"
#include "offload/peer_ops/verifier.h"
#include "peer_ops.skel.h"
#include "tests/system/peer_ops_layout.h"

namespace pktpit::offload {
namespace {

using Frame = std::vector<uint8_t>;

constexpr uint16_t own_type = 0x88b5, pushed_type = 0x88b6;  // for experiments (IEEE Std 802)
constexpr uint32_t entries = 16, slot_bytes = PP_PEER_MOST_FRAME + peer_descriptor_bytes;
constexpr uint64_t tail = PP_PEER_BUS, completions = PP_PEER_BUS + 64, header_at = PP_PEER_BUS + 256,
                   slots = PP_PEER_BUS + 4096;
constexpr uint32_t header_bytes = 18;

PeerWindows windows() {
    PeerWindows made;
    EXPECT_TRUE(made.add({tail, 8, true, false, true, true, "tail"}));
    EXPECT_TRUE(made.add({completions, 4, true, false, false, true, "completions"}));
    EXPECT_TRUE(made.add({header_at, PP_PEER_FRONT, true, false, false, true, "header"}));
    EXPECT_TRUE(made.add({slots, uint64_t{entries} * slot_bytes, true, true, false, true, "ring"}));
    EXPECT_TRUE(
        made.add({PP_PEER_FRONT_BUS, PP_PEER_FRONT, false, true, false, true, "in front of the frame"}));
    return made;
}

PeerProgram mirror_program(uint64_t generation) {
    return compile_egress({slots, tail, completions, entries, slot_bytes, slot_bytes}, 0, generation);
}

PeerProgram push_program(uint64_t generation) {
    PeerOperation copy{PeerOpcode::copy_block};
    copy.bytes = header_bytes;
    copy.address = PP_PEER_FRONT_BUS + PP_PEER_FRONT - header_bytes;
    copy.value = header_at;
    return {generation, 1, 1, {copy}};
}

class PeerOpsInXdp : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "needs root";
        // No frames of the kernel's own: what is mirrored is counted.
        run("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6");
        for (const char* pair : {"0", "1", "2"}) {
            run(std::string("ip link add r") + pair + " type veth peer name e" + pair);
            run(std::string("ip link set r") + pair + " up");
            run(std::string("ip link set e") + pair + " up");
        }
        skeleton.reset(peer_ops__open_and_load());
        ASSERT_TRUE(skeleton) << "the kernel's verifier refuses";
        attach("r0", skeleton->progs.mirror);
        attach("e1", skeleton->progs.pass);
        attach("e2", skeleton->progs.pass);
        port(0, "r1", -1);
        port(1, "r2", bpf_program__fd(skeleton->progs.push));
        mapped = static_cast<std::byte*>(mmap(nullptr, PP_PEER_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED,
                                              bpf_map__fd(skeleton->maps.memory), 0));
        ASSERT_NE(mapped, MAP_FAILED);
        // MAC addresses, a type of its own and a number: what stands in front of a mirrored frame.
        for (uint32_t i = 0; i < header_bytes; i++)
            at<uint8_t>(header_at + i) = static_cast<uint8_t>(0x10 + i);
        at<uint16_t>(header_at + 12) = htons(pushed_type);
        outside = socket_at("e0");
        plain = socket_at("e1");
        mirrored = socket_at("e2");
    }
    void TearDown() override {
        if (mapped) munmap(mapped, PP_PEER_MEMORY);
    }

    static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
    static void attach(const char* device, const bpf_program* program) {
        ASSERT_EQ(
            bpf_xdp_attach(static_cast<int>(if_nametoindex(device)), bpf_program__fd(program), 0, nullptr), 0)
            << device;
    }
    void port(uint32_t key, const char* device, int program) const {
        bpf_devmap_val value{};
        value.ifindex = if_nametoindex(device);
        value.bpf_prog.fd = program;
        ASSERT_EQ(bpf_map_update_elem(bpf_map__fd(skeleton->maps.ports), &key, &value, 0), 0);
    }
    template <class T>
    T& at(uint64_t bus_address) const {
        return *reinterpret_cast<T*>(mapped + (bus_address - PP_PEER_BUS));
    }
    /// As a device is given a program: its bytes, after they were verified.
    void load(uint32_t which, const PeerProgram& program, uint64_t present) const {
        const auto good = verify(program, windows());
        ASSERT_TRUE(good) << good.error().to_string();
        const std::vector<std::byte> bytes = encode(program);
        static_assert(sizeof(pp_peer_header) == peer_header_bytes &&
                      sizeof(pp_peer_operation) == peer_operation_bytes);
        ASSERT_LE(bytes.size(), sizeof(pp_peer_header) + sizeof pp_peer_program{}.operations);
        pp_peer_program value{};
        value.generation = present;
        std::memcpy(&value.header, bytes.data(), bytes.size());
        std::vector<pp_peer_program> of_each_cpu(static_cast<size_t>(libbpf_num_possible_cpus()), value);
        ASSERT_EQ(bpf_map_update_elem(bpf_map__fd(skeleton->maps.programs), &which, of_each_cpu.data(), 0),
                  0);
    }
    /// Of all CPUs.
    uint64_t total(uint32_t which, __u64 pp_peer_program::*counter) const {
        std::vector<pp_peer_program> of_each_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
        EXPECT_EQ(bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.programs), &which, of_each_cpu.data()), 0);
        uint64_t sum = 0;
        for (const pp_peer_program& one : of_each_cpu)
            sum += one.*counter;
        return sum;
    }

    static Fd socket_at(const char* device) {
        Fd made(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(0x0003)));  // ETH_P_ALL
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(0x0003);
        address.sll_ifindex = static_cast<int>(if_nametoindex(device));
        EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << device;
        return made;
    }
    static Frame frame(uint32_t number) {
        Frame made(60 + number * 23);
        for (size_t i = 0; i < made.size(); i++)
            made[i] = static_cast<uint8_t>(number + i * 5);
        made[6] = 0x02;
        made[12] = own_type >> 8;
        made[13] = own_type & 0xff;
        return made;
    }
    /// The next frame of this type; what the kernel sends by itself is passed over.
    static Frame receive(const Fd& from, uint16_t type) {
        Frame got(4096);
        for (pollfd one{from.get(), POLLIN, 0}; poll(&one, 1, 5000) == 1;) {
            const ssize_t bytes = recv(from.get(), got.data(), got.size(), 0);
            if (bytes < 14 || got[12] != type >> 8 || got[13] != (type & 0xff)) continue;
            got.resize(static_cast<size_t>(bytes));
            return got;
        }
        return {};
    }
    void send(const Frame& what) const {
        // One CPU: each has a sequence of its own, and the ring is one.
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
        ASSERT_EQ(::send(outside.get(), what.data(), what.size(), 0), static_cast<ssize_t>(what.size()));
    }
    Frame pushed(const Frame& what) const {
        Frame wanted(header_bytes);
        std::memcpy(wanted.data(), &at<uint8_t>(header_at), header_bytes);
        wanted.insert(wanted.end(), what.begin(), what.end());
        return wanted;
    }
    Frame in_slot(uint64_t number) const {
        const uint64_t slot = slots + number % entries * slot_bytes;
        EXPECT_EQ(at<uint64_t>(slot), slot + peer_descriptor_bytes);
        Frame found(at<uint64_t>(slot + 8));
        std::memcpy(found.data(), &at<uint8_t>(slot + peer_descriptor_bytes), found.size());
        return found;
    }

    struct Destroy {
        void operator()(peer_ops* one) const { peer_ops__destroy(one); }
    };
    std::unique_ptr<peer_ops, Destroy> skeleton;
    std::byte* mapped = nullptr;
    Fd outside, plain, mirrored;
};

TEST_F(PeerOpsInXdp, AFrameIsInTheRingAndAtASecondPortWithAHeaderInFront) {
    load(PP_PEER_MIRROR, mirror_program(3), 3);
    load(PP_PEER_PUSH, push_program(3), 3);
    for (uint32_t i = 0; i < entries; i++) {
        send(frame(i));
        EXPECT_EQ(receive(plain, own_type), frame(i)) << "untouched";
        EXPECT_EQ(receive(mirrored, pushed_type), pushed(frame(i)));
        EXPECT_EQ(in_slot(i), frame(i));
        EXPECT_EQ(at<uint64_t>(tail), i + 1) << "one doorbell a frame";
    }
    EXPECT_EQ(total(PP_PEER_MIRROR, &pp_peer_program::executed), entries);
    EXPECT_EQ(total(PP_PEER_PUSH, &pp_peer_program::executed), entries);
}

TEST_F(PeerOpsInXdp, AFullRingIsWaitedForByNobody) {
    load(PP_PEER_MIRROR, mirror_program(1), 1);
    for (uint32_t i = 0; i < entries + 4; i++) {
        send(frame(i));
        EXPECT_EQ(receive(plain, own_type), frame(i)) << "forwarded, copied or not";
    }
    EXPECT_EQ(at<uint64_t>(tail), entries);
    EXPECT_EQ(total(PP_PEER_MIRROR, &pp_peer_program::refused), 4U);
    EXPECT_EQ(in_slot(0), frame(0)) << "nothing is written over";
    at<uint32_t>(completions) = 1;
    send(frame(40));
    EXPECT_EQ(receive(plain, own_type), frame(40));
    EXPECT_EQ(in_slot(entries), frame(40));
}

TEST_F(PeerOpsInXdp, AStaleGenerationIsNotExecuted) {
    load(PP_PEER_MIRROR, mirror_program(3), 4);
    load(PP_PEER_PUSH, push_program(3), 0);
    send(frame(1));
    EXPECT_EQ(receive(plain, own_type), frame(1));
    EXPECT_EQ(receive(mirrored, own_type), frame(1)) << "no header in front";
    EXPECT_EQ(at<uint64_t>(tail), 0U);
}

}  // namespace
}  // namespace pktpit::offload
