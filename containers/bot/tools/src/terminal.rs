//! Reduces a command's output to what a terminal would show.
//!
//! Removes codes and keeps each line's last state. Not here: movements between lines, which are
//! left out.

use anstyle_parse::{Params, Parser, Perform, Utf8Parser};

/// Returns the text without codes; `None` if it has none.
pub(super) fn plain(text: &str) -> Option<String> {
    if text.split_inclusive('\n').all(is_plain) {
        return None;
    }
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_plain(line) {
            shown.push_str(line);
            continue;
        }
        // The command may print a file, whose line ends stay.
        let content = line.trim_end_matches(['\r', '\n']);
        let mut screen = Line::default();
        // A new parser for each line, so that a code without an end hides a single line at most.
        let mut parser = Parser::<Utf8Parser>::new();
        content.chars().for_each(|letter| match letter {
            // Each is another form for a code that begins with Escape.
            '\u{80}'..='\u{9f}' => {
                [0x1b, letter as u8 - 0x40]
                    .into_iter()
                    .for_each(|byte| parser.advance(&mut screen, byte));
            }
            _ => letter
                .encode_utf8(&mut [0; 4])
                .bytes()
                .for_each(|byte| parser.advance(&mut screen, byte)),
        });
        shown.extend(screen.letters);
        shown.push_str(&line[content.len()..]);
    }
    Some(shown)
}

/// Returns the text with each redrawn line state as a separate line.
pub(super) fn every_state(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let content = line.trim_end_matches(['\r', '\n']);
        content.replace('\r', "\n") + &line[content.len()..]
    });
    lines.collect()
}

/// Returns whether a line has no control characters except tabs and the line end.
fn is_plain(line: &str) -> bool {
    let content = line.strip_suffix('\n').unwrap_or(line);
    let content = content.strip_suffix('\r').unwrap_or(content);
    !content.contains(|letter: char| letter.is_control() && letter != '\t')
}

/// A terminal line while it is printed.
#[derive(Default)]
struct Line {
    letters: Vec<char>,
    column: usize,
}

impl Line {
    fn put(&mut self, letter: char) {
        match self.letters.get_mut(self.column) {
            Some(old) => *old = letter,
            None => self.letters.push(letter),
        }
        self.column += 1;
    }

    /// Moves to a column. A gap behind the text is a single space at any width: a few bytes must
    /// not become thousands.
    fn go_to(&mut self, column: usize) {
        if column > self.letters.len() {
            self.letters.push(' ');
        }
        self.column = column.min(self.letters.len());
    }
}

impl Perform for Line {
    fn print(&mut self, letter: char) {
        self.put(letter);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.column = 0,
            b'\t' => self.put('\t'),
            0x08 => self.column = self.column.saturating_sub(1),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _intermediates: &[u8], _ignore: bool, action: u8) {
        let part = params
            .iter()
            .next()
            .and_then(|values| values.first())
            .copied()
            .unwrap_or_default();
        let count = usize::from(part);
        match (action, count) {
            (b'K', 0) => self.letters.truncate(self.column),
            (b'K', 1) => self
                .letters
                .iter_mut()
                .take(self.column + 1)
                .for_each(|letter| *letter = ' '),
            (b'K', 2) => {
                self.letters.truncate(self.column);
                self.letters.fill(' ');
            }
            (b'C', _) => self.go_to(self.column + count.max(1)),
            (b'D', _) => self.go_to(self.column.saturating_sub(count.max(1))),
            (b'G', _) => self.go_to(count.saturating_sub(1)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_are_removed_and_progress_is_its_last_state() {
        for (given, shown) in [
            ("\u{1b}[31mred\u{1b}[0m\n", "red\n"),
            ("10%\r 50%\r100%\nnext\n", "100%\nnext\n"),
            ("a long line\r\u{1b}[Kdone", "done"),
            ("first\rsec", "secst"),
            ("ab\u{8}c", "ac"),
            (
                "x\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\\r\n",
                "xlink\r\n",
            ),
            ("\u{1b}]never ended\nnext\n", "\nnext\n"),
            ("größe\u{7} \u{1b}[1m文\u{1b}[m", "größe 文"),
            ("name\u{1b}[60Cvalue", "name value"),
            ("abcd\u{1b}[2Dx\u{1b}[1K!", "   !"),
            ("\u{9b}31mred\u{9b}0m", "red"),
            ("half a code \u{1b}[3", "half a code "),
            ("a\rb\r\r\n", "b\r\r\n"),
        ] {
            assert_eq!(plain(given).as_deref(), Some(shown), "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn text_without_codes_is_not_touched(text in "([^\\p{Cc}]|\t|\r?\n){0,80}") {
            prop_assume!(!text.ends_with('\r'));
            prop_assert_eq!(plain(&text), None);
        }

        #[test]
        fn result_has_no_codes_and_as_many_lines(text in "(\\PC|[\r\n\t]|\u{1b}|\\[|\\]|[0-9KGm]){0,80}") {
            if let Some(shown) = plain(&text) {
                let has_code = shown.contains('\u{1b}');
                prop_assert!(!has_code, "{:?}", shown);
                prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
            }
        }
    }
}
