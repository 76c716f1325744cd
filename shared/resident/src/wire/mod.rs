//! The wire: routes, their check order, requests and responses.
//!
//! A request type cannot hold invalid text: the fields are parsed once, before any path or argument
//! is derived. See docs/reference/residents.md#routes. Not here: the transport.

mod debug;
mod requests;
mod responses;
mod routes;
mod view;

#[cfg(test)]
mod wire_tests;

pub use debug::{DebugOp, DebugRequest};
pub use requests::{
    AttachRequest, CheckOutFrom, CheckOutRequest, CheckpointRequest, DetachRequest, ExecRequest,
    OffboardRequest, OnboardRequest, OpName, OpRequest, PushRequest, ReadRequest, RebuildRequest,
    ReconfigureRequest, StatusRequest, WriteRequest, parse_body,
};
pub use responses::{
    AttachResponse, Build, CheckOutResponse, CheckpointResponse, CredentialState, DetachResponse,
    Discards, Evicted, ExecResponse, Health, Keeps, OffboardPlan, OffboardReport, OnboardResponse,
    OpResponse, OpStatus, PushResponse, ReadResponse, RebuildPlan, ReconfigureResponse,
    Reprovision, RestoreResponse, StatusResponse, TraceStep, WriteResponse, attach_refusal,
    exec_refusal, op_refusal,
};
pub use routes::{Credential, Route, Scope, authorize};
pub use view::{
    EngineView, Live, PendingSchedules, RegistryRow, ResidentsResponse, ThreadRow, Unreachable,
    engine_view,
};
