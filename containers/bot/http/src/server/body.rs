//! Reads a request body with a limit that is enforced while reading.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// Maximum ingress and MCP body size in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 1_000_000;
/// Time in which a body must arrive, so that a trickle does not hold the connection.
const BODY_DEADLINE: Duration = Duration::from_secs(60);

/// Reads the whole body. A declared length above `max_body_bytes` is rejected before the first byte.
pub(crate) async fn read_body(body: Body, max_body_bytes: usize) -> Result<Bytes, BodyError> {
    if body.size_hint().lower() > max_body_bytes as u64 {
        return Err(BodyError::TooLarge);
    }
    let read = tokio::time::timeout(BODY_DEADLINE, Limited::new(body, max_body_bytes).collect());
    match read.await {
        Err(_elapsed) => Err(BodyError::TooSlow),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Ok(Err(_)) => Err(BodyError::Broken),
    }
}

/// The reason for which a body was not read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// It is longer than the limit, or declares to be.
    #[error("body too large")]
    TooLarge,
    /// It did not arrive in time.
    #[error("body too slow")]
    TooSlow,
    /// The connection or the framing broke.
    #[error("body broken")]
    Broken,
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    fn chunked(sizes: &[usize]) -> Body {
        let chunks: Vec<_> = sizes
            .iter()
            .map(|size| Ok::<_, std::io::Error>(vec![b'x'; *size]))
            .collect();
        Body::from_stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn body_of_the_limit_is_read() {
        for (body, expected) in [
            (Body::from(vec![0; 10]), Ok(10)),
            (Body::from(vec![0; 11]), Err(BodyError::TooLarge)),
            (chunked(&[4, 6]), Ok(10)),
            (chunked(&[4, 7]), Err(BodyError::TooLarge)),
            (Body::empty(), Ok(0)),
        ] {
            assert_eq!(read_body(body, 10).await.map(|bytes| bytes.len()), expected);
        }
    }

    #[tokio::test]
    async fn endless_body_is_rejected_at_the_limit() {
        let endless = Body::from_stream(stream::repeat_with(|| {
            Ok::<_, std::io::Error>(vec![0_u8; 1000])
        }));
        assert_eq!(
            read_body(endless, MAX_BODY_BYTES).await,
            Err(BodyError::TooLarge)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_body_times_out() {
        let stalled = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
        assert_eq!(
            read_body(stalled, MAX_BODY_BYTES).await,
            Err(BodyError::TooSlow)
        );
    }
}
