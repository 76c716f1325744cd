//! Classifies the runtime's error messages about a container, which carry no code.
//!
//! Not here: the answers derived from them (`ars-proxy`) and the container's next step (`lifecycle`).

/// Error messages when a request never reached the container: the port is closed or nothing runs.
const NOT_SENT: [&str; 4] = [
    "connection refused",
    "container port not found",
    "is not listening",
    "not running",
];

/// Returns whether a failed request's message means that no process listens on the port.
///
/// Any other message, a timeout included, leaves open whether the container received the request.
pub fn is_unreachable(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    NOT_SENT.iter().any(|known| message.contains(known))
}

/// Texts before the exit code in runtime and platform errors.
const EXIT_PREFIXES: [&str; 2] = [
    "container exited with unexpected exit code:",
    "runtime signalled the container to exit:",
];

/// Returns the exit code that a monitor's error names.
///
/// Without it the container may still run: only the monitor is known to have ended.
pub fn exit_code(message: &str) -> Option<i32> {
    let message = message.to_ascii_lowercase();
    let code = EXIT_PREFIXES
        .iter()
        .find_map(|prefix| message.split_once(prefix))?
        .1
        .trim_start();
    code.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_is_read_from_known_messages_only() {
        for (message, code) in [
            ("Container exited with unexpected exit code: 137", 137),
            ("runtime signalled the container to exit: 143.", 143),
            ("Error: Container exited with unexpected exit code: 0", 0),
        ] {
            assert_eq!(exit_code(message), Some(code), "{message}");
        }
        for message in [
            "Monitoring container failed with: 500 busy",
            "monitor() cannot be called on a container that is not running.",
            "Network connection lost.",
            "runtime signalled the container to exit: soon",
            "",
        ] {
            assert_eq!(exit_code(message), None, "{message}");
        }
    }
}
