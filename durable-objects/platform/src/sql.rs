//! The storage port over a Durable Object's SQLite.
//!
//! Integers cross as JavaScript numbers, which SQLite then sees as doubles. So columns need INTEGER affinity, and SQL
//! text must not rely on a parameter's type (docs/platform.md).

use ars_sql::{Row, Sql, SqlError, Value};
use js_sys::{Array, Iterator};
use wasm_bindgen::{JsCast, JsValue};

use crate::{Text, interned::interned, raw};

/// Largest integer a JavaScript number holds exactly.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// A Durable Object's SQLite database.
pub struct DoSql {
    storage: raw::Storage,
    sql: raw::SqlStorage,
}

impl DoSql {
    /// Opens a single object's storage.
    pub fn new(storage: raw::Storage) -> Self {
        Self {
            sql: storage.sql(),
            storage,
        }
    }

    fn run(&self, sql: &str, params: &[Value]) -> Result<raw::RawRows, SqlError> {
        let bindings = params.iter().map(to_js).collect::<Result<Array, _>>()?;
        self.sql
            .exec(&interned(sql), &bindings)
            .and_then(|cursor| cursor.raw())
            .map_err(|thrown| engine(&thrown))
    }

    fn rows(&self, sql: &str, params: &[Value]) -> Result<Array, SqlError> {
        self.run(sql, params)?
            .to_array()
            .map_err(|thrown| engine(&thrown))
    }
}

impl Sql for DoSql {
    type Text = Text;

    fn each(
        &self,
        sql: &str,
        params: &[Value],
        mut handle: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let rows: Iterator = JsValue::from(self.run(sql, params)?).unchecked_into();
        loop {
            let next = rows.next().map_err(|thrown| engine(&thrown))?;
            if next.done() {
                return Ok(());
            }
            handle(row(next.value())?)?;
        }
    }

    /// Reads all rows at once, which costs less than each separately.
    fn query(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, SqlError> {
        self.rows(sql, params)?.iter().map(row).collect()
    }

    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<Text>, SqlError> {
        let rows = self.rows(sql, params)?;
        let column = rows
            .get(0)
            .dyn_into::<Array>()
            .map_or(JsValue::UNDEFINED, |row| row.get(0));
        match column {
            none if none.is_null() || none.is_undefined() => Ok(None),
            text if text.is_string() => Ok(Some(Text::of_sqlite(text))),
            _ => Err(SqlError::Shape("column 0 is not text".to_owned())),
        }
    }

    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut body = Some(body);
        let mut outcome = None;
        // Throwing is the only way to roll back. The Rust error waits in `outcome`.
        let ended = self.storage.transaction_sync(&mut || {
            outcome = body.take().map(|body| body());
            match outcome {
                Some(Ok(_)) => Ok(JsValue::UNDEFINED),
                Some(Err(_)) | None => Err(JsValue::from_str("rolled back")),
            }
        });
        // A panic in the body is a trap, which comes out as an exception too. It must reach the
        // module's caller, which replaces the instance (`js/runtime.js`).
        if let Err(thrown) = &ended
            && thrown.has_type::<js_sys::WebAssembly::RuntimeError>()
        {
            wasm_bindgen::throw_val(thrown.clone());
        }
        match (outcome, ended) {
            (Some(Ok(value)), Ok(_)) => Ok(value),
            (Some(Err(error)), _) => Err(error),
            // The body succeeded and the commit did not.
            (Some(Ok(_)), Err(thrown)) | (None, Err(thrown)) => Err(engine(&thrown).into()),
            (None, Ok(_)) => Err(SqlError::Engine("the transaction did not run".to_owned()).into()),
        }
    }
}

fn row(columns: JsValue) -> Result<Row, SqlError> {
    let columns: Array = columns.unchecked_into();
    columns
        .iter()
        .map(|column| from_js(&column))
        .collect::<Result<_, _>>()
        .map(Row::new)
}

fn to_js(value: &Value) -> Result<JsValue, SqlError> {
    Ok(match value {
        Value::Null => JsValue::NULL,
        Value::Integer(number) if (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(number) => {
            JsValue::from_f64(*number as f64)
        }
        Value::Integer(_) => {
            return Err(SqlError::Shape(
                "an integer beyond 2^53 was bound".to_owned(),
            ));
        }
        Value::Real(number) => JsValue::from_f64(*number),
        Value::Text(text) => JsValue::from_str(text),
    })
}

fn from_js(value: &JsValue) -> Result<Value, SqlError> {
    if value.is_null() || value.is_undefined() {
        return Ok(Value::Null);
    }
    if let Some(number) = value.as_f64() {
        let whole = number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER as f64;
        return Ok(if whole {
            Value::Integer(number as i64)
        } else {
            Value::Real(number)
        });
    }
    value
        .as_string()
        .map(Value::Text)
        .ok_or_else(|| SqlError::Shape("a column is a blob".to_owned()))
}

fn engine(thrown: &JsValue) -> SqlError {
    SqlError::Engine(raw::describe(thrown))
}
