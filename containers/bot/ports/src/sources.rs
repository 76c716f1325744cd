//! The source port: saved event streams that a command reads.

use async_trait::async_trait;

use super::SourceError;

/// Files and standard input of the command line.
#[async_trait]
pub trait Sources: Send + Sync {
    /// Returns the content of a source: a path, or `-` for standard input.
    async fn read(&self, source: &str) -> Result<Vec<u8>, SourceError>;
}
