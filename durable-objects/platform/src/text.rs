//! A text on its way to an answer's body.
//!
//! What SQLite gave goes out as it came. What is made here is kept as UTF-8 outside of this instance's memory as soon
//! as there is a piece of it: memory that WebAssembly has taken is never given back, and a string of JavaScript takes
//! two bytes a character as soon as one of them is beyond Latin-1.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;

/// Bytes from which on a piece is worth one of its own.
const PIECE: usize = 256 * 1024;

/// A text: what SQLite gave, or an answer made in Rust.
pub struct Text(Form);

enum Form {
    /// A JavaScript string.
    Given(JsValue),
    Made {
        /// Finished pieces.
        pieces: Vec<Uint8Array>,
        /// What follows them.
        open: String,
    },
}

/// What an answer's body is made of.
pub(crate) enum Body {
    /// A JavaScript string.
    Whole(JsValue),
    /// `Uint8Array`s.
    Pieces(Array),
}

impl Text {
    /// A JavaScript string that SQLite gave.
    pub(crate) fn of_sqlite(text: JsValue) -> Self {
        Self(Form::Given(text))
    }

    /// For the answer's body.
    pub(crate) fn into_body(self) -> Body {
        match self.0 {
            Form::Given(text) => Body::Whole(text),
            Form::Made { pieces, open } if pieces.is_empty() => Body::Whole(JsValue::from_str(&open)),
            Form::Made { pieces, open } => Body::Pieces(pieces.into_iter().chain(piece(&open)).collect()),
        }
    }
}

impl From<String> for Text {
    fn from(open: String) -> Self {
        Self(Form::Made { pieces: Vec::new(), open })
    }
}

impl<'a> Extend<&'a str> for Text {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, texts: T) {
        // That it is a string was seen when it came.
        if let Form::Given(text) = &self.0 {
            *self = Self::from(text.as_string().unwrap_or_default());
        }
        let Form::Made { pieces, open } = &mut self.0 else { return };
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

/// A piece, unless there is nothing in it.
fn piece(text: &str) -> Option<Uint8Array> {
    (!text.is_empty()).then(|| Uint8Array::from(text.as_bytes()))
}
