//! The service's comment on an issue or pull request, written once and edited in place.
//!
//! A hidden marker identifies it. After a lost response, and in the next process, the comment is
//! searched for first, so that no second comment is written.

use std::sync::Arc;

use ars_bot_ports::{CodeHost, CodeHostError};
use ars_codehost::text::{MAX_BODY_CHARS, hidden_marker, markers, neutral_block};
use ars_types::RepoSlug;

/// Marker kind for an answer.
const MARKER: &str = "answer";

/// Where a comment is.
pub(super) struct Comment {
    host: Arc<dyn CodeHost>,
    repository: RepoSlug,
    number: u64,
    /// The marker's value.
    marker: String,
    id: Option<u64>,
    /// It may exist although the id is not known.
    may_exist: bool,
}

impl Comment {
    /// A comment that is not written yet.
    pub(super) fn new(
        host: Arc<dyn CodeHost>,
        repository: RepoSlug,
        number: u64,
        marker: String,
    ) -> Self {
        Self {
            host,
            repository,
            number,
            marker,
            id: None,
            may_exist: false,
        }
    }

    /// A comment that an earlier process may have written.
    pub(super) fn of_earlier(self) -> Self {
        Self {
            may_exist: true,
            ..self
        }
    }

    /// Returns whether it was written by this process.
    pub(super) fn is_written(&self) -> bool {
        self.id.is_some()
    }

    /// Identifies the comment by another value from the next text on.
    pub(super) fn mark(&mut self, marker: String) {
        self.marker = marker;
    }

    /// Writes the comment, or replaces the text. `after` was written by code and follows the
    /// neutral text.
    pub(super) async fn write(
        &mut self,
        text: &str,
        after: Option<&str>,
    ) -> Result<(), CodeHostError> {
        let after = after.map_or_else(String::new, |after| format!("\n\n{after}"));
        let end = format!("{after}\n\n{}", hidden_marker(MARKER, &self.marker));
        let room = MAX_BODY_CHARS.saturating_sub(end.chars().count());
        let body = format!("{}{end}", neutral_block(text, room));
        if self.id.is_none() && self.may_exist {
            self.id = self.find().await?;
        }
        if let Some(id) = self.id {
            return self
                .host
                .edit_comment(&self.repository, id, &body)
                .await
                .map(drop);
        }
        let failure = match self
            .host
            .comment(&self.repository, self.number, &body)
            .await
        {
            Ok(written) => {
                self.id = Some(written.id);
                return Ok(());
            }
            Err(failure) => failure,
        };
        // The answer may be lost, and not the comment.
        self.may_exist = true;
        self.id = self.find().await?;
        match self.id {
            Some(_) => Ok(()),
            None => Err(failure),
        }
    }

    async fn find(&self) -> Result<Option<u64>, CodeHostError> {
        let comments = self.host.comments(&self.repository, self.number).await?;
        let is_this = |body: &str| markers(body, MARKER).contains(&self.marker);
        Ok(comments
            .entries
            .iter()
            .rev()
            .find(|one| one.is_own && is_this(&one.body))
            .map(|one| one.id))
    }
}
