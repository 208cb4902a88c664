// SPDX-License-Identifier: BSD-3-Clause
// Sends packets to many destinations and says by which next hop each of them came out.
//
//   sinks SENDER_NETNS DEV SRC_MAC DST_MAC RECEIVER_NETNS DEV FILE zipf|uniform PACKETS RATE WINDOW [LOG]
//
// All next hops lie on the receiver's one wire and are told apart by the destination MAC address, whose last
// two bytes are the next hop's number. FILE: for each destination, the most popular first, its IPv4 address
// and the next hop that is right, two 32-bit numbers; next hop 0: whatever. At most RATE packets a second are
// sent, and never more than WINDOW are under way, so that no queue overflows. With PACKETS 0 it goes on until
// "stop" on standard input; "shuffle" makes other destinations popular. LOG: what became of each packet, 24
// bytes each: destination's index, next hop, when it was sent and received (CLOCK_MONOTONIC, ns).
// Says "running" after the first packets, and ends with one line of JSON.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint64_t magic = 0x736b6e6973696b70;
constexpr size_t batch = 32;
constexpr size_t frame_bytes = 14 + 20 + 8 + 24;

struct Destination {
    uint32_t address;
    uint32_t next_hop;
};
struct Mark {
    uint64_t magic;
    uint64_t index;
    uint64_t sent_at;
};
struct Logged {
    uint32_t index;
    uint32_t next_hop;
    uint64_t sent_at;
    uint64_t received_at;
};

std::atomic<bool> stopped = false, shuffled = false, sender_done = false;
std::atomic<uint64_t> sent = 0, received = 0, written_off = 0;

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(2);
}

uint64_t now() {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

int open_socket(const char* netns, const char* device, uint16_t protocol) {
    const int there = open(netns, O_RDONLY | O_CLOEXEC);
    if (there < 0 || setns(there, CLONE_NEWNET)) give_up(netns);
    close(there);
    const int descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (descriptor < 0) give_up("socket");
    int bytes = 256 << 20, one = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(descriptor, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex(device));
    if (!address.sll_ifindex || bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address))
        give_up(device);
    packet_mreq all{address.sll_ifindex, PACKET_MR_PROMISC, 0, {}};
    if (protocol) setsockopt(descriptor, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all);
    return descriptor;
}

void put16(uint8_t* at, size_t value) {
    at[0] = static_cast<uint8_t>(value >> 8);
    at[1] = static_cast<uint8_t>(value);
}

/// A frame without destination, mark and checksum.
std::array<uint8_t, frame_bytes> make_frame(const char* source_mac, const char* destination_mac) {
    std::array<uint8_t, frame_bytes> frame{};
    const char* macs[] = {destination_mac, source_mac};
    for (size_t side = 0; side < 2; side++) {
        unsigned b[6];
        if (std::sscanf(macs[side], "%x:%x:%x:%x:%x:%x", b, b + 1, b + 2, b + 3, b + 4, b + 5) != 6)
            give_up(macs[side]);
        for (size_t i = 0; i < 6; i++)
            frame[side * 6 + i] = static_cast<uint8_t>(b[i]);
    }
    put16(frame.data() + 12, 0x0800);
    frame[14] = 0x45;
    put16(frame.data() + 16, frame_bytes - 14);
    frame[22] = 64;
    frame[23] = 17;
    put16(frame.data() + 26, 0xc612);  // 198.18.0.1
    put16(frame.data() + 28, 0x0001);
    put16(frame.data() + 34, 10000);
    put16(frame.data() + 36, 9);
    put16(frame.data() + 38, frame_bytes - 34);
    return frame;
}

void finish_frame(uint8_t* frame, uint32_t address, const Mark& mark) {
    put16(frame + 30, address >> 16);
    put16(frame + 32, address & 0xffff);
    put16(frame + 24, 0);
    uint32_t sum = 0;
    for (size_t i = 14; i < 34; i += 2)
        sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    put16(frame + 24, static_cast<uint16_t>(~sum));
    std::memcpy(frame + 42, &mark, sizeof mark);
}

/// Which destination next: the one of rank n with a probability of 1/n, or each alike.
class Choice {
  public:
    Choice(size_t count, bool zipf) : order_(count), sums_(count) {
        std::iota(order_.begin(), order_.end(), 0);
        double sum = 0;
        for (size_t rank = 0; rank < count; rank++)
            sums_[rank] = sum += zipf ? 1.0 / static_cast<double>(rank + 1) : 1.0;
    }
    void shuffle() { std::shuffle(order_.begin(), order_.end(), random_); }
    size_t next() {
        const double at = std::uniform_real_distribution<double>(0, sums_.back())(random_);
        const auto rank = std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin();
        return order_[std::min(static_cast<size_t>(rank), order_.size() - 1)];
    }

  private:
    std::vector<size_t> order_;
    std::vector<double> sums_;
    std::mt19937_64 random_{42};
};

/// How many may be sent now; waits for that. What does not come for a second will not come.
size_t wait_for_room(uint64_t window) {
    uint64_t seen = received, since = now();
    while (!stopped) {
        const uint64_t under_way = sent - received - written_off;
        if (under_way + batch <= window) return batch;
        if (received != seen) {
            seen = received;
            since = now();
        } else if (now() - since > 1'000'000'000) {
            written_off += under_way;
            return batch;
        }
        usleep(20);
    }
    return 0;
}

void run_sender(char** arguments, const std::vector<Destination>& destinations) {
    const int descriptor = open_socket(arguments[1], arguments[2], 0);
    Choice choice(destinations.size(), !std::strcmp(arguments[8], "zipf"));
    const uint64_t packets = std::strtoull(arguments[9], nullptr, 10);
    const double rate = std::atof(arguments[10]);
    const uint64_t window = std::strtoull(arguments[11], nullptr, 10);
    std::vector<std::array<uint8_t, frame_bytes>> frames(batch, make_frame(arguments[3], arguments[4]));
    std::array<mmsghdr, batch> messages{};
    std::array<iovec, batch> parts{};
    uint64_t start = now(), paced = 0;
    while (!stopped && (packets == 0 || sent < packets)) {
        if (shuffled.exchange(false)) choice.shuffle();
        size_t count = wait_for_room(window);
        if (packets) count = std::min<size_t>(count, packets - sent);
        const auto due = static_cast<uint64_t>(static_cast<double>(now() - start) * rate / 1e9);
        if (due < paced) {
            usleep(100);
            continue;
        }
        if (due > paced + 1000) start = now(), paced = 0;  // after a pause: no catching up
        for (size_t i = 0; i < count; i++) {
            const size_t index = choice.next();
            finish_frame(frames[i].data(), destinations[index].address, {magic, index, now()});
            parts[i] = {frames[i].data(), frame_bytes};
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        for (size_t done = 0; done < count;) {
            const int taken =
                sendmmsg(descriptor, messages.data() + done, static_cast<unsigned>(count - done), 0);
            if (taken > 0) {
                done += static_cast<size_t>(taken);
                sent += static_cast<size_t>(taken);
                paced += static_cast<size_t>(taken);
            } else if (errno != EINTR && errno != ENOBUFS) {
                give_up("send");
            }
        }
    }
    sender_done = true;
}

struct Result {
    uint64_t wrong = 0, strange = 0;
    uint32_t first_wrong_address = 0, first_wrong_next_hop = 0;
};

Result run_receiver(char** arguments, const char* log_path, const std::vector<Destination>& destinations,
                    std::atomic<bool>& ready) {
    const int descriptor = open_socket(arguments[5], arguments[6], ETH_P_IP);
    std::FILE* log = log_path ? std::fopen(log_path, "wb") : nullptr;
    if (log_path && !log) give_up(log_path);
    std::vector<std::array<uint8_t, 128>> buffers(batch * 4);
    std::vector<mmsghdr> messages(buffers.size());
    std::vector<iovec> parts(buffers.size());
    for (size_t i = 0; i < buffers.size(); i++) {
        parts[i] = {buffers[i].data(), buffers[i].size()};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    Result result;
    ready = true;
    while (true) {
        pollfd readable{descriptor, POLLIN, 0};
        const bool idle = poll(&readable, 1, 500) == 0;
        if (sender_done && (idle || received == sent)) break;
        const int count = recvmmsg(descriptor, messages.data(), static_cast<unsigned>(messages.size()),
                                   MSG_DONTWAIT, nullptr);
        const uint64_t time = now();
        uint64_t ours = 0;
        for (int i = 0; i < count; i++) {
            const uint8_t* frame = buffers[static_cast<size_t>(i)].data();
            Mark mark{};
            if (messages[static_cast<size_t>(i)].msg_len >= frame_bytes)
                std::memcpy(&mark, frame + 42, sizeof mark);
            if (mark.magic != magic || mark.index >= destinations.size()) {
                result.strange++;
                continue;
            }
            ours++;
            const uint32_t next_hop = static_cast<uint32_t>(frame[4] << 8 | frame[5]);
            const Destination& destination = destinations[mark.index];
            if (destination.next_hop != 0 && destination.next_hop != next_hop && result.wrong++ == 0) {
                result.first_wrong_address = destination.address;
                result.first_wrong_next_hop = next_hop;
            }
            const Logged line{static_cast<uint32_t>(mark.index), next_hop, mark.sent_at, time};
            if (log) std::fwrite(&line, sizeof line, 1, log);
        }
        received += ours;
    }
    if (log) std::fclose(log);
    return result;
}

void follow_orders() {
    std::array<char, 64> line;
    while (std::fgets(line.data(), line.size(), stdin)) {
        if (!std::strcmp(line.data(), "shuffle\n")) shuffled = true;
        if (!std::strcmp(line.data(), "stop\n")) stopped = true;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 12 && count != 13) give_up("usage: sinks …");
    std::FILE* file = std::fopen(arguments[7], "rb");
    if (!file) give_up(arguments[7]);
    std::vector<Destination> destinations;
    for (Destination one{}; std::fread(&one, sizeof one, 1, file) == 1;)
        destinations.push_back(one);
    std::fclose(file);

    std::atomic<bool> ready = false;
    Result result;
    std::thread receiver([&] {
        result = run_receiver(arguments, count == 13 ? arguments[12] : nullptr, destinations, ready);
    });
    while (!ready)
        usleep(1000);
    std::thread sender([&] { run_sender(arguments, destinations); });
    while (received == 0 && !sender_done)
        usleep(1000);
    std::puts("running");
    std::fflush(stdout);
    std::thread(follow_orders).detach();
    sender.join();
    receiver.join();
    std::printf(
        "{\"sent\": %llu, \"received\": %llu, \"wrong\": %llu, \"strange\": %llu, "
        "\"first_wrong_address\": %u, \"first_wrong_next_hop\": %u}\n",
        static_cast<unsigned long long>(sent), static_cast<unsigned long long>(received),
        static_cast<unsigned long long>(result.wrong), static_cast<unsigned long long>(result.strange),
        result.first_wrong_address, result.first_wrong_next_hop);
    std::fflush(stdout);
    _exit(0);
}
