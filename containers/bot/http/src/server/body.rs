//! Reading a request body with a cap that holds while reading (document 1 section 8).

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// Most bytes of an ingress body (bot supplement section 2).
pub(crate) const MAX_BODY_BYTES: usize = 1_000_000;
/// How long a body may take to arrive, so that a trickle does not hold a connection for ever.
const BODY_DEADLINE: Duration = Duration::from_secs(60);

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// It is longer than the cap, or says it will be.
    #[error("body too large")]
    TooLarge,
    /// It did not arrive in time.
    #[error("body too slow")]
    TooSlow,
    /// The connection or its framing broke.
    #[error("body broken")]
    Broken,
}

/// The whole body, unless it is longer than `cap`. A declared length is believed when it is too long.
pub(crate) async fn read_body(body: Body, cap: usize) -> Result<Bytes, BodyError> {
    if body.size_hint().lower() > cap as u64 {
        return Err(BodyError::TooLarge);
    }
    let read = tokio::time::timeout(BODY_DEADLINE, Limited::new(body, cap).collect());
    match read.await {
        Err(_elapsed) => Err(BodyError::TooSlow),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Ok(Err(_)) => Err(BodyError::Broken),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    fn chunked(sizes: &[usize]) -> Body {
        let chunks: Vec<_> = sizes.iter().map(|size| Ok::<_, std::io::Error>(vec![b'x'; *size])).collect();
        Body::from_stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn the_cap_is_the_last_size_that_passes() {
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
    async fn a_body_without_end_is_refused_at_the_cap() {
        let endless = Body::from_stream(stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0_u8; 1000])));
        assert_eq!(read_body(endless, MAX_BODY_BYTES).await, Err(BodyError::TooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_is_given_up() {
        let stalled = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
        assert_eq!(read_body(stalled, MAX_BODY_BYTES).await, Err(BodyError::TooSlow));
    }
}
