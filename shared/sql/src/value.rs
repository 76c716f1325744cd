//! Values and rows in the storage port.

use crate::SqlError;

/// Largest integer that a JavaScript number, as in a Durable Object's rows, represents exactly.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// A SQLite value. No store uses blobs.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The SQL value NULL.
    Null,
    /// An integer within ±(2^53 - 1).
    Integer(i64),
    /// A double precision number.
    Real(f64),
    /// Text encoded as UTF-8.
    Text(String),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        // Both adapters saturate. Every stored number is a time, count or size far below the limit.
        Self::Integer(number.clamp(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Integer(i64::from(flag))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row, read by column position.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(Vec<Value>);

impl Row {
    /// Returns a row with these columns.
    pub fn new(columns: Vec<Value>) -> Self {
        Self(columns)
    }

    /// Returns column `index` as an integer, also from a whole double: JavaScript has only doubles.
    pub fn integer(&self, index: usize) -> Result<i64, SqlError> {
        match self.0.get(index) {
            Some(Value::Integer(number)) => Ok(*number),
            Some(Value::Real(number))
                if number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER as f64 =>
            {
                Ok(*number as i64)
            }
            other => Err(unexpected(index, "integer", other)),
        }
    }

    /// Returns column `index` as a double.
    pub fn real(&self, index: usize) -> Result<f64, SqlError> {
        match self.0.get(index) {
            Some(Value::Integer(number)) => Ok(*number as f64),
            Some(Value::Real(number)) => Ok(*number),
            other => Err(unexpected(index, "number", other)),
        }
    }

    /// Returns column `index` as text.
    pub fn text(&self, index: usize) -> Result<&str, SqlError> {
        match self.0.get(index) {
            Some(Value::Text(text)) => Ok(text),
            other => Err(unexpected(index, "text", other)),
        }
    }

    /// Moves column `index` out of the row as text.
    pub fn into_text(mut self, index: usize) -> Result<String, SqlError> {
        match self.0.get_mut(index) {
            Some(Value::Text(text)) => Ok(std::mem::take(text)),
            other => Err(unexpected(index, "text", other.as_deref())),
        }
    }

    /// Returns whether column `index` is NULL or missing.
    pub fn is_null(&self, index: usize) -> bool {
        matches!(self.0.get(index), None | Some(Value::Null))
    }
}

/// Returns an error with the column and the types, never the value: rows contain users' text.
fn unexpected(index: usize, wanted: &str, found: Option<&Value>) -> SqlError {
    let kind = match found {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Integer(_)) => "integer",
        Some(Value::Real(_)) => "real",
        Some(Value::Text(_)) => "text",
    };
    SqlError::Shape(format!("column {index} is {kind}, not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_may_arrive_as_doubles() {
        let row = Row::new(vec![Value::Real(5.0), Value::Real(0.5), Value::Null]);
        assert_eq!(row.integer(0), Ok(5));
        assert!(row.integer(1).is_err());
        assert!(row.is_null(2) && row.is_null(9));
    }

    #[test]
    fn a_shape_error_does_not_echo_the_value() {
        let row = Row::new(vec![Value::from("secret")]);
        assert!(!row.integer(0).unwrap_err().to_string().contains("secret"));
    }
}
