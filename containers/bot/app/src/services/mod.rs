//! The long-lived parts of the server and their supervisor.

mod background;
mod disk;
mod http;
mod supervisor;

pub use background::{LedgerService, OverridesService, RequeueService};
pub use disk::DiskService;
pub use http::HttpService;
pub use supervisor::{Handle, Service, Supervisor};
