// SPDX-License-Identifier: BSD-3-Clause
// Loops have a form that every verifier takes. Older ones refuse ("back-edge from insn") a step back that no
// jump makes: a plain instruction or a call that falls through to where the walk is already, which is how a
// compiler may lay out a loop that is entered in its middle. Here as check_cfg() of kernel/bpf/verifier.c
// walks in Linux 5.15 and 6.1, without a kernel.
#include <elf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpf/filter_layout.h"
#include "fib/layout.h"
// clang-format off
#include "aggregate_egress.skel.h"
#include "port_stage.skel.h"
#include "port_stage_tags.skel.h"
#include "stack_redirect.skel.h"
// clang-format on

namespace pktpit::test {
namespace {

struct Edge {
    size_t to;
    bool jump;
};

std::vector<Edge> edges_from(std::span<const bpf_insn> code, size_t at) {
    const bpf_insn& one = code[at];
    const unsigned type = BPF_CLASS(one.code), operation = BPF_OP(one.code);
    const Edge next{at + 1, false};
    if (type != BPF_JMP && type != BPF_JMP32) return {next};
    if (operation == BPF_EXIT) return {};
    if (operation == BPF_CALL) return {next};
    const Edge target{at + 1 + static_cast<size_t>(static_cast<ptrdiff_t>(one.off)), true};
    if (operation == BPF_JA) return {target};
    return {{next.to, true}, target};
}

/// Where a function steps back without a jump.
std::optional<size_t> refused_at(std::span<const bpf_insn> code) {
    enum class State { fresh, walked, done };
    struct Place {
        size_t at;
        std::vector<Edge> edges;
        size_t next = 0;
    };
    std::vector<State> states(code.size(), State::fresh);
    std::vector<Place> way{{0, edges_from(code, 0)}};
    states[0] = State::walked;
    while (!way.empty()) {
        Place& place = way.back();
        if (place.next == place.edges.size()) {
            states[place.at] = State::done;
            way.pop_back();
            continue;
        }
        const Edge edge = place.edges[place.next++];
        if (edge.to >= code.size()) return place.at;
        if (states[edge.to] == State::walked && !edge.jump) return place.at;
        if (states[edge.to] != State::fresh) continue;
        states[edge.to] = State::walked;
        way.push_back({edge.to, edges_from(code, edge.to)});
    }
    return std::nullopt;
}

template <class T>
std::span<const T> table(std::span<const std::byte> file, size_t offset, size_t bytes) {
    return {reinterpret_cast<const T*>(file.subspan(offset, bytes).data()), bytes / sizeof(T)};
}

struct Function {
    std::string name;
    std::span<const bpf_insn> code;
};

std::vector<Function> functions_of(std::span<const std::byte> file) {
    const auto& head = *reinterpret_cast<const Elf64_Ehdr*>(file.data());
    const auto sections = table<Elf64_Shdr>(file, head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr));
    std::vector<Function> found;
    for (const Elf64_Shdr& symbols : sections) {
        if (symbols.sh_type != SHT_SYMTAB) continue;
        const char* names = reinterpret_cast<const char*>(file.data()) + sections[symbols.sh_link].sh_offset;
        for (const Elf64_Sym& symbol : table<Elf64_Sym>(file, symbols.sh_offset, symbols.sh_size))
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
                found.push_back({names + symbol.st_name,
                                 table<bpf_insn>(file, sections[symbol.st_shndx].sh_offset + symbol.st_value,
                                                 symbol.st_size)});
    }
    return found;
}

template <class Object>
std::span<const std::byte> bytes_of() {
    size_t size = 0;
    const auto* bytes = static_cast<const std::byte*>(Object::elf_bytes(&size));
    return {bytes, size};
}

TEST(Loops, EveryVerifierTakesThem) {
    for (const auto file : {bytes_of<aggregate_egress>(), bytes_of<port_stage>(), bytes_of<port_stage_tags>(),
                            bytes_of<stack_redirect>()}) {
        const auto functions = functions_of(file);
        ASSERT_FALSE(functions.empty());
        for (const auto& [name, code] : functions) {
            ASSERT_FALSE(code.empty()) << name;
            const auto refused = refused_at(code);
            EXPECT_FALSE(refused) << name << ": back-edge from instruction " << *refused
                                  << ", which is no jump";
        }
    }
}

bpf_insn instruction(unsigned code, int16_t offset) {
    bpf_insn one{};
    one.code = static_cast<uint8_t>(code);
    one.off = offset;
    return one;
}

TEST(Loops, OneEnteredInItsMiddleIsRefused) {
    const bpf_insn add = instruction(BPF_ALU64 | BPF_ADD, 0), exit = instruction(BPF_JMP | BPF_EXIT, 0);
    const bpf_insn back = instruction(BPF_JMP | BPF_JLT, -2);
    const std::vector<bpf_insn> entered_at_its_test{instruction(BPF_JMP | BPF_JA, 1), add, back, exit};
    EXPECT_EQ(refused_at(entered_at_its_test), 1u);
    const std::vector<bpf_insn> entered_at_its_head{add, back, exit};
    EXPECT_EQ(refused_at(entered_at_its_head), std::nullopt);
}

}  // namespace
}  // namespace pktpit::test
