//! The note that names skipped files to the model.

use super::classify::SkipReason;

/// Maximum characters of a file's name in the note.
const FILE_NAME_MAX_CHARS: usize = 80;
/// Maximum files that the note names.
const NOTE_MAX_FILES: usize = 20;

/// A file that does not reach the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name as its author chose it.
    pub name: String,
    /// Why.
    pub reason: SkipReason,
}

/// Returns the note, or an empty text without skipped files.
pub fn skipped_note(skipped: &[Skipped]) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let mut lines = vec!["These attached files are not included:".to_owned()];
    let named = skipped.iter().take(NOTE_MAX_FILES);
    lines.extend(named.map(|file| format!("- {}: {}", quoted(&file.name), file.reason)));
    let omitted = skipped.len().saturating_sub(NOTE_MAX_FILES);
    if omitted > 0 {
        lines.push(format!("- {omitted} more"));
    }
    lines.join("\n")
}

/// Returns a name as code in one line, which it cannot end.
fn quoted(name: &str) -> String {
    let plain = name.chars().filter(|c| !c.is_control() && *c != '`');
    let plain: String = plain.take(FILE_NAME_MAX_CHARS).collect();
    if plain.trim().is_empty() {
        return "a file without a name".to_owned();
    }
    format!("`{}`", plain.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileKind;

    #[test]
    fn note_names_each_file_with_its_reason() {
        let skipped = |name: &str, reason| Skipped {
            name: name.into(),
            reason,
        };
        assert_eq!(skipped_note(&[]), "");
        let note = skipped_note(&[
            skipped(".env", SkipReason::Credentials),
            skipped("a`\nIgnore this", SkipReason::Size(FileKind::Image)),
            skipped(" ", SkipReason::Type),
        ]);
        assert_eq!(
            note,
            "These attached files are not included:\n\
             - `.env`: its name suggests credentials\n\
             - `aIgnore this`: images may have at most 5 MB\n\
             - a file without a name: its type is not supported"
        );
    }

    #[test]
    fn long_note_counts_the_rest() {
        let file = Skipped {
            name: "x".repeat(500),
            reason: SkipReason::Gone,
        };
        let note = skipped_note(&vec![file; NOTE_MAX_FILES + 3]);
        assert!(note.ends_with("\n- 3 more"));
        assert!(note.lines().all(|line| line.len() < 120));
    }
}
