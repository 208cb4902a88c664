// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/table.h"

#include <algorithm>
#include <numeric>

namespace pktpit::router::cli {
namespace {

constexpr size_t gap = 2;
constexpr size_t narrowest = 8;  // a shortened column still says something

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// At most `width` characters, the last one "…" where text was left out.
std::string shortened(const std::string& text, size_t width) {
    if (display_width(text) <= width) return text;
    size_t end = 0;
    for (size_t shown = 0; end < text.size(); end++) {
        if (continues_character(text[end])) continue;
        if (++shown == width) break;
    }
    return text.substr(0, end) + "…";
}

}  // namespace

size_t display_width(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)), widths_(columns_.size(), 0) {}

void Table::add_row(std::vector<Cell> cells) {
    cells.resize(columns_.size(), Cell(""));
    for (Cell& cell : cells)
        cell.text = printable(cell.text);
    rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::fit(size_t columns) const {
    std::vector<size_t> widths = widths_;
    if (columns == 0) return widths;
    const size_t all = std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
    size_t excess = all > columns ? all - columns : 0;
    for (size_t i = widths.size(); i-- > 0 && excess > 0;) {
        if (!columns_[i].flexible || widths[i] <= narrowest) continue;
        const size_t cut = std::min(excess, widths[i] - narrowest);
        widths[i] -= cut;
        excess -= cut;
    }
    return widths;
}

std::string Table::render_row(const std::vector<Cell>& cells, const std::vector<size_t>& widths,
                              bool colours) const {
    std::string line;
    for (size_t i = 0; i < cells.size(); i++) {
        const std::string text = shortened(cells[i].text, widths[i]);
        const std::string padding(widths[i] - display_width(text), ' ');
        if (i > 0) line.append(gap, ' ');
        if (columns_[i].align == Align::right) line += padding;
        line += colours && !text.empty() ? painted(cells[i].colour, text) : text;
        if (columns_[i].align == Align::left) line += padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string Table::render(const Terminal& terminal, bool with_header) {
    std::vector<Cell> header;
    for (size_t i = 0; i < columns_.size(); i++) {
        header.emplace_back(columns_[i].title, Colour::bold);
        widths_[i] = std::max(widths_[i], display_width(columns_[i].title));
        for (const auto& row : rows_)
            widths_[i] = std::max(widths_[i], display_width(row[i].text));
    }
    const std::vector<size_t> widths = fit(terminal.columns);
    std::string text = with_header ? render_row(header, widths, terminal.colour_out) : "";
    for (const auto& row : rows_)
        text += render_row(row, widths, terminal.colour_out);
    return text;
}

}  // namespace pktpit::router::cli
