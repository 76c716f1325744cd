//! Replaces outputs that take too much room, and files that the model's API rejects, by a line.
//!
//! Deterministic, idempotent, and the same in either order, so a resume drops the same.

use super::estimate;
use crate::{Part, ToolContent, Turn};

/// Outputs up to this size stay, because their replacement would save little.
const KEPT_TOKENS: u64 = 100;

/// Drops a turn's outputs. Returns how many.
pub(super) fn drop_outputs(turn: &mut Turn) -> usize {
    let mut dropped = 0;
    for part in &mut turn.parts {
        if let Part::ToolResult { content, .. } = part
            && (estimate::content(content) > KEPT_TOKENS || content.iter().any(is_rejected))
        {
            let text = stand_in(content);
            *content = vec![ToolContent::Text { text }];
            dropped += 1;
        }
    }
    dropped
}

/// Replaces each image and document in a turn by a line. Returns how many.
pub(super) fn leave_out_files(turn: &mut Turn) -> usize {
    let mut left_out = 0;
    for part in &mut turn.parts {
        match part {
            Part::Image { media_type, .. } | Part::Document { media_type, .. } => {
                *part = Part::text(rejected(media_type));
                left_out += 1;
            }
            Part::ToolResult { content, .. } => {
                for piece in content {
                    let (ToolContent::Image { media_type, .. }
                    | ToolContent::Document { media_type, .. }) = piece
                    else {
                        continue;
                    };
                    *piece = ToolContent::Text {
                        text: rejected(media_type),
                    };
                    left_out += 1;
                }
            }
            Part::Text { .. } | Part::ToolCall { .. } | Part::Opaque { .. } => {}
        }
    }
    left_out
}

/// Starts the line that replaces a rejected file.
const REJECTED: &str = "[Note from the service: a file (";

fn rejected(media_type: &str) -> String {
    format!(
        "{REJECTED}{media_type}) was here. The model's API rejected the request with it, so it is left out. It may be \
         damaged or too large.]"
    )
}

fn is_rejected(piece: &ToolContent) -> bool {
    matches!(piece, ToolContent::Text { text } if text.starts_with(REJECTED))
}

fn stand_in(content: &[ToolContent]) -> String {
    let (mut chars, mut files) = (0, 0);
    for piece in content {
        match piece {
            _ if is_rejected(piece) => files += 1,
            ToolContent::Text { text } => chars += text.chars().count(),
            ToolContent::Image { .. } | ToolContent::Document { .. } => files += 1,
        }
    }
    let files = match files {
        0 => String::new(),
        count => format!(" and {count} file(s)"),
    };
    format!(
        "[Note from the service: this output, {chars} characters{files}, was dropped to make room. Run the tool again if it is needed.]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    fn result(content: Vec<ToolContent>) -> Part {
        Part::ToolResult {
            call_id: "c".into(),
            ok: true,
            content,
        }
    }

    fn text(chars: usize) -> ToolContent {
        ToolContent::Text {
            text: "é".repeat(chars),
        }
    }

    #[test]
    fn large_outputs_are_replaced_once() {
        let image = ToolContent::Image {
            media_type: "image/png".into(),
            data: "A".into(),
        };
        let parts = vec![
            result(vec![text(5_000)]),
            result(vec![text(10)]),
            result(vec![text(1), image]),
            Part::text("t".repeat(9_000)),
        ];
        let mut turn = Turn {
            role: Role::User,
            parts,
        };
        let before = turn.clone();
        assert_eq!(drop_outputs(&mut turn), 2);
        let said = |part: &Part| match part {
            Part::ToolResult { content, .. } => format!("{content:?}"),
            other => panic!("{other:?}"),
        };
        assert!(
            said(&turn.parts[0]).contains("5000 characters, was"),
            "{turn:?}"
        );
        assert!(
            said(&turn.parts[2]).contains("1 characters and 1 file(s), was"),
            "{turn:?}"
        );
        assert_eq!(
            (&turn.parts[1], &turn.parts[3]),
            (&before.parts[1], &before.parts[3])
        );
        let after = turn.clone();
        assert_eq!((drop_outputs(&mut turn), turn), (0, after));
    }
}
