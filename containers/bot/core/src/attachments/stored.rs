//! Files as a row of the ledger names them, and reading them again in another process.
//!
//! A row is too small for the bytes, so it holds the reference by which the channel reads the file
//! again. A file without one is lost with its process, and the model and the sender are informed.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{
    Attachment, AttachmentError, AttachmentKind, Channel, ChannelEvent, Notice, REFERENCE_MAX_BYTES,
};
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::file_use::{clean_media_type, clean_name};

/// Timeout for reading a message's files again.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A file in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredAttachment {
    name: String,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    kind: StoredKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredKind {
    Image,
    /// Also any kind of a later release: the content decides how the model sees a file.
    #[default]
    #[serde(other)]
    Document,
}

/// Returns the files as a row names them.
pub(crate) fn stored(attachments: &[Attachment]) -> Vec<StoredAttachment> {
    let stored = attachments.iter().map(|attachment| StoredAttachment {
        name: clean_name(&attachment.name),
        media_type: clean_media_type(&attachment.media_type),
        kind: match attachment.kind {
            AttachmentKind::Image => StoredKind::Image,
            AttachmentKind::Document => StoredKind::Document,
        },
        reference: attachment
            .reference
            .clone()
            .filter(|reference| reference.len() <= REFERENCE_MAX_BYTES),
    });
    stored.collect()
}

/// Reads files again from their channel, and adds a note to the text if some are lost.
/// Returns the others, and the names of the lost ones.
pub(crate) async fn read_again(
    io: &dyn Channel,
    text: &mut String,
    files: &[StoredAttachment],
) -> (Vec<Attachment>, Vec<String>) {
    let read = join_all(files.iter().map(|file| read(io, file))).await;
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for (file, content) in files.iter().zip(read) {
        match content {
            Ok(content) => found.push(file.with(content)),
            Err(error) => {
                tracing::warn!(%error, "file not read again");
                lost.push(file.name.clone());
            }
        }
    }
    if !lost.is_empty() {
        add_note(text, &lost);
    }
    (found, lost)
}

/// Reads a waiting message's files again. The channel receives a notice about lost ones.
pub(crate) async fn restore(
    io: &dyn Channel,
    text: &mut String,
    files: &[StoredAttachment],
) -> Vec<Attachment> {
    let (found, names) = read_again(io, text, files).await;
    if !names.is_empty() {
        let notice = Notice::FilesLost { names };
        io.inform(ChannelEvent::Notice(notice)).await;
    }
    found
}

async fn read(io: &dyn Channel, file: &StoredAttachment) -> Result<Arc<[u8]>, AttachmentError> {
    let Some(reference) = &file.reference else {
        return Err(AttachmentError("the file has no reference".to_owned()));
    };
    timeout(READ_TIMEOUT, io.read_attachment(reference))
        .await
        .unwrap_or_else(|_| Err(AttachmentError("the channel did not answer".to_owned())))
}

fn add_note(text: &mut String, lost: &[String]) {
    let names = lost
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let note = format!(
        "[Note from the service: files of this message could not be read again after a restart: {names}. Ask for them if \
         they are needed.]"
    );
    *text = format!("{text}\n\n{note}").trim_start().to_owned();
}

impl StoredAttachment {
    fn with(&self, content: Arc<[u8]>) -> Attachment {
        Attachment {
            name: self.name.clone(),
            media_type: self.media_type.clone(),
            kind: match self.kind {
                StoredKind::Image => AttachmentKind::Image,
                StoredKind::Document => AttachmentKind::Document,
            },
            content,
            reference: self.reference.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows of other releases are read, whatever kinds they know.
    #[test]
    fn row_keeps_its_form() {
        let attachment = Attachment {
            name: "a.png".into(),
            media_type: "image/png".into(),
            kind: AttachmentKind::Image,
            content: Arc::from(*b"x"),
            reference: Some("r".into()),
        };
        let row = json!([{ "name": "a.png", "mediaType": "image/png", "kind": "image", "reference": "r" }]);
        assert_eq!(json!(stored(&[attachment])), row);
        let later = json!({ "name": "a.mp3", "kind": "sound", "length": 3 });
        let read: StoredAttachment = serde_json::from_value(later).unwrap();
        assert_eq!(
            (read.name.as_str(), read.kind),
            ("a.mp3", StoredKind::Document)
        );
    }
}
