//! The files of a message: chosen by name and size, downloaded, and named where they are skipped.

use std::sync::Arc;

use ars_bot_ports::{Attachment, AttachmentError, AttachmentKind};
use ars_slack::{
    Ts,
    event::Message,
    files::{FileKind, SkipReason, Skipped, select, skipped_note},
};
use futures::{StreamExt as _, stream};

use crate::{api::DownloadError, workspace::Workspace};

/// Files that are downloaded at once.
const MAX_PARALLEL_DOWNLOADS: usize = 4;
/// Separates the parts of a stored reference, which no part contains.
const SEPARATOR: char = '\n';

/// A message's files.
#[derive(Default)]
pub(super) struct Files {
    /// Those that the model receives.
    pub(super) attachments: Vec<Attachment>,
    /// Names the others to the model.
    pub(super) note: Option<String>,
}

/// Downloads the files of a message.
pub(super) async fn files_of(workspace: &Workspace, message: &Message) -> Files {
    let (files, skipped) = download(workspace, std::slice::from_ref(message)).await;
    Files {
        attachments: files.into_iter().map(|(_, file)| file).collect(),
        note: note(&skipped),
    }
}

/// Names the files that a message does not include, without downloading any.
pub(super) fn note_of(message: &Message) -> Option<String> {
    note(&select(std::slice::from_ref(message)).skipped)
}

fn note(skipped: &[Skipped]) -> Option<String> {
    (!skipped.is_empty()).then(|| skipped_note(skipped))
}

/// Downloads the files of messages, which are newest first, within a thread's limits. Returns each
/// with its message.
pub(crate) async fn download(
    workspace: &Workspace,
    newest_first: &[Message],
) -> (Vec<(Ts, Attachment)>, Vec<Skipped>) {
    let selection = select(newest_first);
    let (mut files, mut skipped) = (Vec::new(), selection.skipped);
    let downloads = selection.kept.into_iter().map(|kept| async move {
        let (url, kind) = (
            kept.file.url.as_deref().unwrap_or_default(),
            kept.readable.kind,
        );
        let media_type = &kept.file.media_type;
        let content = fetch(workspace, url, media_type, kind).await;
        (kept, content)
    });
    let downloads: Vec<_> = downloads.collect();
    let mut downloads = stream::iter(downloads).buffered(MAX_PARALLEL_DOWNLOADS);
    while let Some((kept, content)) = downloads.next().await {
        let name = kept.file.name.clone();
        match content {
            Ok(content) => {
                let file = Attachment {
                    name,
                    media_type: kept.readable.media_type.to_owned(),
                    kind: kind(kept.readable.kind),
                    content,
                    reference: reference(kept.readable.kind, kept.file),
                };
                files.push((kept.message.ts, file));
            }
            Err(error) => skipped.push(Skipped {
                name,
                reason: reason(error, kept.readable.kind),
            }),
        }
    }
    (files, skipped)
}

/// Downloads a file again, by an attachment's reference.
///
/// # Errors
/// The reference is not one of this surface, or the file is gone.
pub(crate) async fn read_again(
    workspace: &Workspace,
    reference: &str,
) -> Result<Arc<[u8]>, AttachmentError> {
    let parts: Vec<&str> = reference.split(SEPARATOR).collect();
    let (kind, media_type, url) = match parts[..] {
        ["image", media_type, url] => (FileKind::Image, media_type, url),
        ["document", media_type, url] => (FileKind::Document, media_type, url),
        _ => return Err(AttachmentError("it is no file of Slack".to_owned())),
    };
    let content = fetch(workspace, url, media_type, kind).await;
    content.map_err(|error| AttachmentError(error.to_string()))
}

/// Returns a file's bytes, which may have been downloaded before.
async fn fetch(
    workspace: &Workspace,
    url: &str,
    media_type: &str,
    kind: FileKind,
) -> Result<Arc<[u8]>, DownloadError> {
    if let Some(content) = workspace.downloads.get(url) {
        return Ok(content);
    }
    let api = &workspace.api;
    let content = api.download(url, media_type, max_bytes(kind)).await?;
    let content: Arc<[u8]> = content.as_ref().into();
    workspace.downloads.keep(url, &content);
    Ok(content)
}

fn reference(kind: FileKind, file: &ars_slack::event::File) -> Option<String> {
    let kind = match kind {
        FileKind::Image => "image",
        FileKind::Document => "document",
    };
    let parts = [kind, &file.media_type, file.url.as_deref()?];
    let is_clean = parts.iter().all(|part| !part.contains(SEPARATOR));
    is_clean.then(|| parts.join(&SEPARATOR.to_string()))
}

fn kind(kind: FileKind) -> AttachmentKind {
    match kind {
        FileKind::Image => AttachmentKind::Image,
        FileKind::Document => AttachmentKind::Document,
    }
}

fn max_bytes(kind: FileKind) -> usize {
    usize::try_from(kind.limits().file_bytes).unwrap_or(usize::MAX)
}

fn reason(error: DownloadError, kind: FileKind) -> SkipReason {
    match error {
        DownloadError::Outside => SkipReason::External,
        DownloadError::TooLarge => SkipReason::Size(kind),
        DownloadError::SignIn | DownloadError::Failed => SkipReason::Download,
    }
}
