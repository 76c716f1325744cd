//! A Markdown table as aligned text. Slack has no tables.

use pulldown_cmark::Alignment;

/// Separates columns.
const COLUMN: &str = " | ";
/// Separates columns below the head.
const RULE: &str = "-|-";

/// A table with cells of plain text.
#[derive(Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<String>>,
    /// The cell that is being read.
    pub(super) cell: String,
}

impl Table {
    /// Ends the cell that is being read.
    pub(super) fn end_cell(&mut self) {
        let words: Vec<_> = self.cell.split_whitespace().collect();
        let cell = words.join(" ");
        self.cell.clear();
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Returns the rows with columns of equal width, and a rule below the head.
    pub(super) fn text(&self) -> String {
        let widths: Vec<_> = (0..self.alignments.len())
            .map(|column| self.width(column))
            .collect();
        let mut lines: Vec<_> = self
            .rows
            .iter()
            .map(|row| self.line(row, &widths))
            .collect();
        let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
        lines.insert(lines.len().min(1), rule.join(RULE));
        lines.join("\n")
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).zip(&self.alignments);
        let cells = cells.map(|((cell, width), alignment)| match alignment {
            Alignment::Right => format!("{cell:>width$}"),
            Alignment::Center => format!("{cell:^width$}"),
            Alignment::Left | Alignment::None => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join(COLUMN).trim_end().to_owned()
    }
}
