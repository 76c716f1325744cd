//! Shell arguments that run a command at any length.

/// Longest program argument in bytes, which the kernel limits to 128 KiB with the end.
const ARGUMENT_BYTES_MAX: usize = (128 << 10) - 1;
/// Runs a command that is in several arguments, as if it were in a single argument.
const JOIN: &str = "IFS=; set -- \"$*\"; unset IFS; eval \"shift; $1\"";

/// Returns the bash arguments for a command. In a long command the shell's name is `bash`.
pub fn shell_words(command: &str) -> Vec<&str> {
    if command.len() <= ARGUMENT_BYTES_MAX {
        return vec!["-c", command];
    }
    let mut words = vec!["-c", JOIN, "bash"];
    let mut rest = command;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(ARGUMENT_BYTES_MAX));
        words.push(piece);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_of_wide_letters_fits_into_arguments() {
        let command = "\u{1F600}".repeat(64_000);
        let words = shell_words(&command);
        assert!(words.iter().all(|word| word.len() <= ARGUMENT_BYTES_MAX));
        assert_eq!(words[3..].concat(), command);
        assert_eq!(shell_words("true"), ["-c", "true"]);
    }
}
