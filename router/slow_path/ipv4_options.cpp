// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/ipv4_options.h"

#include <algorithm>

namespace pktpit::router {

namespace {

constexpr uint8_t timestamps_only = 0;
constexpr uint8_t timestamps_with_addresses = 1;
constexpr uint8_t timestamps_prespecified = 3;
constexpr size_t record_route_pointer_min = 4;
constexpr size_t timestamp_pointer_min = 5;
constexpr size_t no_option = SIZE_MAX;

/// Bytes that one more entry takes; 0: a flag value that nobody has defined, the option is left alone.
size_t timestamp_slot(uint8_t flag) {
    switch (flag) {
        case timestamps_only:
            return 4;
        case timestamps_with_addresses:
        case timestamps_prespecified:
            return 8;
        default:
            return 0;
    }
}

/// Offset of the next option from `at` on, past end and no-operation; no_option at the end.
size_t next_option(Bytes header, size_t at) {
    while (at < header.size() && header[at] == option_no_operation)
        at++;
    return at < header.size() && header[at] != option_end ? at : no_option;
}

/// An option's length; 0 if it has none or a wrong one.
size_t length_of(Bytes header, size_t at) {
    if (at + 1 >= header.size()) return 0;
    const size_t length = header[at + 1];
    return length >= 2 && at + length <= header.size() ? length : 0;
}

/// Offset within the option of what is wrong, for one whose length is right.
std::optional<size_t> malformed_record_route(Bytes option) {
    if (option.size() < 3) return 1;
    const size_t pointer = option[2];
    if (pointer < record_route_pointer_min) return 2;
    if (pointer <= option.size() && pointer + 3 > option.size()) return 2;
    return std::nullopt;
}

std::optional<size_t> malformed_timestamp(Bytes option) {
    if (option.size() < 4) return 1;
    const size_t pointer = option[2];
    const uint8_t flag = option[3] & 0x0f;
    if (pointer < timestamp_pointer_min) return 2;
    if (pointer <= option.size()) {
        const size_t slot = timestamp_slot(flag);
        if (slot != 0 && pointer + slot - 1 > option.size()) return 2;
    } else if ((flag == timestamps_only || flag == timestamps_with_addresses) && option[3] >> 4 == 15) {
        return 3;
    }
    return std::nullopt;
}

bool record_route(std::span<uint8_t> option, const OptionsContext& context) {
    const size_t pointer = option[2];
    if (pointer > option.size() || !context.egress_address) return false;
    std::copy_n(context.egress_address->bytes.begin(), 4,
                option.begin() + static_cast<ptrdiff_t>(pointer) - 1);
    option[2] = static_cast<uint8_t>(pointer + 4);
    return true;
}

void timestamp(std::span<uint8_t> option, const OptionsContext& context, OptionsDone& done) {
    const size_t pointer = option[2];
    const uint8_t flag = option[3] & 0x0f;
    const size_t slot = timestamp_slot(flag);
    if (slot == 0) return;
    if (pointer > option.size()) {
        // Prespecified addresses: those not filled in were not passed, none is missing.
        if (flag == timestamps_prespecified) return;
        option[3] = static_cast<uint8_t>(option[3] + 0x10);
        done.timestamp_overflow = true;
        return;
    }
    uint8_t* at = option.data() + pointer - 1;
    if (flag == timestamps_with_addresses) {
        if (!context.egress_address) return;
        std::copy_n(context.egress_address->bytes.begin(), 4, at);
    } else if (flag == timestamps_prespecified && !context.is_own(IpAddress::v4(at))) {
        return;
    }
    store_be32(at + slot - 4, context.milliseconds_since_midnight);
    option[2] = static_cast<uint8_t>(pointer + slot);
    done.timestamped = true;
}

}  // namespace

void for_each_option(Bytes header, const std::function<void(Bytes)>& visit) {
    size_t at = ipv4_header_min;
    while ((at = next_option(header, at)) != no_option) {
        const size_t length = length_of(header, at);
        if (length == 0) return;
        visit(header.subspan(at, length));
        at += length;
    }
}

std::optional<uint8_t> malformed_option(Bytes header) {
    bool seen_record_route = false, seen_timestamp = false;
    size_t at = ipv4_header_min;
    while ((at = next_option(header, at)) != no_option) {
        if (at + 1 >= header.size()) return static_cast<uint8_t>(at);
        const size_t length = length_of(header, at);
        if (length == 0) return static_cast<uint8_t>(at + 1);
        const Bytes option = header.subspan(at, length);
        std::optional<size_t> wrong;
        if (option[0] == option_record_route) {
            wrong = seen_record_route ? 0 : malformed_record_route(option);
            seen_record_route = true;
        } else if (option[0] == option_timestamp) {
            wrong = seen_timestamp ? 0 : malformed_timestamp(option);
            seen_timestamp = true;
        }
        if (wrong) return static_cast<uint8_t>(at + *wrong);
        at += length;
    }
    return std::nullopt;
}

OptionsDone process_options(std::span<uint8_t> header, const OptionsContext& context) {
    OptionsDone done;
    size_t at = ipv4_header_min;
    while ((at = next_option(header, at)) != no_option) {
        const size_t length = length_of(header, at);
        if (length == 0) break;
        const std::span<uint8_t> option = header.subspan(at, length);
        if (option[0] == option_record_route) done.recorded_route = record_route(option, context);
        if (option[0] == option_timestamp) timestamp(option, context, done);
        at += length;
    }
    return done;
}

void neutralise_options(std::span<uint8_t> header) {
    std::ranges::fill(header.subspan(ipv4_header_min), option_no_operation);
    checksum_ipv4(header);
}

}  // namespace pktpit::router
