// SPDX-License-Identifier: BSD-3-Clause
// A paced sender and a receiver of numbered frames, for tests that say "nothing is lost and nothing
// reordered".
//
//   traffic send DEV SRC_MAC DST_MAC 4|6 SRC_IP DST_IP PACKETS_PER_SECOND FLOWS BYTES
//   traffic receive DEV PROGRESS_FILE
//
// Both run until SIGTERM and then print one line of JSON; the receiver says "ready" before. A frame carries
// its flow and its number within the flow; the receiver writes how many have come into PROGRESS_FILE, so that
// a test can wait for traffic to flow.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::array<uint8_t, 8> magic = {'p', 'k', 't', 'p', 'i', 't', '#', 0};
constexpr size_t batch = 32;  // well below the 256 slots of a veth ring, so that no burst overruns it

struct Mark {
    std::array<uint8_t, 8> magic;
    uint32_t flow;
    uint32_t number;
};

volatile std::sig_atomic_t stopped = 0;

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(2);
}

int open_socket(const char* device, uint16_t protocol) {
    int descriptor = socket(AF_PACKET, SOCK_RAW, 0);
    if (descriptor < 0) give_up("socket");
    int bytes = 256 << 20, one = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    setsockopt(descriptor, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex(device));
    if (!address.sll_ifindex) give_up(device);
    if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address)) give_up("bind");
    return descriptor;
}

uint16_t checksum(const uint8_t* data, size_t size) {
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i += 2)
        sum += static_cast<uint32_t>(data[i] << 8 | data[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

void put16(uint8_t* at, size_t value) {
    at[0] = static_cast<uint8_t>(value >> 8);
    at[1] = static_cast<uint8_t>(value);
}

void parse_mac(const char* text, uint8_t* mac) {
    unsigned b[6];
    if (std::sscanf(text, "%x:%x:%x:%x:%x:%x", b, b + 1, b + 2, b + 3, b + 4, b + 5) != 6) give_up(text);
    for (int i = 0; i < 6; i++)
        mac[i] = static_cast<uint8_t>(b[i]);
}

// One frame of a flow; its mark is filled in at sending. UDP checksum: 0 (none) for IPv4; IPv6 needs one, but
// the receiver reads the frames below its stack, and no router looks at it.
std::vector<uint8_t> frame_of(char** arguments, uint32_t flow, size_t bytes, size_t& mark_offset) {
    bool v4 = arguments[5][0] == '4';
    size_t ip = v4 ? 20 : 40;
    mark_offset = 14 + ip + 8;
    std::vector<uint8_t> frame(std::max(bytes, mark_offset + sizeof(Mark)));
    parse_mac(arguments[4], frame.data());
    parse_mac(arguments[3], frame.data() + 6);
    put16(frame.data() + 12, v4 ? 0x0800 : 0x86dd);
    uint8_t* header = frame.data() + 14;
    if (v4) {
        header[0] = 0x45;
        put16(header + 2, frame.size() - 14);
        header[8] = 64;
        header[9] = 17;
        if (inet_pton(AF_INET, arguments[6], header + 12) != 1 ||
            inet_pton(AF_INET, arguments[7], header + 16) != 1)
            give_up("address");
        put16(header + 10, checksum(header, 20));
    } else {
        header[0] = 0x60;
        put16(header + 4, frame.size() - 54);
        header[6] = 17;
        header[7] = 64;
        if (inet_pton(AF_INET6, arguments[6], header + 8) != 1 ||
            inet_pton(AF_INET6, arguments[7], header + 24) != 1)
            give_up("address");
    }
    put16(header + ip, 10000 + flow);
    put16(header + ip + 2, 5000);
    put16(header + ip + 4, frame.size() - 14 - ip);
    return frame;
}

void send_until_stopped(char** arguments) {
    int descriptor = open_socket(arguments[2], 0);
    double rate = std::atof(arguments[8]);
    auto flows = static_cast<uint32_t>(std::atoi(arguments[9]));
    std::vector<std::vector<uint8_t>> frames(std::max<size_t>(batch, flows));
    std::vector<uint32_t> numbers(flows);
    size_t mark_offset = 0;
    for (size_t i = 0; i < frames.size(); i++)
        frames[i] = frame_of(arguments, static_cast<uint32_t>(i % flows),
                             std::strtoul(arguments[10], nullptr, 10), mark_offset);
    uint64_t sent = 0, refused = 0, next = 0;
    auto start = Clock::now();
    while (!stopped) {
        double due = std::chrono::duration<double>(Clock::now() - start).count() * rate -
                     static_cast<double>(sent + refused);
        if (due < 1) {
            timespec pause{0, 300000};
            nanosleep(&pause, nullptr);
            continue;
        }
        // What it was kept from sending is not caught up with: in no span of time does it send more than the
        // rate and one burst, so that losses can be told in time.
        if (const double burst = std::max<double>(batch, rate / 1000); due > burst) {
            due = burst;
            start = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                       (static_cast<double>(sent + refused) + burst) / rate));
        }
        std::array<mmsghdr, batch> messages{};
        std::array<iovec, batch> parts{};
        auto count = static_cast<size_t>(std::min<double>(due, batch));
        for (size_t i = 0; i < count; i++) {
            auto& frame = frames[(next + i) % frames.size()];
            auto flow = static_cast<uint32_t>((next + i) % frames.size() % flows);
            Mark mark{magic, flow, numbers[flow]++};
            std::memcpy(frame.data() + mark_offset, &mark, sizeof mark);
            parts[i] = {frame.data(), frame.size()};
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        for (size_t done = 0; done < count;) {
            int now = sendmmsg(descriptor, messages.data() + done, static_cast<unsigned>(count - done), 0);
            if (now > 0) {
                done += static_cast<size_t>(now);
                sent += static_cast<size_t>(now);
            } else if (errno != EINTR) {  // ENOBUFS: the sender's own side refused it, so no router saw it
                refused++;
                done++;
            }
        }
        next += count;
    }
    std::printf("{\"sent\": %llu, \"refused\": %llu}\n", static_cast<unsigned long long>(sent),
                static_cast<unsigned long long>(refused));
}

void receive_until_stopped(char** arguments) {
    int descriptor = open_socket(arguments[2], ETH_P_ALL);
    int file = open(arguments[3], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 8)) give_up(arguments[3]);
    void* shared = mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) give_up("mmap");
    auto& progress = *static_cast<std::atomic<uint64_t>*>(shared);
    struct Flow {
        uint32_t next = 0;
        std::vector<bool> seen;
    };
    std::vector<Flow> flows;
    uint64_t received = 0, unique = 0, reordered = 0, other = 0;
    double longest = 0;
    auto last = Clock::now();
    std::vector<std::array<uint8_t, 256>> buffers(batch);
    std::array<mmsghdr, batch> messages{};
    std::array<iovec, batch> parts{};
    for (size_t i = 0; i < batch; i++) {
        parts[i] = {buffers[i].data(), buffers[i].size()};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    std::puts("ready");
    std::fflush(stdout);
    while (true) {
        pollfd ready{descriptor, POLLIN, 0};
        // Whoever tells it to stop has waited for what was on its way (PROGRESS_FILE): what is here is taken.
        (void)poll(&ready, 1, 300);
        int count = recvmmsg(descriptor, messages.data(), batch, MSG_DONTWAIT, nullptr);
        if (stopped && count < 0 && errno != EINTR) break;
        if (count < 0 && errno == ENETDOWN) usleep(10000);  // the device went away and may come back
        for (int i = 0; i < count; i++) {
            const uint8_t* begin = buffers[static_cast<size_t>(i)].data();
            const uint8_t* end = begin + std::min<size_t>(messages[static_cast<size_t>(i)].msg_len, 256);
            const uint8_t* at = std::search(begin, end, magic.begin(), magic.end());
            if (static_cast<size_t>(end - at) < sizeof(Mark)) {
                other++;
                continue;
            }
            Mark mark;
            std::memcpy(&mark, at, sizeof mark);
            if (mark.flow >= 65536) continue;
            if (flows.size() <= mark.flow) flows.resize(mark.flow + 1);
            Flow& flow = flows[mark.flow];
            if (flow.seen.size() <= mark.number) flow.seen.resize(mark.number + 4096);
            unique += !flow.seen[mark.number];
            flow.seen[mark.number] = true;
            reordered += mark.number < flow.next;
            flow.next = std::max(flow.next, mark.number + 1);
            auto now = Clock::now();
            if (received++) longest = std::max(longest, std::chrono::duration<double>(now - last).count());
            last = now;
            progress.store(received, std::memory_order_relaxed);
        }
    }
    tpacket_stats statistics{};
    socklen_t size = sizeof statistics;
    getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &statistics, &size);
    std::printf(
        "{\"received\": %llu, \"unique\": %llu, \"reordered\": %llu, \"missed_by_receiver\": %u, "
        "\"other\": %llu, \"longest_pause\": %.6f}\n",
        static_cast<unsigned long long>(received), static_cast<unsigned long long>(unique),
        static_cast<unsigned long long>(reordered), statistics.tp_drops,
        static_cast<unsigned long long>(other), longest);
}

}  // namespace

int main(int count, char** arguments) {
    struct sigaction action {};
    action.sa_handler = [](int) { stopped = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    if (count == 11 && !std::strcmp(arguments[1], "send"))
        send_until_stopped(arguments);
    else if (count == 4 && !std::strcmp(arguments[1], "receive"))
        receive_until_stopped(arguments);
    else
        give_up("usage: traffic send|receive …");
    return 0;
}
