//! The source port: saved event streams that a command reads.

use async_trait::async_trait;

use super::SourceError;

/// The command line's files and standard input.
#[async_trait]
pub trait Sources: Send + Sync {
    /// Returns a source's content: a path, or `-` for standard input.
    async fn read(&self, source: &str) -> Result<Vec<u8>, SourceError>;
}
