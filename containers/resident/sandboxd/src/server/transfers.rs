//! Archives that the engine reads and writes through its own connection.

use std::path::PathBuf;

use ars_resident::names::BackupId;
use axum::{
    body::Body,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::StreamExt as _;
use tokio::{fs::File, io::AsyncWriteExt as _};
use tokio_util::io::ReaderStream;

use super::router::{Rejected, Service, error};

pub(super) async fn read(State(service): State<Service>, Path(backup): Path<String>) -> Response {
    let path = match place(&service, &backup) {
        Ok(path) => path,
        Err(rejected) => return rejected.into_response(),
    };
    let Ok(file) = File::open(path).await else {
        return missing().into_response();
    };
    match file.metadata().await {
        Ok(meta) => {
            let headers = [
                (header::CONTENT_TYPE, "application/zstd".to_owned()),
                (header::CONTENT_LENGTH, meta.len().to_string()),
            ];
            (headers, Body::from_stream(ReaderStream::new(file))).into_response()
        }
        Err(problem) => error(StatusCode::INTERNAL_SERVER_ERROR, &problem.to_string()),
    }
}

/// Receives an archive. If it was cut, it is removed.
pub(super) async fn write(
    State(service): State<Service>,
    Path(backup): Path<String>,
    body: Body,
) -> Response {
    let path = match place(&service, &backup) {
        Ok(path) => path,
        Err(rejected) => return rejected.into_response(),
    };
    let partial = path.with_extension(format!("{}.part", uuid::Uuid::new_v4()));
    let written = async {
        let mut file = File::create(&partial).await?;
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            file.write_all(&chunk.map_err(std::io::Error::other)?)
                .await?;
        }
        file.flush().await?;
        tokio::fs::rename(&partial, &path).await
    };
    match written.await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(problem) => {
            // A remaining file is removed at the next start.
            let _ = tokio::fs::remove_file(&partial).await;
            error(StatusCode::INTERNAL_SERVER_ERROR, &problem.to_string())
        }
    }
}

/// Removes an archive. A missing archive is removed already.
pub(super) async fn remove(State(service): State<Service>, Path(backup): Path<String>) -> Response {
    match place(&service, &backup) {
        Ok(path) => {
            // It may not exist, and what remains is removed at the next start.
            let _ = tokio::fs::remove_file(path).await;
            StatusCode::NO_CONTENT.into_response()
        }
        Err(rejected) => rejected.into_response(),
    }
}

fn place(service: &Service, backup: &str) -> Result<PathBuf, Rejected> {
    let backup = BackupId::parse(backup).map_err(|_| missing())?;
    service.daemon.transfer_path(&backup).map_err(|_| missing())
}

fn missing() -> Rejected {
    Rejected {
        status: StatusCode::NOT_FOUND,
        text: "there is no such archive".to_owned(),
    }
}
