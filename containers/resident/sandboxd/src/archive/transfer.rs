//! Transfers an archive: by HTTP to and from an address, or through the engine.

use std::{fs::File, io::Read as _, path::Path, path::PathBuf};

use ars_resident::daemon::{FailureKind, Header, SecretText, StepFailure};
use ars_resident::layout::TRANSFERS;
use ars_resident::names::BackupId;
use futures::StreamExt as _;
use reqwest::{Body, RequestBuilder, Response, header::CONTENT_LENGTH};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use tokio_util::io::ReaderStream;

use crate::{
    failure::{Context as _, Result, invalid},
    runtime::Runtime,
    step::StepContext,
};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes quoted from an error's body.
const QUOTED: usize = 500;

/// An archive on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// Archive size in bytes.
    pub(crate) bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub(crate) sha256: String,
}

/// Returns an archive's path while it is transferred.
pub(crate) fn transfer_path(runtime: &Runtime, backup: &BackupId) -> Result<PathBuf> {
    runtime
        .places
        .real(&format!("{TRANSFERS}/{backup}.tar.zst"))
}

/// Sends an archive with a single PUT that declares the length.
pub(crate) async fn upload(
    step: &StepContext<'_>,
    file: &Path,
    bytes: u64,
    url: &SecretText,
    headers: &[Header],
) -> Result<()> {
    let content = tokio::fs::File::open(file).await.context("upload")?;
    let progress = step.progress.clone();
    let stream = ReaderStream::with_capacity(content, CHUNK).inspect(move |chunk| {
        if let Ok(chunk) = chunk {
            progress.add(chunk.len() as u64);
        }
    });
    let request = step
        .shared
        .http
        .put(address(url)?)
        .header(CONTENT_LENGTH, bytes);
    send(step, request.body(Body::wrap_stream(stream)), headers)
        .await
        .map(drop)
}

/// Receives an archive with a single GET. A cut response is a failure.
pub(crate) async fn download(
    step: &StepContext<'_>,
    file: &Path,
    url: &SecretText,
    headers: &[Header],
) -> Result<Received> {
    let mut answer = send(step, step.shared.http.get(address(url)?), headers).await?;
    let expected = answer.content_length();
    let mut target = tokio::fs::File::create(file).await.context("download")?;
    let (mut digest, mut bytes) = (Sha256::new(), 0_u64);
    while let Some(chunk) = step
        .stop
        .until(answer.chunk())
        .await?
        .map_err(|error| transfer(&error))?
    {
        target.write_all(&chunk).await.context("download")?;
        digest.update(&chunk);
        bytes += chunk.len() as u64;
        step.progress.add(chunk.len() as u64);
    }
    target.flush().await.context("download")?;
    if expected.is_some_and(|expected| expected != bytes) {
        return Err(StepFailure::new(
            FailureKind::Transfer,
            "the answer was cut",
        ));
    }
    Ok(Received {
        bytes,
        sha256: hex::encode(digest.finalize()),
    })
}

/// Reads an archive that the engine sent.
pub(crate) async fn measure(step: &StepContext<'_>, file: &Path) -> Result<Received> {
    let (path, progress) = (file.to_owned(), step.progress.clone());
    let work = move |stop: &crate::stop::Stop| {
        let mut file = File::open(path).context("archive")?;
        let (mut digest, mut bytes) = (Sha256::new(), 0_u64);
        let mut chunk = vec![0; CHUNK];
        loop {
            stop.check()?;
            match file.read(&mut chunk).context("archive")? {
                0 => {
                    return Ok(Received {
                        bytes,
                        sha256: hex::encode(digest.finalize()),
                    });
                }
                count => {
                    digest.update(&chunk[..count]);
                    bytes += count as u64;
                    progress.add(count as u64);
                }
            }
        }
    };
    step.blocking(work).await
}

async fn send(
    step: &StepContext<'_>,
    request: RequestBuilder,
    headers: &[Header],
) -> Result<Response> {
    let request = headers.iter().fold(request, |request, header| {
        request.header(&header.name, header.value.expose())
    });
    let answer = step
        .stop
        .until(request.send())
        .await?
        .map_err(|error| transfer(&error))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = step.stop.until(answer.text()).await?.unwrap_or_default();
    let body: String = body.chars().take(QUOTED).collect();
    Err(StepFailure::new(
        FailureKind::Transfer,
        format!("the store answered {status}: {body}"),
    ))
}

/// Describes an error without the address, which may contain a signature.
fn transfer(error: &reqwest::Error) -> StepFailure {
    let cause =
        std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let what = match () {
        () if error.is_connect() => "no connection",
        () if error.is_timeout() => "the transfer timed out",
        () if error.is_body() || error.is_decode() => "the transfer broke off",
        () => "the transfer failed",
    };
    StepFailure::new(FailureKind::Transfer, format!("{what}{cause}"))
}

fn address(url: &SecretText) -> Result<reqwest::Url> {
    let parsed = reqwest::Url::parse(url.expose()).ok();
    parsed
        .filter(|url| ["http", "https"].contains(&url.scheme()))
        .ok_or_else(|| invalid("the address of a transfer is not of HTTP"))
}
