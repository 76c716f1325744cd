//! Saved streams: files, and standard input.

use std::io::{self, Read};

use ars_bot_ports::{SourceError, Sources};
use async_trait::async_trait;

/// Standard input, as a source.
const STDIN: &str = "-";
/// Maximum source size in bytes. A run's stream is far smaller, so a larger file is the wrong file.
const SOURCE_MAX: u64 = 256 << 20;

/// Files on this machine.
pub(super) struct LocalSources;

#[async_trait]
impl Sources for LocalSources {
    async fn read(&self, source: &str) -> Result<Vec<u8>, SourceError> {
        let from = source.to_owned();
        let read = tokio::task::spawn_blocking(move || read(&from)).await;
        let unreadable =
            |error: &dyn std::fmt::Display| SourceError::Unreadable(format!("{source}: {error}"));
        let bytes = read
            .map_err(|error| unreadable(&error))?
            .map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 > SOURCE_MAX {
            return Err(SourceError::TooLarge {
                max_bytes: SOURCE_MAX,
            });
        }
        Ok(bytes)
    }
}

fn read(source: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if source == STDIN {
        io::stdin()
            .lock()
            .take(SOURCE_MAX + 1)
            .read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(source)?
            .take(SOURCE_MAX + 1)
            .read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
