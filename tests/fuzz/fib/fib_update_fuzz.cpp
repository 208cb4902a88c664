// The input as a sequence of updates of a small FIB image, compared with the longest-prefix oracle at its end
// and, for the addresses touched, after each update.
#include <cstdlib>

#include "tests/property/lpm_oracle.h"
#include "tests/unit/fib/test_image.h"

namespace {

using namespace pktpit;

class Input {
  public:
    Input(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
    [[nodiscard]] bool empty() const { return data_ == end_; }
    uint8_t byte() { return empty() ? 0 : *data_++; }

  private:
    const uint8_t* data_;
    const uint8_t* end_;
};

void check(const fib::FibImage& fib, const test::LpmOracle& oracle, const IpAddress& address) {
    const auto expected = oracle.match(address);
    if (fib.lookup(address) != (expected ? expected->value : 0)) std::abort();
    const auto match = fib.match(address);
    if (match.has_value() != expected.has_value()) std::abort();
    if (match && match->first != Prefix::of(address, expected->length)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    const Family family = input.byte() & 1 ? Family::ipv6 : Family::ipv4;
    fib::Capacity capacity = test::TestImage::small();
    capacity.blocks4 = capacity.blocks6 = 32;
    static test::TestImage image(capacity);
    fib::FibImage& fib = *image;
    static const fib::GroupId groups[] = {image.add_group(), image.add_group(), image.add_group(),
                                          image.add_group()};
    test::LpmOracle oracle(family);
    for (int step = 0; !input.empty() && step < 200; step++) {
        // An operation, a length and the address bits that matter; those not given are 0.
        const uint8_t operation = input.byte();
        IpAddress address;
        address.family = family;
        unsigned length = input.byte() % (address.bits() + 1);
        // Shorter ones rewrite much of the root, which takes a thousand times as long: only where asked for.
        if (length < 8 && !(operation & 0x40)) length += 8;
        for (unsigned i = 0; i < (length + 7) / 8; i++)
            address.bytes[i] = operation & 0x80 ? static_cast<uint8_t>(input.byte() & 0x81) : input.byte();
        const Prefix prefix = Prefix::of(address, length);
        if (operation & 1) {
            if (fib.set(prefix, groups[operation >> 1 & 3])) oracle.set(prefix, groups[operation >> 1 & 3]);
        } else if (fib.erase(prefix) != oracle.erase(prefix)) {
            std::abort();
        }
        check(fib, oracle, prefix.address);
        check(fib, oracle, prefix.last());
        check(fib, oracle, oracle.previous(prefix.address));
        check(fib, oracle, oracle.next(prefix.last()));
    }
    const auto usage = fib.usage();
    if (usage.blocks4 + usage.blocks6 != oracle.blocks()) std::abort();
    if (usage.prefixes4 + usage.prefixes6 != oracle.size()) std::abort();
    for (const auto& [prefix, group] : oracle.all()) {
        if (fib.find(prefix) != group) std::abort();
        check(fib, oracle, prefix.address);
        check(fib, oracle, prefix.last());
    }
    // The image is used again, so that an update that leaves something behind is noticed.
    for (const auto& [prefix, group] : oracle.all())
        if (!fib.erase(prefix)) std::abort();
    if (fib.usage().blocks4 + fib.usage().blocks6 != 0) std::abort();
    return 0;
}
