//! Times as text.

pub(crate) use ars_bot_core::time::iso;

/// Returns a duration such as `243ms`, `2s`, `4m 12s` or `1h 03m`. `assets/dom.js` has the same text.
pub(crate) fn duration(ms: i64) -> String {
    if (1..1000).contains(&ms) {
        return format!("{ms}ms");
    }
    let seconds = ms.max(0) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_a_clock() {
        for (ms, text) in [
            (-5, "0s"),
            (0, "0s"),
            (999, "999ms"),
            (2600, "2s"),
            (61_000, "1m 01s"),
            (252_000, "4m 12s"),
            (3_780_000, "1h 03m"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }
}
