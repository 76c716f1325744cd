//! The effort that a model accepts: clamped on older Opus and Sonnet, omitted on Haiku.
//!
//! The API rejects an effort that the model does not know. Models older than the parameter reject it altogether; their
//! behaviour equals `high`.

use ars_types::Effort;

/// A model's major and minor version.
type Version = (u32, u32);

/// The first versions that accept effort at all, and that accept `xhigh` and `max`.
const OPUS: [Version; 2] = [(4, 5), (4, 7)];
const SONNET: [Version; 2] = [(4, 6), (5, 0)];

/// Returns the effort to send for `model`.
pub(super) fn accepted(model: &str, wanted: Option<Effort>) -> Option<Effort> {
    let wanted = wanted?;
    let [takes_effort, takes_more] = match () {
        () if model.contains("haiku") => return None,
        () if model.contains("opus") => OPUS,
        () if model.contains("sonnet") => SONNET,
        () => return Some(wanted),
    };
    // A name without a version is an alias for the newest.
    let Some(version) = version(model) else {
        return Some(wanted);
    };
    match version {
        old if old < takes_effort => None,
        older if older < takes_more => Some(wanted.min(Effort::High)),
        _ => Some(wanted),
    }
}

/// Parses `claude-opus-4-7`, `claude-3-5-sonnet-20241022` and `claude-opus-4@20250514`.
/// A version's numbers have at most two digits.
fn version(model: &str) -> Option<Version> {
    let words = model.split(|c: char| !c.is_ascii_alphanumeric());
    let mut numbers = words
        .filter(|word| word.len() <= 2)
        .filter_map(|word| word.parse().ok());
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use Effort::{High, Low, Max, Xhigh};

    use super::*;

    #[test]
    fn effort_is_what_the_model_takes() {
        for (model, wanted, sent) in [
            ("claude-opus-5-5", Max, Some(Max)),
            ("claude-opus-4-7", Xhigh, Some(Xhigh)),
            ("claude-sonnet-5", Max, Some(Max)),
            ("claude-sonnet-latest", Xhigh, Some(Xhigh)),
            ("claude-fable-5-1", Max, Some(Max)),
            ("claude-opus-4-6", Max, Some(High)),
            ("claude-opus-4-5-20251101", Xhigh, Some(High)),
            ("claude-sonnet-4-6", Xhigh, Some(High)),
            ("claude-sonnet-4-6", Low, Some(Low)),
            ("claude-sonnet-4-5-20250929", Xhigh, None),
            ("claude-opus-4-20250514", High, None),
            ("claude-opus-4@20250514", High, None),
            ("claude-3-5-sonnet-20241022", Low, None),
            ("claude-haiku-4-5", Low, None),
            ("claude-haiku-5-5", Max, None),
        ] {
            assert_eq!(accepted(model, Some(wanted)), sent, "{model} {wanted}");
        }
        assert_eq!(accepted("claude-opus-5-5", None), None);
    }
}
