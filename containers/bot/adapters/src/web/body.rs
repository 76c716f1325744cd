//! A response's body: classified, read up to a limit, decompressed and converted to text.
//!
//! Limits apply before and after decompression, so a small body that decompresses to a large body
//! costs no more than a large body. Not here: the request (`fetch`).

use std::io::Read as _;

use ars_bot_ports::{FetchLimits, Fetched, FetchedBody, WebError};
use flate2::read::MultiGzDecoder;
use reqwest::{
    Response, Url,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName},
};

use super::{failure::failure, html, text};

/// Text types outside `text/*`; `+json` and `+xml` are recognised by their suffix.
const TEXT_TYPES: [&str; 9] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/x-ndjson",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
];

/// Image types that a model can be shown.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// How a media type is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Html,
    Text,
    Image,
    Document,
    Other,
}

impl BodyKind {
    fn from_media_type(media_type: &str) -> Self {
        match media_type {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "application/pdf" => Self::Document,
            image if IMAGE_TYPES.contains(&image) => Self::Image,
            image if image.starts_with("image/") => Self::Other,
            text if text.starts_with("text/") || TEXT_TYPES.contains(&text) => Self::Text,
            text if text.ends_with("+json") || text.ends_with("+xml") => Self::Text,
            _ => Self::Other,
        }
    }
}

/// A body's bytes, and whether it exceeded the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    pub(super) more: bool,
}

/// Reads a response as the port defines it.
pub(super) async fn answer(
    mut response: Response,
    limits: FetchLimits,
) -> Result<Fetched, WebError> {
    let url = response.url().clone();
    let status = response.status().as_u16();
    let content_type = header(&response, &CONTENT_TYPE);
    let media_type = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let kind = BodyKind::from_media_type(&media_type);
    let body = match kind {
        BodyKind::Other => FetchedBody::Other,
        BodyKind::Image => FetchedBody::Image(whole(response, limits.image_bytes).await?),
        BodyKind::Document => FetchedBody::Document(whole(response, limits.document_bytes).await?),
        BodyKind::Html | BodyKind::Text => {
            let packed = Packing::from_response(&response)?;
            let raw = read(&mut response, limits.text_bytes).await?;
            let page = Page {
                raw,
                packed,
                content_type,
                base: url.clone(),
                limit: limits.text_bytes,
            };
            aside(move || page.text(kind)).await?
        }
    };
    Ok(Fetched {
        url: url.into(),
        status,
        media_type,
        body,
    })
}

/// Reads a body that is useless when cut.
async fn whole(mut response: Response, limit: usize) -> Result<Vec<u8>, WebError> {
    let packed = Packing::from_response(&response)?;
    let announced = header(&response, &CONTENT_LENGTH).parse::<usize>();
    if announced.is_ok_and(|length| length > limit) {
        return Err(WebError::TooLarge(limit));
    }
    let raw = read(&mut response, limit).await?;
    if raw.more {
        return Err(WebError::TooLarge(limit));
    }
    let plain = aside(move || packed.unpack(raw, limit)).await?;
    if plain.more {
        Err(WebError::TooLarge(limit))
    } else {
        Ok(plain.bytes)
    }
}

/// Reads the body up to the limit.
pub(super) async fn read(response: &mut Response, limit: usize) -> Result<Bytes, WebError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(&error))? {
        let room = limit - bytes.len();
        if chunk.len() > room {
            bytes.extend_from_slice(&chunk[..room]);
            return Ok(Bytes { bytes, more: true });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Bytes { bytes, more: false })
}

/// Runs work that takes tens of milliseconds on a thread that may block.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WebError> + Send + 'static,
) -> Result<T, WebError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(WebError::Encoding))
}

/// Returns a header's value; empty when it is absent or not plain text.
pub(super) fn header(response: &Response, name: &HeaderName) -> String {
    response
        .headers()
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// A text body before decompression.
struct Page {
    raw: Bytes,
    packed: Packing,
    content_type: String,
    base: Url,
    limit: usize,
}

impl Page {
    fn text(self, kind: BodyKind) -> Result<FetchedBody, WebError> {
        let plain = self.packed.unpack(self.raw, self.limit)?;
        let text = text::decode(&plain.bytes, text::charset(&self.content_type), plain.more);
        let (text, cut) = if kind == BodyKind::Html {
            html::readable(&text, &self.base, self.limit)
        } else {
            (text, false)
        };
        Ok(FetchedBody::Text {
            text,
            cut: cut || plain.more,
        })
    }
}

/// A body's compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
}

impl Packing {
    /// Parses the encoding. Only gzip is requested; a server that sends any other is rejected.
    fn from_response(response: &Response) -> Result<Self, WebError> {
        match header(response, &CONTENT_ENCODING)
            .to_ascii_lowercase()
            .as_str()
        {
            "" | "identity" => Ok(Self::None),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            _ => Err(WebError::Encoding),
        }
    }

    /// Decompresses to at most `limit` bytes. Only a body that was cut here may end in the middle.
    fn unpack(self, raw: Bytes, limit: usize) -> Result<Bytes, WebError> {
        // A server may name an encoding for an empty body.
        if self == Self::None || raw.bytes.is_empty() {
            return Ok(raw);
        }
        let mut bytes = Vec::new();
        let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        match MultiGzDecoder::new(raw.bytes.as_slice())
            .take(one_more)
            .read_to_end(&mut bytes)
        {
            Err(_) if !raw.more => return Err(WebError::Encoding),
            Ok(_) | Err(_) => {}
        }
        let more = raw.more || bytes.len() > limit;
        bytes.truncate(limit);
        Ok(Bytes { bytes, more })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_media_type_decides_what_is_done() {
        for (media_type, kind) in [
            ("text/html", BodyKind::Html),
            ("application/xhtml+xml", BodyKind::Html),
            ("text/plain", BodyKind::Text),
            ("text/csv", BodyKind::Text),
            ("application/json", BodyKind::Text),
            ("application/problem+json", BodyKind::Text),
            ("application/atom+xml", BodyKind::Text),
            ("image/png", BodyKind::Image),
            ("image/svg+xml", BodyKind::Other),
            ("image/tiff", BodyKind::Other),
            ("application/pdf", BodyKind::Document),
            ("application/octet-stream", BodyKind::Other),
            ("", BodyKind::Other),
        ] {
            assert_eq!(BodyKind::from_media_type(media_type), kind, "{media_type}");
        }
    }

    #[test]
    fn decompression_stops_at_the_limit() {
        let unpack = |bytes: &[u8], more, limit| {
            Packing::Gzip.unpack(
                Bytes {
                    bytes: bytes.to_vec(),
                    more,
                },
                limit,
            )
        };
        let packed = gzip(b"hello");
        assert_eq!(
            unpack(&packed, false, 5),
            Ok(Bytes {
                bytes: b"hello".to_vec(),
                more: false
            })
        );
        assert_eq!(
            unpack(&packed, false, 4),
            Ok(Bytes {
                bytes: b"hell".to_vec(),
                more: true
            })
        );
        assert_eq!(
            unpack(b"", false, 4),
            Ok(Bytes {
                bytes: Vec::new(),
                more: false
            })
        );
        let two = [packed.clone(), packed].concat();
        assert_eq!(unpack(&two, false, 100).unwrap().bytes, b"hellohello");
    }

    #[test]
    fn truncated_body_is_rejected_unless_cut_here() {
        let words: Vec<u8> = (0_u32..4000)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
            .collect();
        let packed = gzip(&words);
        let half = || packed[..packed.len() / 2].to_vec();
        assert_eq!(
            Packing::Gzip.unpack(
                Bytes {
                    bytes: half(),
                    more: false
                },
                1 << 20
            ),
            Err(WebError::Encoding)
        );
        let cut = Packing::Gzip
            .unpack(
                Bytes {
                    bytes: half(),
                    more: true,
                },
                1 << 20,
            )
            .unwrap();
        assert!(cut.more && !cut.bytes.is_empty() && words.starts_with(&cut.bytes));
    }
}
