//! Whether a single file can reach the model.
//!
//! Not here: the limits of a message and of a thread (`select`).

use std::fmt;

use super::{
    limits::{DOCUMENTS, FileLimits, IMAGES},
    names,
};

/// Media types of images that models accept, with their extensions.
const IMAGE_TYPES: [(&str, &[&str]); 4] = [
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/png", &["png"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
];
/// Media type of a PDF file.
const PDF: &str = "application/pdf";
/// Media type under which every text-like file is read.
const TEXT: &str = "text/plain";
/// Media types that say nothing about the content.
const UNTYPED: [&str; 3] = ["", "application/octet-stream", "binary/octet-stream"];
/// Media types of text beside those below `text/`. JSON is missing: service account keys are JSON.
const TEXT_TYPES: &[&str] = &[
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/typescript",
    "application/x-sh",
    "application/x-shellscript",
    "application/x-python",
    "application/x-httpd-php",
    "application/sql",
    "application/graphql",
];
/// Extensions of text. Their names vouch for the content, JSON included.
const TEXT_EXTENSIONS: &[&str] = &[
    "txt", "text", "md", "markdown", "mdx", "rst", "adoc", "org", "tex", "log", "csv", "tsv",
    "diff", "patch", "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "go",
    "java", "kt", "kts", "scala", "groovy", "c", "h", "cc", "cpp", "hh", "hpp", "cs", "fs",
    "swift", "m", "mm", "rb", "php", "pl", "pm", "lua", "r", "jl", "ex", "exs", "erl", "hs", "ml",
    "clj", "dart", "zig", "sql", "sh", "bash", "zsh", "fish", "ps1", "bat", "html", "htm", "css",
    "scss", "less", "vue", "svelte", "xml", "xsd", "svg", "yaml", "yml", "toml", "graphql",
    "proto", "tf", "hcl", "nix",
];
/// Extensions of JSON.
const JSON_EXTENSIONS: &[&str] = &[
    "json", "jsonc", "json5", "jsonl", "ndjson", "geojson", "ipynb",
];

/// A kind of file with limits of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// JPEG, PNG, GIF or WebP.
    Image,
    /// PDF or text.
    Document,
}

impl FileKind {
    /// Returns the limits of the kind.
    pub const fn limits(self) -> &'static FileLimits {
        match self {
            Self::Image => &IMAGES,
            Self::Document => &DOCUMENTS,
        }
    }
}

/// A file that the model can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readable {
    /// Kind of the file.
    pub kind: FileKind,
    /// Media type for the model: of an image, `application/pdf`, or `text/plain`.
    pub media_type: &'static str,
}

/// Why a file does not reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The name suggests credentials.
    Credentials,
    /// It is JSON, and only its type suggests that it is safe.
    Json,
    /// The type is not supported.
    Type,
    /// It has more bytes than the kind may.
    Size(FileKind),
    /// The message has too many of this kind.
    Message(FileKind),
    /// Newer files of this kind used up the thread's limits.
    Thread(FileKind),
    /// It is hosted elsewhere.
    External,
    /// It was deleted, or is hidden from the bot.
    Gone,
    /// It could not be downloaded.
    Download,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = |kind: &FileKind| match kind {
            FileKind::Image => "images",
            FileKind::Document => "documents",
        };
        match self {
            Self::Credentials => f.write_str("its name suggests credentials"),
            Self::Json => f.write_str("JSON is read only under the name of a text file"),
            Self::Type => f.write_str("its type is not supported"),
            Self::Size(kind) => {
                let (kinds, limit) = (kinds(kind), kind.limits().file_megabytes());
                write!(f, "{kinds} may have at most {limit} MB")
            }
            Self::Message(kind) => {
                let (kinds, limit) = (kinds(kind), kind.limits().per_message);
                write!(f, "a message may have at most {limit} {kinds}")
            }
            Self::Thread(kind) => {
                write!(f, "newer {} of the thread used up the limit", kinds(kind))
            }
            Self::External => f.write_str("it is hosted outside Slack"),
            Self::Gone => f.write_str("it was deleted or is hidden"),
            Self::Download => f.write_str("it could not be downloaded"),
        }
    }
}

/// Decides whether the model can read a file, by its name, media type and bytes.
///
/// # Errors
/// The reason why it is skipped.
pub fn classify(name: &str, media_type: &str, bytes: u64) -> Result<Readable, SkipReason> {
    if names::is_denied(name) {
        return Err(SkipReason::Credentials);
    }
    let media_type = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    let readable = readable(&names::extension(name), &media_type)?;
    if bytes > readable.kind.limits().file_bytes {
        return Err(SkipReason::Size(readable.kind));
    }
    Ok(readable)
}

fn readable(extension: &str, media_type: &str) -> Result<Readable, SkipReason> {
    let is_untyped = UNTYPED.contains(&media_type);
    let image = IMAGE_TYPES.iter().find(|(image, extensions)| {
        media_type == *image || is_untyped && extensions.contains(&extension)
    });
    let document = |media_type| Readable {
        kind: FileKind::Document,
        media_type,
    };
    if let Some((media_type, _)) = image {
        return Ok(Readable {
            kind: FileKind::Image,
            media_type,
        });
    }
    if media_type == PDF || is_untyped && extension == "pdf" {
        return Ok(document(PDF));
    }
    let is_json = media_type.ends_with("json");
    let is_text = is_text_type(media_type);
    if JSON_EXTENSIONS.contains(&extension) && (is_json || is_text || is_untyped) {
        return Err(SkipReason::Json);
    }
    let has_text_name = TEXT_EXTENSIONS.contains(&extension);
    if is_text || has_text_name && (is_json || is_untyped) {
        return Ok(document(TEXT));
    }
    Err(if is_json {
        SkipReason::Json
    } else {
        SkipReason::Type
    })
}

fn is_text_type(media_type: &str) -> bool {
    let is_listed = TEXT_TYPES.contains(&media_type) || media_type.ends_with("+xml");
    (is_listed || media_type.starts_with("text/")) && !media_type.ends_with("json")
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: Result<&str, SkipReason> = Ok("image/png");
    const PLAIN: Result<&str, SkipReason> = Ok(TEXT);

    #[test]
    fn files_are_classified_by_name_and_type() {
        for (name, media_type, expected) in [
            ("a.png", "image/png", IMAGE),
            ("a", "IMAGE/PNG; x=y", IMAGE),
            ("a.PNG", "application/octet-stream", IMAGE),
            ("a.png", "", IMAGE),
            ("a.jpg", "", Ok("image/jpeg")),
            ("a", "image/gif", Ok("image/gif")),
            ("a", "image/webp", Ok("image/webp")),
            ("a.tiff", "image/tiff", Err(SkipReason::Type)),
            ("a.pdf", "application/pdf", Ok(PDF)),
            ("a.pdf", "", Ok(PDF)),
            ("a.txt", "text/plain", PLAIN),
            ("a", "text/x-rust", PLAIN),
            ("a.html", "text/html", PLAIN),
            ("a.svg", "image/svg+xml", PLAIN),
            ("a.yaml", "application/x-yaml", PLAIN),
            ("a.rs", "", PLAIN),
            ("a.txt", "application/zip", Err(SkipReason::Type)),
            ("a.zip", "application/zip", Err(SkipReason::Type)),
            ("a", "", Err(SkipReason::Type)),
            ("a.json", "application/json", Err(SkipReason::Json)),
            ("a.json", "text/plain", Err(SkipReason::Json)),
            ("a.json", "", Err(SkipReason::Json)),
            ("a", "application/json", Err(SkipReason::Json)),
            ("a.unknown", "application/ld+json", Err(SkipReason::Json)),
            ("a.log", "application/json", PLAIN),
            ("a.json.txt", "application/json", PLAIN),
            (
                "credentials.json",
                "application/json",
                Err(SkipReason::Credentials),
            ),
            (".env", "text/plain", Err(SkipReason::Credentials)),
            ("x.key", "image/png", Err(SkipReason::Credentials)),
        ] {
            let found = classify(name, media_type, 1).map(|readable| readable.media_type);
            assert_eq!(found, expected, "{name} {media_type}");
        }
    }

    #[test]
    fn size_is_limited_by_kind() {
        for (media_type, kind, limit) in [
            ("image/png", FileKind::Image, 5 << 20),
            ("application/pdf", FileKind::Document, 10 << 20),
            ("text/plain", FileKind::Document, 10 << 20),
        ] {
            assert!(classify("a", media_type, limit).is_ok());
            assert_eq!(
                classify("a", media_type, limit + 1),
                Err(SkipReason::Size(kind))
            );
        }
    }
}
