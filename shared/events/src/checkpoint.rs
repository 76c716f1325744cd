//! The note text about a checkpoint, and the way back to the checkpoint's name.

/// Begins the note text.
const SAVED_AS: &str = "saved as ";
/// Number of commit characters in the text.
const SHORT: usize = 12;

/// Returns the note text about a checkpoint with this name and commit.
pub fn checkpoint_note(name: &str, commit: &str) -> String {
    format!("{SAVED_AS}{name} {}", commit.get(..SHORT).unwrap_or(commit))
}

/// Returns the name of the checkpoint that a note is about.
pub fn checkpoint_in(note: &str) -> Option<&str> {
    let name = note.strip_prefix(SAVED_AS)?.split(' ').next()?;
    name.starts_with("refs/").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_names_its_checkpoint() {
        let note = checkpoint_note("refs/ars/run-1/3", &"ab".repeat(20));
        assert_eq!(note, "saved as refs/ars/run-1/3 abababababab");
        assert_eq!(
            checkpoint_in(&format!("{note}, more")),
            Some("refs/ars/run-1/3")
        );
        assert_eq!(checkpoint_in("resident · acme/app · main@abc"), None);
        assert_eq!(checkpoint_in("saved as requested"), None);
    }
}
