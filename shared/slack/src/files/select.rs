//! The files of a thread that reach the model: the newest first, within the limits.

use std::collections::HashMap;

use super::{
    classify::{FileKind, Readable, SkipReason, classify},
    note::Skipped,
};
use crate::event::{File, FileAccess, Message};

/// The decision about the files of a thread.
#[derive(Debug, Default, PartialEq)]
pub struct Selection<'a> {
    /// Files to download, those of the newest message first.
    pub kept: Vec<SelectedFile<'a>>,
    /// The others.
    pub skipped: Vec<Skipped>,
}

/// A file to download.
#[derive(Debug, PartialEq)]
pub struct SelectedFile<'a> {
    /// The message.
    pub message: &'a Message,
    /// The file.
    pub file: &'a File,
    /// How the model reads it.
    pub readable: Readable,
}

/// Selects files of messages, which are newest first. Messages of bots contribute none.
pub fn select(newest_first: &[Message]) -> Selection<'_> {
    let mut selection = Selection::default();
    let mut of_thread = HashMap::new();
    for message in newest_first.iter().filter(|message| !message.is_from_bot()) {
        let mut of_message = HashMap::new();
        for file in &message.files {
            let decided = decide(file).and_then(|readable| {
                let usage = of_message.entry(readable.kind as u8).or_insert(0);
                admit(readable.kind, file.size, usage, &mut of_thread)?;
                Ok(readable)
            });
            match decided {
                Ok(readable) => selection.kept.push(SelectedFile {
                    message,
                    file,
                    readable,
                }),
                Err(reason) => selection.skipped.push(Skipped {
                    name: file.name.clone(),
                    reason,
                }),
            }
        }
    }
    selection
}

/// Files and bytes of a kind.
#[derive(Default)]
struct Usage {
    files: usize,
    bytes: u64,
}

fn decide(file: &File) -> Result<Readable, SkipReason> {
    let readable = classify(&file.name, &file.media_type, file.size);
    match file.access {
        // The name is the strongest reason, whatever the access.
        _ if readable == Err(SkipReason::Credentials) => readable,
        FileAccess::External => Err(SkipReason::External),
        FileAccess::Gone => Err(SkipReason::Gone),
        FileAccess::AfterInfo => Err(SkipReason::Download),
        FileAccess::Direct if file.url.is_none() => Err(SkipReason::Download),
        FileAccess::Direct => readable,
    }
}

/// Counts a file, unless a limit is reached.
fn admit(
    kind: FileKind,
    bytes: u64,
    of_message: &mut usize,
    of_thread: &mut HashMap<u8, Usage>,
) -> Result<(), SkipReason> {
    let limits = kind.limits();
    if *of_message >= limits.per_message {
        return Err(SkipReason::Message(kind));
    }
    let usage = of_thread.entry(kind as u8).or_default();
    let total = usage.bytes.saturating_add(bytes);
    if usage.files >= limits.per_thread || total > limits.thread_bytes {
        return Err(SkipReason::Thread(kind));
    }
    *of_message += 1;
    usage.files += 1;
    usage.bytes = total;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MB: u64 = 1 << 20;

    fn file(name: &str, media_type: &str, size: u64) -> Value {
        json!({"id": name, "name": name, "mimetype": media_type, "size": size, "url_private": "https://files.slack.com/x"})
    }

    fn message(files: &[Value]) -> Message {
        Message::read("C1", &json!({"ts": "1.0", "user": "U1", "files": files})).unwrap()
    }

    fn names(selection: &Selection<'_>) -> Vec<String> {
        selection
            .kept
            .iter()
            .map(|kept| kept.file.name.clone())
            .collect()
    }

    fn reasons(selection: &Selection<'_>) -> Vec<SkipReason> {
        selection
            .skipped
            .iter()
            .map(|skipped| skipped.reason)
            .collect()
    }

    #[test]
    fn kinds_have_limits_of_their_own_per_message() {
        let images = (0..11).map(|n| file(&format!("{n}.png"), "image/png", 1));
        let documents = (0..11).map(|n| file(&format!("{n}.txt"), "text/plain", 1));
        let files: Vec<_> = images.chain(documents).collect();
        let messages = [message(&files)];
        let selection = select(&messages);
        assert_eq!(selection.kept.len(), 20);
        assert_eq!(
            selection.skipped,
            [
                Skipped {
                    name: "10.png".into(),
                    reason: SkipReason::Message(FileKind::Image)
                },
                Skipped {
                    name: "10.txt".into(),
                    reason: SkipReason::Message(FileKind::Document)
                },
            ]
        );
    }

    #[test]
    fn newest_files_use_up_the_thread() {
        for (media_type, kind) in [
            ("image/png", FileKind::Image),
            ("text/plain", FileKind::Document),
        ] {
            let of_message = |m: usize, count: usize| {
                let files: Vec<_> = (0..count)
                    .map(|n| file(&format!("{m}-{n}"), media_type, 1))
                    .collect();
                message(&files)
            };
            let messages = [of_message(0, 9), of_message(1, 9), of_message(2, 4)];
            let selection = select(&messages);
            assert_eq!(names(&selection)[18..], ["2-0", "2-1"]);
            assert_eq!(reasons(&selection), [SkipReason::Thread(kind); 2]);
        }
    }

    #[test]
    fn bytes_of_the_thread_are_limited() {
        for (media_type, kind, sizes, kept) in [
            (
                "image/png",
                FileKind::Image,
                [5, 5, 5, 5, 5, 4],
                "0 1 2 3 5",
            ),
            (
                "application/pdf",
                FileKind::Document,
                [10, 10, 10, 3, 2, 1],
                "0 1 2 4",
            ),
        ] {
            let files = sizes.iter().enumerate();
            let messages: Vec<_> = files
                .map(|(n, size)| message(&[file(&n.to_string(), media_type, size * MB)]))
                .collect();
            let selection = select(&messages);
            assert_eq!(names(&selection).join(" "), kept);
            assert!(
                reasons(&selection)
                    .iter()
                    .all(|reason| *reason == SkipReason::Thread(kind))
            );
        }
    }

    #[test]
    fn unreachable_files_are_skipped() {
        let with = |name: &str, field: &str, value: Value| {
            let mut file = file(name, "text/plain", 1);
            file[field] = value;
            file
        };
        let messages = [message(&[
            with("a.txt", "mode", json!("external")),
            with(".env", "mode", json!("external")),
            with("a.txt", "mode", json!("tombstone")),
            with("a.txt", "file_access", json!("check_file_info")),
            with("a.txt", "url_private", json!(null)),
            file("a.zip", "application/zip", 1),
        ])];
        assert_eq!(
            reasons(&select(&messages)),
            [
                SkipReason::External,
                SkipReason::Credentials,
                SkipReason::Gone,
                SkipReason::Download,
                SkipReason::Download,
                SkipReason::Type,
            ]
        );
    }

    #[test]
    fn files_of_bots_are_left_out() {
        let mut of_bot = message(&[file("a.txt", "text/plain", 1)]);
        of_bot.bot_id = Some("B1".into());
        assert_eq!(select(&[of_bot]), Selection::default());
    }
}
