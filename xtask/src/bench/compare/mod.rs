//! Compares Workers on the same runtime: they share one core, take turns and answer the same load from another core.
//!
//! Not here: the requests and the check that both Workers answer alike (`state`, `edge`).

mod load;
mod measure;
mod side;
mod table;

pub use self::load::{Ask, Row, Source, TOKEN, always};
pub use self::measure::{Options, measure};
pub use self::side::{Side, bundle, copy_modules};
