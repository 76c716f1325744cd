//! Bounded memory of a command's output: both ends, and a count of what fell out of the middle.

use std::collections::VecDeque;

/// Keeps the first and the last half of a limit.
pub(super) struct Capture {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(super) fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// The text, lossy, and whether the middle was dropped.
    pub(super) fn finish(mut self) -> (String, bool) {
        let dropped = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        if dropped == 0 {
            self.head.extend_from_slice(tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), false);
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        (format!("{head}\n[… {dropped} bytes left out …]\n{tail}"), true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However the output is cut into pieces, what is kept is the same: all of it, or both ends.
        #[test]
        fn the_pieces_do_not_matter(pieces in proptest::collection::vec("[a-z]{0,9}", 0..20)) {
            let whole = pieces.concat();
            let mut in_pieces = Capture::new(20);
            pieces.iter().for_each(|piece| in_pieces.push(piece.as_bytes()));
            let mut at_once = Capture::new(20);
            at_once.push(whole.as_bytes());
            let (kept, truncated) = in_pieces.finish();
            prop_assert_eq!((kept.clone(), truncated), at_once.finish());
            prop_assert_eq!(truncated, whole.len() > 20);
            if truncated {
                prop_assert!(kept.starts_with(&whole[..10]) && kept.ends_with(&whole[whole.len() - 10..]));
            } else {
                prop_assert_eq!(kept, whole);
            }
        }
    }
}
