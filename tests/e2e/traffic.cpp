// SPDX-License-Identifier: BSD-3-Clause
// A sender and a receiver of numbered frames, for tests that say "nothing is lost and nothing reordered".
//
//   traffic send DEV SRC_MAC DST_MAC 4|6 SRC_IP DST_IP FRAMES_PER_SECOND FLOWS BYTES WINDOW PROGRESS_FILE…
//   traffic receive DEV PROGRESS_FILE
//
// Both run until SIGTERM and then print one line of JSON; the receiver says "ready" before. A frame carries
// its flow and its number within the flow. The receiver writes the highest number of each flow into
// PROGRESS_FILE, which acknowledges all frames of the flow up to it, whether they have come or are lost. The
// sender has at most WINDOW frames on the way (0: as many as it likes), so no queue of a slow machine
// overflows; the rate is a ceiling. Where nothing is acknowledged for a while, it sends one frame more, by
// whose arrival it learns which frames are lost. It ends when the last frame of each flow has arrived.

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
constexpr int burst = 32;  // frames at once, at most
constexpr uint32_t most_flows = 256;
// A pause after which one frame more is sent. It doubles up to the longest, so that few are on the way to a
// router that stands still.
constexpr auto first_pause = std::chrono::milliseconds(200), longest_pause = std::chrono::milliseconds(1000);
constexpr auto patience = std::chrono::seconds(30);  // of a sender that ends, for what is on its way

struct Mark {
    std::array<uint8_t, 8> magic;
    uint32_t flow;
    uint32_t number;
};

// What a receiver shares.
struct Progress {
    std::atomic<uint64_t> received;
    std::array<std::atomic<uint32_t>, most_flows>
        next;  // the number after the highest that has come, by flow
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

Progress& progress_in(const char* path) {
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(Progress))) give_up(path);
    void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) give_up("mmap");
    return *static_cast<Progress*>(shared);
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

void send_until_stopped(int count, char** arguments) {
    const int descriptor = open_socket(arguments[2], 0);
    const auto interval = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(1 / std::atof(arguments[8])));
    const auto flows = static_cast<uint32_t>(std::atoi(arguments[9]));
    if (flows > most_flows) give_up("more flows than a receiver tells apart");
    const uint64_t window = std::strtoull(arguments[11], nullptr, 10);
    std::vector<Progress*> receivers;
    for (int i = 12; i < count; i++)
        receivers.push_back(&progress_in(arguments[i]));
    std::vector<std::vector<uint8_t>> frames;
    size_t mark_offset = 0;
    for (uint32_t flow = 0; flow < flows; flow++)
        frames.push_back(frame_of(arguments, flow, std::strtoul(arguments[10], nullptr, 10), mark_offset));
    std::vector<uint32_t> numbers(flows);
    auto acknowledged_of = [&](uint32_t flow) {
        uint32_t next = 0;
        for (const Progress* receiver : receivers)
            next = std::max(next, receiver->next[flow].load(std::memory_order_relaxed));
        return next;
    };

    uint64_t sent = 0, refused = 0, probes = 0, acknowledged = 0;
    uint32_t flow = 0;
    Clock::duration pause = first_pause;
    Clock::time_point moved = Clock::now(), due = moved, stopped_at{};
    while (true) {
        const auto now = Clock::now();
        uint64_t all = 0;
        for (uint32_t each = 0; each < flows; each++)
            all += acknowledged_of(each);
        if (all != acknowledged) {
            acknowledged = all;
            moved = now;
            pause = first_pause;
        }
        if (stopped && stopped_at == Clock::time_point{}) stopped_at = now;
        if (stopped && (sent == acknowledged || window == 0 || now - stopped_at > patience)) break;
        const bool room = !stopped && (window == 0 || sent - acknowledged < window);
        const bool probe = !room && now - moved > pause;
        if ((!room && !probe) || now < due) {
            const timespec moment{0, 200'000};
            nanosleep(&moment, nullptr);
            continue;
        }
        for (uint32_t tried = 0; probe && tried < flows && numbers[flow] == acknowledged_of(flow); tried++)
            flow = (flow + 1) % flows;
        const Mark mark{magic, flow, numbers[flow]};
        std::memcpy(frames[flow].data() + mark_offset, &mark, sizeof mark);
        if (send(descriptor, frames[flow].data(), frames[flow].size(), 0) < 0) {
            refused++;  // the sender's own side did, so no router saw it
            due = now + std::chrono::milliseconds(1);
            continue;
        }
        sent++;
        numbers[flow]++;
        flow = (flow + 1) % flows;
        if (probe) {
            probes++;
            moved = now;
            pause = std::min<Clock::duration>(2 * pause, longest_pause);
        }
        // A burst makes up for what it was kept from sending, but for no more of it.
        due = std::max(due + interval, now - burst * interval);
    }
    std::printf("{\"sent\": %llu, \"refused\": %llu, \"probes\": %llu}\n",
                static_cast<unsigned long long>(sent), static_cast<unsigned long long>(refused),
                static_cast<unsigned long long>(probes));
}

void receive_until_stopped(char** arguments) {
    int descriptor = open_socket(arguments[2], ETH_P_ALL);
    Progress& progress = progress_in(arguments[3]);
    struct Flow {
        uint32_t next = 0;
        std::vector<bool> seen;
    };
    std::array<Flow, most_flows> flows;
    uint64_t received = 0, unique = 0, reordered = 0;
    std::array<uint8_t, 256> frame;
    std::puts("ready");
    std::fflush(stdout);
    while (true) {
        pollfd ready{descriptor, POLLIN, 0};
        if (!stopped) (void)poll(&ready, 1, 100);  // a signal may come just before it
        const ssize_t length = recv(descriptor, frame.data(), frame.size(), MSG_DONTWAIT);
        if (stopped && length < 0 && errno != EINTR) break;
        if (length < 0 && errno == ENETDOWN) usleep(10000);  // the device went away and may come back
        if (length < 0) continue;
        const uint8_t *begin = frame.data(), *end = begin + length;
        const uint8_t* at = std::search(begin, end, magic.begin(), magic.end());
        if (static_cast<size_t>(end - at) < sizeof(Mark)) continue;
        Mark mark;
        std::memcpy(&mark, at, sizeof mark);
        if (mark.flow >= most_flows) continue;
        Flow& flow = flows[mark.flow];
        if (flow.seen.size() <= mark.number) flow.seen.resize(mark.number + 4096);
        unique += !flow.seen[mark.number];
        flow.seen[mark.number] = true;
        reordered += mark.number < flow.next;
        flow.next = std::max(flow.next, mark.number + 1);
        progress.next[mark.flow].store(flow.next, std::memory_order_relaxed);
        progress.received.store(++received, std::memory_order_relaxed);
    }
    tpacket_stats statistics{};
    socklen_t size = sizeof statistics;
    getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &statistics, &size);
    std::printf("{\"received\": %llu, \"unique\": %llu, \"reordered\": %llu, \"missed_by_receiver\": %u}\n",
                static_cast<unsigned long long>(received), static_cast<unsigned long long>(unique),
                static_cast<unsigned long long>(reordered), statistics.tp_drops);
}

}  // namespace

int main(int count, char** arguments) {
    struct sigaction action {};
    action.sa_handler = [](int) { stopped = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    if (count >= 12 && !std::strcmp(arguments[1], "send"))
        send_until_stopped(count, arguments);
    else if (count == 4 && !std::strcmp(arguments[1], "receive"))
        receive_until_stopped(arguments);
    else
        give_up("usage: traffic send|receive …");
    return 0;
}
