//! The service's shell scripts for a resident tree, and how their output comes back.
//!
//! A resident runs commands in a shell and returns text with a bounded length. A script therefore
//! writes the output to a file, which is read in compressed pieces. Each word in a script is quoted
//! separately.

use std::io::Read as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use flate2::read::GzDecoder;

/// Compressed output bytes in a response, which base64 turns into 96,000 characters.
pub(super) const PIECE_BYTES: u64 = 72_000;
/// Exit code for a path that leads out of the tree.
pub(super) const ESCAPED: i32 = 65;
/// Exit code for a path that does not exist.
pub(super) const MISSING: i32 = 66;
/// Exit code for a path with another kind.
pub(super) const OTHER_KIND: i32 = 67;

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a program's words, quoted.
pub(super) fn words<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    words
        .into_iter()
        .map(|word| quoted(word.as_ref()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns a script prefix that resolves a path to `$p` within the tree, links included.
pub(super) fn resolving(path: &str) -> String {
    let path = quoted(path);
    format!(
        "cd -P . && r=$PWD; p=$(realpath -m -- {path}) || exit {MISSING}\n\
         case \"$p\" in \"$r\"|\"$r\"/*) ;; *) exit {ESCAPED};; esac; [ -e \"$p\" ] || exit {MISSING}\n"
    )
}

/// Wraps a script. The response has the exit code, size and file for the compressed output, and the
/// first piece. At most `limit` output bytes are kept; the size tells whether there were more.
pub(super) fn captured(script: &str, limit: usize) -> String {
    let kept = limit.saturating_add(1);
    format!(
        "f=$(mktemp) || exit 125\n( {script}\n) </dev/null 2>\"$f.err\" >\"$f.raw\"; c=$?\n\
         head -c {kept} \"$f.raw\" | gzip -1c >\"$f\"; s=$(stat -c %s \"$f\")\n\
         printf '%s %s %s\\n' \"$c\" \"$s\" \"$f\"; head -c 400 \"$f.err\" | base64 -w0; echo\n\
         head -c {PIECE_BYTES} \"$f\" | base64 -w0; rm -f \"$f.raw\" \"$f.err\"\n\
         [ \"$s\" -gt {PIECE_BYTES} ] || rm -f \"$f\""
    )
}

/// Returns the script that reads a file's next piece, and removes the file after the last piece.
pub(super) fn next_piece(file: &str, offset: u64, size: u64) -> String {
    let (file, from) = (quoted(file), offset + 1);
    let rest = if offset + PIECE_BYTES >= size {
        format!("; rm -f {file}")
    } else {
        String::new()
    };
    format!("tail -c +{from} {file} | head -c {PIECE_BYTES} | base64 -w0{rest}")
}

/// A wrapped script's first response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) exit_code: i32,
    pub(super) size: u64,
    pub(super) file: String,
    pub(super) errors: String,
    pub(super) piece: Vec<u8>,
}

impl Head {
    /// Parses the response. `None` for text in another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.splitn(3, '\n');
        let mut facts = lines.next()?.splitn(3, ' ');
        let exit_code = facts.next()?.parse().ok()?;
        let size = facts.next()?.parse().ok()?;
        let file = facts.next()?.to_owned();
        let errors = String::from_utf8_lossy(&piece(lines.next()?)?).into_owned();
        Some(Self {
            exit_code,
            size,
            file,
            errors,
            piece: piece(lines.next()?)?,
        })
    }
}

/// Decodes an output piece.
pub(super) fn piece(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text.trim()).ok()
}

/// Decompresses the pieces: at most `limit` bytes, and whether there were more.
pub(super) fn decompress(bytes: &[u8], limit: usize) -> Option<(Vec<u8>, bool)> {
    let mut output = Vec::new();
    let most = limit as u64 + 1;
    GzDecoder::new(bytes)
        .take(most)
        .read_to_end(&mut output)
        .ok()?;
    let is_cut = output.len() > limit;
    output.truncate(limit);
    Some((output, is_cut))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn sh(script: &str) -> String {
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// A shell sees each word unchanged, whatever it contains.
        #[test]
        fn words_pass_a_shell_unchanged(hostile in proptest::collection::vec("[ -~\n'$`\\\\é]{0,12}", 1..4)) {
            let printed = sh(&format!("printf '%s\\0' {}", words(&hostile)));
            let seen: Vec<&str> = printed.strip_suffix('\0').unwrap().split('\0').collect();
            prop_assert_eq!(seen, hostile);
        }
    }

    #[test]
    fn output_comes_back_in_pieces() {
        // Text that does not compress, so that several pieces are needed.
        let script = "head -c 150000 /dev/urandom | base64 -w0; echo err >&2; exit 3";
        let head = Head::parse(&sh(&captured(script, 1 << 20))).unwrap();
        assert_eq!((head.exit_code, head.errors.as_str()), (3, "err\n"));
        assert!(head.size > PIECE_BYTES, "{}", head.size);
        let mut bytes = head.piece;
        while (bytes.len() as u64) < head.size {
            let next = piece(&sh(&next_piece(&head.file, bytes.len() as u64, head.size))).unwrap();
            assert!(!next.is_empty());
            bytes.extend(next);
        }
        let (output, is_cut) = decompress(&bytes, 1 << 20).unwrap();
        assert_eq!((output.len(), is_cut), (200_000, false));
        assert!(!std::path::Path::new(&head.file).exists());
        assert_eq!(
            decompress(&bytes, 10).unwrap(),
            (output[..10].to_vec(), true)
        );
    }

    #[test]
    fn path_is_resolved_within_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a b"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("out")).unwrap();
        let code = |path: &str| {
            let script = format!(
                "cd {}\n{}exit 0",
                quoted(folder.path().to_str().unwrap()),
                resolving(path)
            );
            Command::new("sh")
                .args(["-c", &script])
                .status()
                .unwrap()
                .code()
                .unwrap()
        };
        assert_eq!(["a b", ".", "./a b"].map(code), [0; 3]);
        assert_eq!(["nope", "a b/x"].map(code), [MISSING; 2]);
        assert_eq!(["..", "/etc", "out"].map(code), [ESCAPED; 3]);
    }
}
