#include "bench/harness/table_file.h"

#include <lzma.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "bench/harness/failure.h"

namespace pktpit::bench {
namespace {

std::string decompress(const std::string& path) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "rbe"), &fclose);
    if (!file) fail_errno("open " + path);
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, UINT64_MAX, 0) != LZMA_OK) throw Failure("liblzma cannot start");
    const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, &lzma_end);
    std::string text;
    std::vector<uint8_t> in(1 << 16), out(1 << 20);
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) {
        if (stream.avail_in == 0) {
            stream.next_in = in.data();
            stream.avail_in = fread(in.data(), 1, in.size(), file.get());
        }
        stream.next_out = out.data();
        stream.avail_out = out.size();
        result = lzma_code(&stream, stream.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
        text.append(reinterpret_cast<char*>(out.data()), out.size() - stream.avail_out);
    }
    if (result != LZMA_STREAM_END) throw Failure(path + ": broken xz data");
    return text;
}

}  // namespace

bool table_file_exists(const std::string& path) {
    return access(path.c_str(), R_OK) == 0;
}

std::vector<Prefix> read_table_file(const std::string& path) {
    const std::string text = decompress(path);
    std::vector<Prefix> prefixes;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const auto prefix = Prefix::parse(line.substr(0, line.find(' ')));
        if (!prefix)
            throw Failure(path + ":" + std::to_string(prefixes.size() + 1) + ": " +
                          prefix.error().to_string());
        prefixes.push_back(*prefix);
    }
    return prefixes;
}

}  // namespace pktpit::bench
