//! A response body's text.
//!
//! A text from SQLite stays a JavaScript string. A text made in Rust leaves the instance's memory
//! in UTF-8 pieces, because WebAssembly never returns memory, and a JavaScript string with any
//! character beyond Latin-1 takes two bytes per character.

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;

/// Piece size in bytes.
const PIECE: usize = 256 * 1024;

/// A text from SQLite, or an answer made in Rust.
pub struct Text(Form);

enum Form {
    /// A given JavaScript string.
    Given(JsValue),
    Made {
        /// Pieces that are finished.
        pieces: Vec<Uint8Array>,
        /// The unfinished last piece.
        open: String,
    },
}

/// A response body's parts.
pub(crate) enum Body {
    /// A given JavaScript string.
    Whole(JsValue),
    /// UTF-8 pieces, in order.
    Pieces(Vec<Uint8Array>),
}

impl Text {
    /// Wraps a JavaScript string from SQLite.
    pub(crate) fn of_sqlite(text: JsValue) -> Self {
        Self(Form::Given(text))
    }

    /// Returns the answer's body.
    pub(crate) fn into_body(self) -> Body {
        match self.0 {
            Form::Given(text) => Body::Whole(text),
            Form::Made { pieces, open } if pieces.is_empty() => {
                Body::Whole(JsValue::from_str(&open))
            }
            Form::Made { pieces, open } => {
                Body::Pieces(pieces.into_iter().chain(piece(&open)).collect())
            }
        }
    }
}

impl From<String> for Text {
    fn from(open: String) -> Self {
        Self(Form::Made {
            pieces: Vec::new(),
            open,
        })
    }
}

impl<'a> Extend<&'a str> for Text {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, texts: T) {
        // The type was checked when it was read.
        if let Form::Given(text) = &self.0 {
            *self = Self::from(text.as_string().unwrap_or_default());
        }
        let Form::Made { pieces, open } = &mut self.0 else {
            return;
        };
        for text in texts {
            if open.len() + text.len() < PIECE {
                open.push_str(text);
                continue;
            }
            pieces.extend([open.as_str(), text].into_iter().filter_map(piece));
            open.clear();
        }
    }
}

/// Returns a piece from a text that is not empty.
fn piece(text: &str) -> Option<Uint8Array> {
    (!text.is_empty()).then(|| Uint8Array::from(text.as_bytes()))
}
