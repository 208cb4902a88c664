// SPDX-License-Identifier: BSD-3-Clause
#include "tests/system/split_rig.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace pktpit::router::test {
namespace {

constexpr std::array<unsigned, 4> queues{0, 4, 2, 1};

std::string name(const char* kind, uint16_t port) {
    return kind + std::to_string(port);
}

// return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP)
Fd redirecting_program(int sockets) {
    bpf_insn code[7] = {};
    code[0] = {.code = BPF_LDX | BPF_W | BPF_MEM, .dst_reg = 2, .src_reg = 1, .off = 16, .imm = 0};
    code[1] = {.code = BPF_LD | BPF_DW | BPF_IMM,
               .dst_reg = 1,
               .src_reg = BPF_PSEUDO_MAP_FD,
               .off = 0,
               .imm = sockets};
    code[3] = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .src_reg = 0, .off = 0, .imm = XDP_DROP};
    code[4] = {
        .code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_redirect_map};
    code[5] = {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
    return Fd(bpf_prog_load(BPF_PROG_TYPE_XDP, "to_socket", "GPL", code, 6, nullptr));
}

}  // namespace

Sender::Sender(const std::string& device, const Ethernet& ethernet, const char* destination, uint16_t flows)
    : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << device;
    for (uint16_t flow = 0; flow < flows; flow++)
        frames_.push_back(frame(
            ethernet,
            Ipv4{.destination = destination, .payload = transport(26, static_cast<uint16_t>(4000 + flow))}));
}

Sender::Sender(Sender&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), frames_(std::move(other.frames_)), next_(other.next_) {}

Sender::~Sender() {
    if (socket_ >= 0) ::close(socket_);
}

size_t Sender::send(size_t frames) {
    size_t taken = 0;
    for (size_t i = 0; i < frames; i++, next_++) {
        const Buffer& bytes = frames_[next_ % frames_.size()];
        taken += ::send(socket_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    }
    return taken;
}

void SplitRig::SetUp() {
    libbpf_set_print(nullptr);
    ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "needs root";
    run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    fill_test_router(image, memory.get());
    wakeup = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    for (uint16_t port = 1; port <= ports; port++) {
        sockets_[port] = Fd(bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sockets", 4, 4, 16, nullptr));
        plug(port);
    }
}

void SplitRig::TearDown() {
    path.reset();
    for (uint16_t port = 1; port <= ports; port++)
        unplug(port);
}

void SplitRig::open(unsigned workers, config::Polling polling) {
    counters = std::make_unique<WorkerCounterSet>(workers);
    auto opened = SplitPath::open({memory.get(), &geometry}, epochs, *counters, *order,
                                  {workers, {}, polling}, wakeup.get());
    ASSERT_TRUE(opened) << opened.error().to_string();
    path = std::move(*opened);
    for (uint16_t port = 1; port <= ports; port++)
        add(port);
}

void SplitRig::plug(uint16_t port) {
    const std::string p = name("p", port);
    const std::string e = name("e", port);
    const std::string count = std::to_string(queues[port]);
    const std::string numbers = " numrxqueues " + count + " numtxqueues " + count;
    run("ip link add " + p + numbers + " type veth peer name " + e + numbers);
    run("ip link set " + e + " up");
    run("ip link set " + p + " up");
    const Fd program = redirecting_program(sockets_[port].get());
    ASSERT_TRUE(program);
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(if_nametoindex(p.c_str())), program.get(), XDP_FLAGS_DRV_MODE,
                             nullptr),
              0);
}

void SplitRig::unplug(uint16_t port) {
    run("ip link del " + name("p", port));
}

void SplitRig::add(uint16_t port, bool egress_only) {
    const std::string device = name("p", port);
    auto added = path->add(port, if_nametoindex(device.c_str()), device, egress_only);
    // A busy machine's kernel may still hold the queue of the socket that went.
    (void)until([&] {
        if (!added) added = path->add(port, if_nametoindex(device.c_str()), device, egress_only);
        return added.has_value();
    });
    ASSERT_TRUE(added) << added.error().to_string();
    if (egress_only) return;
    ASSERT_EQ(added->size(), queues[port]);
    for (const auto& [queue, socket] : *added)
        ASSERT_EQ(bpf_map_update_elem(sockets_[port].get(), &queue, &socket, BPF_ANY), 0);
}

void SplitRig::remove(uint16_t port) {
    for (uint32_t queue = 0; queue < queues[port]; queue++)
        bpf_map_delete_elem(sockets_[port].get(), &queue);
    path->remove(port);
}

uint64_t SplitRig::poll() {
    path->poll([this](const pp_punt& punt, std::span<uint8_t> bytes) {
        EXPECT_EQ(punt.frame_length, bytes.size());
        punted++;
    });
    return punted;
}

bool SplitRig::settled(uint16_t port, uint32_t number) const {
    for (uint32_t queue = 0; queue < queues[port]; queue++)
        if (__atomic_load_n(&order->sockets[port * PP_PORT_QUEUES + queue].settled, __ATOMIC_ACQUIRE) !=
            number)
            return false;
    return true;
}

void SplitRig::expect_no_slot_lost() {
    for (const WorkerState& worker : path->workers())
        EXPECT_EQ(worker.slots->lost(), 0) << where_slots_are();
}

std::string SplitRig::where_slots_are() {
    std::string text;
    for (const WorkerState& worker : path->workers())
        text += "worker " + std::to_string(worker.index) + ": " + std::to_string(worker.slots->free) +
                " free, " + std::to_string(worker.slots->receive) + " to receive, " +
                std::to_string(worker.slots->transmit) + " to transmit, " +
                std::to_string(worker.slots->retired) + " retired, " + std::to_string(worker.slots->lost()) +
                " lost\n";
    return text;
}

void SplitRig::expect_rest() {
    ASSERT_TRUE(until([&] { return all_at_rest(); })) << where_slots_are();
    expect_no_slot_lost();
}

bool SplitRig::all_at_rest() {
    path->tick();
    for (const WorkerState& worker : path->workers())
        if (worker.slots->transmit != 0 || worker.slots->retired != 0) return false;
    return true;
}

}  // namespace pktpit::router::test
