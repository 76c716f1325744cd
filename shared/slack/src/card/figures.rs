//! Durations and amounts as a card shows them, and texts cut to a line.

/// Micro-dollars in a cent.
const CENT: u64 = 10_000;

/// Formats milliseconds: `0s`, `4m 12s`, `1h 03m`. A negative duration is `0s`.
pub(super) fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

/// Formats micro-dollars in cents, rounded down.
pub(super) fn dollars(microusd: u64) -> String {
    match microusd / CENT {
        0 => "<$0.01".to_owned(),
        cents => format!("${}.{:02}", cents / 100, cents % 100),
    }
}

/// Returns the first line with text, with single blanks, of at most `max` characters.
pub(super) fn line(text: &str, max: usize) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let first: String = first.unwrap_or_default().chars().map(visible).collect();
    let words: Vec<_> = first.split_whitespace().collect();
    cut(&words.join(" "), max)
}

/// Cuts a text to `max` characters, the last of which shows the cut.
pub(super) fn cut(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(max.saturating_sub(1)).collect();
    kept.truncate(kept.trim_end().len());
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        for (ms, text) in [
            (-5, "0s"),
            (999, "0s"),
            (59_999, "59s"),
            (60_000, "1m 00s"),
            (252_000, "4m 12s"),
            (3_600_000, "1h 00m"),
            (3_780_000, "1h 03m"),
            (90_000_000, "25h 00m"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn amounts_are_cents() {
        for (microusd, text) in [
            (0, "<$0.01"),
            (9_999, "<$0.01"),
            (10_000, "$0.01"),
            (1_239_999, "$1.23"),
            (12_000_000, "$12.00"),
        ] {
            assert_eq!(dollars(microusd), text);
        }
    }

    #[test]
    fn line_is_the_first_with_text() {
        for (text, expected) in [
            ("\n  a\t b \nc", "a b"),
            ("123456789", "1234567…"),
            ("12345678", "12345678"),
            ("123456 89", "123456…"),
            ("", ""),
        ] {
            assert_eq!(line(text, 8), expected);
        }
    }
}
