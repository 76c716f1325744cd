//! Files: downloads with the bot's token, and uploads of long texts.

use std::time::Duration;

use ars_slack::{
    Ts,
    files::{is_sign_in_page, may_receive_token},
};
use bytes::Bytes;
use reqwest::{Url, header};
use serde_json::json;
use tokio::time::sleep;

use super::{
    Api, ApiError, Method,
    calls::{call, required},
    client::{BodyFault, bounded},
};

/// Timeout for a download or an upload.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(60);

/// Attempts to download a file.
const MAX_DOWNLOAD_ATTEMPTS: u32 = 3;
/// Wait after the first failed one; it doubles.
const FIRST_DOWNLOAD_PAUSE: Duration = Duration::from_secs(1);

/// Why a file could not be downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// The address is not the platform's own.
    #[error("it is kept outside Slack")]
    Outside,
    /// The file has more bytes than allowed.
    #[error("it is too large")]
    TooLarge,
    /// The platform answered with a page to sign in.
    #[error("Slack did not give access to it")]
    SignIn,
    /// It could not be downloaded.
    #[error("it could not be downloaded")]
    Failed,
}

impl Api {
    /// Downloads a file of the workspace. The token goes to the platform's own hosts alone.
    ///
    /// # Errors
    /// The file is elsewhere, too large, or not given.
    pub async fn download(
        &self,
        url: &str,
        media_type: &str,
        max_bytes: usize,
    ) -> Result<Bytes, DownloadError> {
        let mut pause = FIRST_DOWNLOAD_PAUSE;
        for _ in 1..MAX_DOWNLOAD_ATTEMPTS {
            match self.download_once(url, media_type, max_bytes).await {
                Err(DownloadError::Failed) => sleep(pause).await,
                result => return result,
            }
            pause *= 2;
        }
        self.download_once(url, media_type, max_bytes).await
    }

    async fn download_once(
        &self,
        url: &str,
        media_type: &str,
        max_bytes: usize,
    ) -> Result<Bytes, DownloadError> {
        let url = Url::parse(url).map_err(|_| DownloadError::Outside)?;
        if !may_receive_token(url.as_str(), self.base().as_str()) {
            return Err(DownloadError::Outside);
        }
        let sent = self.http().get(url).timeout(TRANSFER_TIMEOUT);
        let sent = sent.bearer_auth(self.bot_token().expose()).send().await;
        let response = sent.map_err(|_| DownloadError::Failed)?;
        if response.status().is_redirection() {
            return Err(DownloadError::SignIn);
        }
        if !response.status().is_success() {
            return Err(DownloadError::Failed);
        }
        let served = response.headers().get(header::CONTENT_TYPE);
        let served = served.and_then(|value| value.to_str().ok());
        let served = served.unwrap_or_default().to_owned();
        let content = bounded(response, max_bytes).await;
        let content = content.map_err(|fault| match fault {
            BodyFault::TooLarge => DownloadError::TooLarge,
            BodyFault::Broken => DownloadError::Failed,
        })?;
        if is_sign_in_page(media_type, &served, &content) {
            return Err(DownloadError::SignIn);
        }
        Ok(content.freeze())
    }

    /// Uploads a text and shares it in a thread with a message.
    pub async fn upload(
        &self,
        channel: &str,
        thread: Ts,
        (name, content): (&str, &str),
        message: &str,
    ) -> Result<(), ApiError> {
        let arguments = json!({ "filename": name, "length": content.len() });
        let reserved = self.call(&call(Method::UploadUrl, None, arguments)).await?;
        let (url, id) = (
            required(&reserved["upload_url"])?,
            required(&reserved["file_id"])?,
        );
        let url = Url::parse(&url).map_err(|_| ApiError::Unreadable)?;
        if !self.base().trusts(&url) {
            return Err(ApiError::Unreadable);
        }
        let sent = self.http().post(url).timeout(TRANSFER_TIMEOUT);
        let sent = sent.body(content.to_owned()).send().await;
        let is_stored = sent.is_ok_and(|response| response.status().is_success());
        if !is_stored {
            return Err(ApiError::Unreachable);
        }
        let arguments = json!({
            "files": [{ "id": id, "title": name }], "channel_id": channel,
            "thread_ts": thread.to_string(),
            "initial_comment": message,
        });
        let complete = call(Method::CompleteUpload, Some(channel), arguments);
        self.call(&complete).await.map(drop)
    }
}
