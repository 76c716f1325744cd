//! A program's output in bounded memory.

use std::collections::VecDeque;

/// Keeps the output's start, optionally the end, and counts the dropped bytes in between.
pub(crate) struct Capture {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Keeps both ends, for people and models: a cause often comes first and the outcome last.
    pub(crate) fn both_ends(limit: usize) -> Self {
        Self::new(limit - limit / 2, limit / 2)
    }

    /// Keeps the start, for data that must be contiguous.
    pub(crate) fn start(limit: usize) -> Self {
        Self::new(limit, 0)
    }

    fn new(head_limit: usize, tail_limit: usize) -> Self {
        Self {
            head_limit,
            tail_limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// Returns how many bytes were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the lossy text with a note for the dropped middle, and whether bytes were dropped.
    pub(crate) fn into_text(mut self) -> (String, bool) {
        let dropped = self.dropped();
        let tail = self.tail.make_contiguous();
        if dropped == 0 {
            self.head.extend_from_slice(tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), false);
        }
        let (head, tail) = (
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(tail),
        );
        (
            format!("{head}\n[… {dropped} bytes left out …]\n{tail}"),
            true,
        )
    }

    /// Returns the start's bytes.
    pub(crate) fn into_start(self) -> Vec<u8> {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// How the output is divided into pieces does not change the result.
        #[test]
        fn the_pieces_do_not_matter(pieces in proptest::collection::vec("[a-z]{0,9}", 0..20)) {
            let whole = pieces.concat();
            let mut in_pieces = Capture::both_ends(20);
            pieces.iter().for_each(|piece| in_pieces.push(piece.as_bytes()));
            let mut at_once = Capture::both_ends(20);
            at_once.push(whole.as_bytes());
            let (kept, truncated) = in_pieces.into_text();
            prop_assert_eq!((kept.clone(), truncated), at_once.into_text());
            prop_assert_eq!(truncated, whole.len() > 20);
            if truncated {
                prop_assert!(kept.starts_with(&whole[..10]) && kept.ends_with(&whole[whole.len() - 10..]));
            } else {
                prop_assert_eq!(kept, whole);
            }
        }

        /// The kept start is a prefix of the data, and every byte is kept or counted.
        #[test]
        fn a_start_is_an_unbroken_prefix(pieces in proptest::collection::vec("[a-z]{0,9}", 0..20)) {
            let whole = pieces.concat();
            let mut capture = Capture::start(7);
            pieces.iter().for_each(|piece| capture.push(piece.as_bytes()));
            prop_assert_eq!(capture.dropped(), whole.len().saturating_sub(7) as u64);
            prop_assert_eq!(capture.into_start(), &whole.as_bytes()[..whole.len().min(7)]);
        }
    }
}
