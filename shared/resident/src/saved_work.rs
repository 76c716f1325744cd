//! Working tree checkpoints: their names, and the search for secrets in their files.
//!
//! Used for trees on residents and for those on the bot's disk. Not here: the git calls.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read as _},
};

use ars_events::redact;

/// Checkpoint namespace in a mirror.
pub const NAMESPACE: &str = "refs/ars";
/// First line in the commit message of a checkpoint.
pub const MESSAGE: &str = "Checkpoint of the working tree";
/// Largest file that is searched. Larger files are data.
pub const SEARCHED_MAX_BYTES: usize = 1 << 20;
/// Maximum number of changed files that are searched. With more, each further file is a generated
/// file.
pub const SEARCHED_MAX: usize = 5_000;
/// Maximum number of names listed for files that were not searched.
const UNSEARCHED_MAX: usize = 1_000;

/// A file that has a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// The text without the secret.
    Text(String),
    /// It is no text, so it stays as it was before.
    Binary,
}

/// Returns a file's secret, or `None` if it has none.
pub fn secret_in(content: &[u8]) -> Option<Secret> {
    let text = String::from_utf8_lossy(content);
    let clean = redact(&text);
    if clean == text {
        return None;
    }
    let is_text = matches!(text, Cow::Borrowed(_));
    Some(if is_text {
        Secret::Text(clean.into_owned())
    } else {
        Secret::Binary
    })
}

/// Reads the next object from `git cat-file --batch` output. Returns `None` if it is missing or
/// larger than the search limit.
///
/// # Errors
/// The output cannot be read.
pub fn next_object(output: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = String::new();
    output.read_line(&mut head)?;
    let Some(size) = head
        .trim_end()
        .rsplit(' ')
        .next()
        .and_then(|size| size.parse::<usize>().ok())
    else {
        return Ok(None);
    };
    let mut content = Vec::new();
    let mut rest = output.take(size as u64 + 1);
    if size > SEARCHED_MAX_BYTES {
        io::copy(&mut rest, &mut io::sink())?;
        return Ok(None);
    }
    rest.read_to_end(&mut content)?;
    if content.len() <= size {
        // The output was cut.
        return Ok(None);
    }
    content.pop();
    Ok(Some(content))
}

/// Returns entries for the withheld files list, for files that were not searched.
pub fn unsearched(names: &[String]) -> Vec<String> {
    let mut entries: Vec<String> = names
        .iter()
        .take(UNSEARCHED_MAX)
        .map(|name| format!("{name} (not searched)"))
        .collect();
    let further = names.len().saturating_sub(UNSEARCHED_MAX);
    if further > 0 {
        entries.push(format!("{further} further files (not searched)"));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_follow_each_other() {
        let mut output = io::Cursor::new(
            b"abc blob 3\nx\ny\nabc missing\nabc blob 0\n\nabc blob 9\ncut".to_vec(),
        );
        assert_eq!(next_object(&mut output).unwrap(), Some(b"x\ny".to_vec()));
        assert_eq!(next_object(&mut output).unwrap(), None);
        assert_eq!(next_object(&mut output).unwrap(), Some(Vec::new()));
        assert_eq!(
            next_object(&mut output).unwrap(),
            None,
            "a part of a file is not searched"
        );
    }

    #[test]
    fn secret_is_removed_from_text_only() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert_eq!(secret_in(b"plain\n"), None);
        let Some(Secret::Text(clean)) = secret_in(format!("x\n{token}\n").as_bytes()) else {
            panic!()
        };
        assert!(
            clean.starts_with("x\n") && !clean.contains(&token),
            "{clean}"
        );
        assert_eq!(
            secret_in(&[&[0xff], token.as_bytes()].concat()),
            Some(Secret::Binary)
        );
    }

    #[test]
    fn long_list_of_unsearched_files_is_cut() {
        let names: Vec<String> = (0..1_002).map(|number| number.to_string()).collect();
        let entries = unsearched(&names);
        assert_eq!(
            (entries.len(), entries[0].as_str()),
            (1_001, "0 (not searched)")
        );
        assert_eq!(entries.last().unwrap(), "2 further files (not searched)");
    }
}
