//! The spans that claim a run's time, and their buckets (docs/reference/friction.md#shape).

use crate::{
    calls::Call,
    intervals::{Interval, MAX_TIME},
    losses::Losses,
    reading::{Event, EventKind},
    spans::{Span, SpanTime},
    turns::{MODEL_TURN, Turn},
};

/// Where claimed time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bucket {
    GettingReady,
    Thinking,
    Tools,
    FinishingUp,
}

/// A counted span. At each moment the deepest span claims the time; among equals the first in the
/// list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) interval: Interval,
    pub(crate) depth: u32,
    pub(crate) bucket: Bucket,
}

/// Returns a span's bucket by name, or `None` if it is not counted. Not counted are containers such
/// as `request` and `run.agent`, `ship.round`, `post.*`, and unknown names. A reading diff is made
/// in the background and claims no time; the wait for it at the end does.
fn bucket(name: &str, command_run: bool) -> Option<Bucket> {
    let is_command = || name == "run.command" || name.starts_with("run.command.");
    match name {
        MODEL_TURN => Some(Bucket::Thinking),
        "slack.receive" => Some(Bucket::GettingReady),
        "run.observe_workspace"
        | "run.pr_post_step"
        | "run.settle_reviewed_head"
        | "run.reading_diff.join"
        | "run.reading_diff_join" => Some(Bucket::FinishingUp),
        _ if name.starts_with("tool.") || name.starts_with("mcp.") => Some(Bucket::Tools),
        _ if name.starts_with("dispatch.") => Some(Bucket::GettingReady),
        _ if is_command() => Some(if command_run {
            Bucket::Tools
        } else {
            Bucket::GettingReady
        }),
        _ => None,
    }
}

/// Returns the claims from recorded spans. A span without an end is cut at the next loss, which may
/// hide the end, else where the window ends.
pub(crate) fn recorded(
    spans: &[Span<'_>],
    command_run: bool,
    losses: &Losses,
    window: Interval,
) -> Vec<Claim> {
    let mut claims: Vec<_> = spans
        .iter()
        .filter_map(|span| {
            let bucket = bucket(span.name, command_run)?;
            let interval = match span.time {
                SpanTime::Ended(interval, _) => interval,
                SpanTime::Open(start) => cut(start, losses, window),
                SpanTime::Untimed => return None,
            };
            Some((
                span.id,
                Claim {
                    interval,
                    depth: span.depth,
                    bucket,
                },
            ))
        })
        .collect();
    claims.sort_by_key(|(id, claim)| (claim.interval.start, *id));
    claims.into_iter().map(|(_, claim)| claim).collect()
}

/// Returns a legacy stream's claims: turns, calls, and calls to external servers.
pub(crate) fn legacy(
    events: &[Event<'_>],
    calls: &[Call<'_>],
    turns: &[Turn],
    losses: &Losses,
    window: Interval,
) -> Vec<Claim> {
    let of_call = |call: &Call<'_>| match &call.outcome {
        Some(outcome) => outcome.interval,
        None => call.at.map(|start| cut(start, losses, window)),
    };
    let of_use = |event: &Event<'_>| match event.kind {
        EventKind::McpUse { ms } => {
            let (end, ms) = (event.at?, ms?.max(0));
            Some(Interval {
                start: end.saturating_sub(ms).max(-MAX_TIME),
                end,
            })
        }
        _ => None,
    };
    let thinking = turns.iter().map(|turn| (turn.interval, Bucket::Thinking));
    let tools = calls
        .iter()
        .filter_map(of_call)
        .chain(events.iter().filter_map(of_use));
    let mut claims: Vec<_> = thinking
        .chain(tools.map(|interval| (interval, Bucket::Tools)))
        .map(|(interval, bucket)| Claim {
            interval,
            depth: 0,
            bucket,
        })
        .collect();
    claims.sort_by_key(|claim| claim.interval.start);
    claims
}

fn cut(start: i64, losses: &Losses, window: Interval) -> Interval {
    Interval {
        start,
        end: losses.next_after(start).unwrap_or(window.end).max(start),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket::*, *};

    #[test]
    fn span_names_map_to_buckets() {
        for (name, expected) in [
            ("model.turn", Some(Thinking)),
            ("tool.bash", Some(Tools)),
            ("mcp.tracker.find", Some(Tools)),
            ("slack.receive", Some(GettingReady)),
            ("dispatch.workspace.attach.clone", Some(GettingReady)),
            ("run.command.repo", Some(GettingReady)),
            ("run.observe_workspace", Some(FinishingUp)),
            ("run.pr_post_step", Some(FinishingUp)),
            ("run.reading_diff.join", Some(FinishingUp)),
            ("run.reading_diff", None),
            ("request", None),
            ("run.agent", None),
            ("run.commands", None),
            ("ship.round", None),
            ("post.reply", None),
            ("later.kind", None),
        ] {
            assert_eq!(bucket(name, false), expected, "{name}");
        }
        assert_eq!(bucket("run.command.repo", true), Some(Tools));
    }
}
