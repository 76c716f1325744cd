//! Reads the refs that a push changes, before any part is forwarded.

use std::io;

use ars_codehost::run_of_branch;
use bytes::{Bytes, BytesMut};
use futures::{Stream, TryStreamExt as _};

use super::{answer::Problem, decide::Refused, limits::MAX_PUSH_COMMANDS_BYTES};

/// Bytes in a line's length prefix.
const LENGTH: usize = 4;
/// Prefix that branch names start with.
const BRANCHES: &str = "refs/heads/";
/// Digit repeated in the null object id, with which a push deletes a ref.
const ABSENT: u8 = b'0';
/// A capability by which a push asks the host for actions.
const OPTIONS: &str = "push-options";
const MALFORMED: Problem = Problem::Malformed("the commands of the push are not readable");

/// Reads a push's commands and returns the bytes read.
///
/// # Errors
/// Returns why the push is not forwarded: each ref must be a service branch, and none is deleted.
pub(super) async fn commands(
    body: &mut (impl Stream<Item = io::Result<Bytes>> + Unpin + Send),
) -> Result<Bytes, Problem> {
    let mut read = BytesMut::new();
    let mut line = 0;
    loop {
        fill(body, &mut read, line + LENGTH).await?;
        let length = length_of(&read[line..line + LENGTH]).ok_or(MALFORMED)?;
        if length == 0 {
            return Ok(read.freeze());
        }
        let end = line + length;
        if length < LENGTH || end > MAX_PUSH_COMMANDS_BYTES {
            return Err(MALFORMED);
        }
        fill(body, &mut read, end).await?;
        check(&read[line + LENGTH..end])?;
        line = end;
    }
}

/// Reads until this many bytes are there.
async fn fill(
    body: &mut (impl Stream<Item = io::Result<Bytes>> + Unpin + Send),
    read: &mut BytesMut,
    bytes: usize,
) -> Result<(), Problem> {
    while read.len() < bytes {
        let more = body
            .try_next()
            .await
            .map_err(|_| MALFORMED)?
            .ok_or(MALFORMED)?;
        read.extend_from_slice(&more);
    }
    Ok(())
}

/// Returns a line's length, including the length digits. Zero ends the commands.
fn length_of(digits: &[u8]) -> Option<usize> {
    let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16)
        .ok()
        .filter(|_| is_hexadecimal)
}

/// Checks the ref in a single command.
fn check(line: &[u8]) -> Result<(), Problem> {
    let line = std::str::from_utf8(line).map_err(|_| MALFORMED)?;
    let (command, capabilities) = line.split_once('\0').unwrap_or((line, ""));
    if capabilities
        .split_ascii_whitespace()
        .any(|one| one == OPTIONS)
    {
        return Err(Problem::Malformed("options of a push are refused"));
    }
    let words: Vec<&str> = command.trim_end_matches('\n').split(' ').collect();
    match *words.as_slice() {
        ["shallow", id] if is_id(id) => Ok(()),
        [old, new, name] if is_id(old) && is_id(new) => {
            if name
                .strip_prefix(BRANCHES)
                .and_then(run_of_branch)
                .is_none()
            {
                return Err(Problem::Refused(Refused::Ref(name.to_owned())));
            }
            if new.bytes().all(|digit| digit == ABSENT) {
                return Err(Problem::Refused(Refused::Deletion(name.to_owned())));
            }
            Ok(())
        }
        _ => Err(MALFORMED),
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, stream};

    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";
    const NONE: &str = "0000000000000000000000000000000000000000";

    fn line(text: &str) -> String {
        format!("{:04x}{text}", text.len() + LENGTH)
    }

    /// Returns how many bytes were read from a body that arrives byte by byte, or the refusal kind.
    fn read(body: &str) -> Result<usize, &'static str> {
        let bytes = body.bytes().map(|byte| Ok(Bytes::copy_from_slice(&[byte])));
        let mut body = stream::iter(bytes.collect::<Vec<_>>());
        let read = commands(&mut body).now_or_never().unwrap();
        read.map(|read| read.len())
            .map_err(|problem| match problem {
                Problem::Refused(Refused::Ref(_)) => "ref",
                Problem::Refused(Refused::Deletion(_)) => "deletion",
                Problem::Malformed(_) => "malformed",
                _ => "other",
            })
    }

    #[test]
    fn only_branches_of_the_service_are_pushed() {
        let to = |name: &str| line(&format!("{ID} {ID} {name}\0 report-status agent=git/2"));
        let good = to("refs/heads/ars/r1/fix");
        let second = line(&format!("{ID} {ID} refs/heads/ars/r1/more\n"));
        for (body, expected) in [
            (
                format!("{good}{second}0000PACK"),
                Ok(good.len() + second.len() + LENGTH),
            ),
            (
                format!("{}{good}0000PACK", line(&format!("shallow {ID}"))),
                Ok(2 * LENGTH + 48 + good.len()),
            ),
            ("0000".to_owned(), Ok(LENGTH)),
            (format!("{}0000", to("refs/heads/main")), Err("ref")),
            (format!("{}0000", to("refs/tags/ars/r1")), Err("ref")),
            (
                format!("{good}{}0000", line(&format!("{ID} {ID} refs/heads/main"))),
                Err("ref"),
            ),
            (
                format!("{}0000", line(&format!("{NONE} {ID} refs/heads/ars/r1"))),
                Ok(2 * LENGTH + 99),
            ),
            (
                format!("{}0000", line(&format!("{ID} {NONE} refs/heads/ars/r1"))),
                Err("deletion"),
            ),
            (
                format!(
                    "{}0000",
                    line(&format!("{ID} {ID} refs/heads/ars/r1\0push-options"))
                ),
                Err("malformed"),
            ),
            (
                format!("{}0000", line("push-cert\0push-cert=x")),
                Err("malformed"),
            ),
            (good.clone(), Err("malformed")),
            ("0003".to_owned(), Err("malformed")),
            ("+123".to_owned(), Err("malformed")),
        ] {
            assert_eq!(read(&body), expected, "{body}");
        }
        let many = second.repeat(MAX_PUSH_COMMANDS_BYTES / second.len() + 2);
        assert_eq!(read(&format!("{many}0000")), Err("malformed"));
    }
}
