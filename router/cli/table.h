// SPDX-License-Identifier: BSD-3-Clause
/// Text tables: aligned columns, UTF-8, cut to a terminal's width. Pure; one thread.
#pragma once

#include <string>
#include <vector>

#include "router/cli/terminal.h"

namespace pktpit::router::cli {

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
    bool flexible = false;  ///< shortened first where the table is wider than the terminal
};

struct Cell {
    std::string text;
    Colour colour = Colour::none;

    Cell(std::string value, Colour paint = Colour::none)  // NOLINT: rows are lists of strings
        : text(std::move(value)), colour(paint) {}
    Cell(const char* value) : text(value) {}  // NOLINT
};

class Table {
  public:
    explicit Table(std::vector<Column> columns);

    /// Missing cells are empty. Cells are made printable().
    void add_row(std::vector<Cell> cells);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] size_t size() const { return rows_.size(); }
    void clear() { rows_.clear(); }

    /// All rows, one line each, columns two blanks apart, no blanks at the ends of lines. A column is never
    /// narrower than in the call before, so that pages of one listing line up.
    [[nodiscard]] std::string render(const Terminal& terminal, bool with_header = true);

  private:
    [[nodiscard]] std::string render_row(const std::vector<Cell>& cells, const std::vector<size_t>& widths,
                                         bool colours) const;
    [[nodiscard]] std::vector<size_t> fit(size_t columns) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
    std::vector<size_t> widths_;
};

/// Characters that a terminal shows of UTF-8 text. Counts code points: names of interfaces are all we show.
size_t display_width(std::string_view text);

}  // namespace pktpit::router::cli
