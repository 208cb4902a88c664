// SPDX-License-Identifier: BSD-3-Clause
#include "bench/dpdk/l3fwd.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/harness/failure.h"

namespace pktpit::bench::dpdk {
namespace {

namespace fs = std::filesystem;

constexpr const char* examples = "/usr/share/dpdk/examples";

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string output_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) harness::fail_errno(command);
    std::string text;
    std::array<char, 4096> buffer;
    for (size_t bytes = 0; (bytes = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), bytes);
    pclose(pipe);
    return text;
}

fs::path cache_directory() {
    if (const char* cache = getenv("XDG_CACHE_HOME"); cache && *cache == '/')
        return fs::path(cache) / "pktpit";
    const char* home = getenv("HOME");
    return home && *home == '/' ? fs::path(home) / ".cache/pktpit" : fs::temp_directory_path() / "pktpit";
}

/// FNV-1a over everything that the binary is made of.
uint64_t digest(const std::vector<std::string>& texts) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const std::string& text : texts)
        for (const char byte : text)
            hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    return hash;
}

}  // namespace

std::vector<SourceEdit> l3fwd_edits(unsigned mbufs) {
    return {
        {"main.c", "\t\tlocal_port_conf.rx_adv_conf.rss_conf.rss_hf &=\n",
         "\t\tlocal_port_conf.rxmode.offloads &= dev_info.rx_offload_capa;\n"
         "\t\tlocal_port_conf.rx_adv_conf.rss_conf.rss_hf &=\n",
         "virtual devices have no receive checksum offload"},
        {"main.c", "rxq_conf.offloads = port_conf.rxmode.offloads;",
         "rxq_conf.offloads = port_conf.rxmode.offloads & dev_info.rx_offload_capa;", "the same for a queue"},
        {"main.c", "(unsigned)8192)", fmt::format("(unsigned){})", mbufs),
         "net_af_xdp keeps 4,096 buffers a port in its rings, net_pcap all frames that it repeats"},
        {"l3fwd_lpm.c", "#define IPV4_L3FWD_LPM_MAX_RULES         1024",
         "#define IPV4_L3FWD_LPM_MAX_RULES         1310720", "a full IPv4 table"},
        {"l3fwd_lpm.c", "#define IPV4_L3FWD_LPM_NUMBER_TBL8S (1 << 8)",
         "#define IPV4_L3FWD_LPM_NUMBER_TBL8S (1 << 15)", "prefixes longer than /24"},
        {"l3fwd_lpm.c", "#define IPV6_L3FWD_LPM_MAX_RULES         1024",
         "#define IPV6_L3FWD_LPM_MAX_RULES         393216", "a full IPv6 table"},
        {"l3fwd_fib.c", "config_ipv4.max_routes = (1 << 16);", "config_ipv4.max_routes = 1310720;",
         "a full IPv4 table"},
        {"l3fwd_fib.c", "config.max_routes = (1 << 16) - 1;", "config.max_routes = 393216;",
         "a full IPv6 table"},
        {"l3fwd_fib.c", "config.trie.num_tbl8 = (1 << 15);", "config.trie.num_tbl8 = (1 << 16);",
         "a full IPv6 table"}};
}

L3fwd build_l3fwd(bool patched, unsigned mbufs) {
    const fs::path source = fs::path(examples) / "l3fwd";
    if (!fs::exists(source / "main.c"))
        throw harness::Failure(fmt::format(
            "no {}/l3fwd: install Debian's dpdk-doc (the examples), libdpdk-dev, make and gcc", examples));
    L3fwd out;
    out.version = output_of("dpkg-query -W -f '${Version}' dpdk-doc 2>/dev/null");
    std::vector<std::pair<fs::path, std::string>> files;
    std::vector<std::string> texts{patched ? "patched" : "stock",
                                   output_of("pkg-config --modversion libdpdk")};
    for (const auto& entry : fs::directory_iterator(source)) {
        if (!entry.is_regular_file()) continue;
        const std::string name = entry.path().filename();
        std::string text = read_file(entry.path());
        if (patched) text = apply_edits(name, std::move(text), l3fwd_edits(mbufs));
        files.emplace_back(name, std::move(text));
    }
    std::sort(files.begin(), files.end());
    for (const auto& [name, text] : files)
        texts.push_back(text);

    const fs::path folder = cache_directory() / fmt::format("l3fwd-{:016x}", digest(texts));
    out.binary = folder / "l3fwd/build/l3fwd";
    if (access(out.binary.c_str(), X_OK) != 0) {
        const fs::path workshop = folder.string() + "." + std::to_string(getpid());
        fs::create_directories(workshop / "l3fwd");
        fs::copy(fs::path(examples) / "common", workshop / "common", fs::copy_options::recursive);
        for (const auto& [name, text] : files)
            if (!(std::ofstream(workshop / "l3fwd" / name, std::ios::binary) << text).flush())
                harness::fail_errno("write " + (workshop / "l3fwd" / name).string());
        const std::string words = output_of("make -C '" + (workshop / "l3fwd").string() + "' 2>&1");
        if (access((workshop / "l3fwd/build/l3fwd").c_str(), X_OK) != 0) {
            fs::remove_all(workshop);
            throw harness::Failure("l3fwd does not build:\n" +
                                   words.substr(words.size() - std::min<size_t>(words.size(), 3000)));
        }
        std::error_code lost_race;
        fs::rename(workshop, folder, lost_race);
        if (lost_race) fs::remove_all(workshop);
    }
    if (patched)
        out.patch = output_of(fmt::format("cd '{1}' && diff -u -r -x build '{0}' . | grep -v '^diff '",
                                          source.string(), (folder / "l3fwd").string()));
    return out;
}

}  // namespace pktpit::bench::dpdk
