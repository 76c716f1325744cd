//! Command output: stream heads, notes, exit codes.

/// Characters per stream that an answer contains.
pub const STREAM_HEAD_MAX_CHARS: usize = 100_000;
/// Bytes per stream that leave the container: enough for that many characters.
pub const HEAD_BYTES_MAX: usize = 400_004;
/// Characters from a file that an answer contains.
pub const READ_MAX_CHARS: usize = 262_144;
/// Characters that a request may write to a file.
pub const WRITE_MAX_CHARS: usize = 524_288;
/// Exit code when its timeout ended a command.
pub const TIMEOUT_EXIT: i32 = 124;
/// Exit code when a command was not started because the disk is full.
pub const NO_SPACE_EXIT: i32 = 125;
/// Exit code in an answer with an error.
pub const ERROR_EXIT: i32 = 127;
/// Interval at which a streamed answer sends a line feed.
pub const STREAM_HEARTBEAT_INTERVAL_MS: i64 = 15_000;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The output's head, as bytes.
    pub stdout: Vec<u8>,
    /// The error output's head, as bytes.
    pub stderr: Vec<u8>,
    /// The command's exit code.
    pub exit_code: i32,
    /// The limit that ended it, if any did.
    pub timeout_ms: Option<i64>,
}

/// The streams in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    /// The command's standard output.
    pub stdout: String,
    /// Error output, with notes.
    pub stderr: String,
    /// The command's exit code.
    pub exit_code: i32,
    /// A stream was cut.
    pub truncated: bool,
}

/// Cuts a command's streams and adds notes about a cut or a timeout to the error output.
pub fn streams(captured: &Captured, max_timeout_ms: Option<i64>) -> Streams {
    let (stdout, cut_out) = head(&captured.stdout);
    let (mut stderr, cut_err) = head(&captured.stderr);
    let truncated = cut_out || cut_err;
    if truncated {
        note(
            &mut stderr,
            &format!("output was cut to {STREAM_HEAD_MAX_CHARS} characters per stream"),
        );
    }
    let Some(timeout) = captured.timeout_ms else {
        return Streams {
            stdout,
            stderr,
            exit_code: captured.exit_code,
            truncated,
        };
    };
    let knob = max_timeout_ms.map_or_else(String::new, |max| {
        format!("; raise timeoutMs, at most {max}")
    });
    note(
        &mut stderr,
        &format!("the command was ended after {timeout} ms{knob}"),
    );
    Streams {
        stdout,
        stderr,
        exit_code: TIMEOUT_EXIT,
        truncated,
    }
}

fn note(stream: &mut String, text: &str) {
    if !stream.is_empty() && !stream.ends_with('\n') {
        stream.push('\n');
    }
    stream.push_str(&format!("[{text}]\n"));
}

fn head(bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(STREAM_HEAD_MAX_CHARS) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.into_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(stdout: &str) -> Captured {
        Captured {
            stdout: stdout.into(),
            stderr: b"warning".to_vec(),
            exit_code: 1,
            timeout_ms: None,
        }
    }

    #[test]
    fn long_stream_is_cut_by_characters() {
        let exact = streams(&captured(&"é".repeat(STREAM_HEAD_MAX_CHARS)), None);
        assert!(!exact.truncated && exact.stderr == "warning");
        let long = streams(&captured(&"é".repeat(STREAM_HEAD_MAX_CHARS + 1)), None);
        assert!(long.truncated && long.stderr.contains("was cut") && long.exit_code == 1);
        assert_eq!(long.stdout.chars().count(), STREAM_HEAD_MAX_CHARS);
    }

    #[test]
    fn timeout_keeps_the_captured_head() {
        let ended = streams(
            &Captured {
                timeout_ms: Some(1_000),
                ..captured("so far")
            },
            Some(1_200_000),
        );
        assert_eq!(
            (ended.exit_code, ended.stdout.as_str()),
            (TIMEOUT_EXIT, "so far")
        );
        assert!(
            ended
                .stderr
                .contains("1000 ms; raise timeoutMs, at most 1200000"),
            "{}",
            ended.stderr
        );
    }
}
