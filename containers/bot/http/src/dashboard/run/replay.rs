//! A finished run's stream: kept events, a note at every gap, the finish, and the end.

use ars_bot_core::queries::RunView;
use ars_events::sse::frames;
use serde_json::Value;

/// Returns a run's frames after a seq. The finish lets a page settle that followed the run in
/// another process.
pub(super) fn frames(view: &RunView, after: u64) -> Vec<String> {
    let mut out = kept_frames(&view.events, view.published, after);
    out.extend(view.finished.map(|(at, _)| frames::finished(at)));
    out.push(frames::end_stored());
    out
}

/// Returns the frames for events after a seq; the gaps' counts sum to published minus kept events.
fn kept_frames(events: &[Value], published: u64, after: u64) -> Vec<String> {
    let mut out = Vec::with_capacity(events.len() + 3);
    let mut last = 0;
    for event in events {
        // A stored event without a seq keeps the position.
        let seq = event.get("seq").and_then(Value::as_u64).unwrap_or(last + 1);
        if seq > after {
            out.extend(gap(last, seq - 1, after));
            out.push(frames::event(seq, &event.to_string()));
        }
        last = last.max(seq);
    }
    out.extend(gap(last, published, after));
    out
}

/// Returns the note for a gap. A resumed stream omits the gaps before the resumption point.
fn gap(last: u64, until: u64, after: u64) -> Option<String> {
    let missing = until.saturating_sub(last);
    if missing == 0 || until <= after {
        return None;
    }
    let plural = if missing == 1 {
        "event was"
    } else {
        "events were"
    };
    Some(frames::replay_note(&format!("{missing} {plural} not kept")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(seqs: &[u64]) -> Vec<Value> {
        seqs.iter()
            .map(|seq| json!({"type": "assistant", "text": "x", "seq": seq}))
            .collect()
    }

    fn short(events: &[u64], published: u64, after: u64) -> Vec<String> {
        let frames = kept_frames(&kept(events), published, after);
        let line = |frame: String| match frame.strip_prefix("id: ") {
            Some(rest) => rest.lines().next().unwrap_or_default().to_owned(),
            None => frame
                .trim_end()
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("data: ")
                .to_owned(),
        };
        frames.into_iter().map(line).collect()
    }

    fn note(text: &str) -> String {
        json!({"type": "replay_note", "summary": text}).to_string()
    }

    #[test]
    fn complete_stream_has_no_notes() {
        assert_eq!(short(&[1, 2, 3], 3, 0), ["1", "2", "3"]);
        assert_eq!(short(&[], 0, 0), [""; 0]);
    }

    #[test]
    fn each_gap_has_a_note() {
        let expected = [
            "1".to_owned(),
            note("3 events were not kept"),
            "5".into(),
            note("1 event was not kept"),
        ];
        assert_eq!(short(&[1, 5], 6, 0), expected);
        assert_eq!(short(&[], 2, 0), [note("2 events were not kept")]);
    }

    #[test]
    fn resumed_stream_continues_after_its_position() {
        assert_eq!(short(&[1, 2, 3], 3, 2), ["3"]);
        assert_eq!(short(&[1, 2, 3], 3, 3), [""; 0]);
        assert_eq!(short(&[1, 2, 3], 3, 99), [""; 0]);
        assert_eq!(
            short(&[1, 5], 5, 1),
            [note("3 events were not kept"), "5".into()]
        );
        assert_eq!(short(&[1, 5], 5, 5), [""; 0]);
    }
}
