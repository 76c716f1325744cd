//! The wire: routes, their check order, requests and responses.
//!
//! A request type cannot hold invalid text: the fields are parsed once, before any path or argument
//! is derived. See docs/reference/residents.md#routes. Not here: the transport.

mod answers;
mod debug;
mod requests;
mod routes;
mod view;

#[cfg(test)]
mod wire_tests;

pub use answers::{
    AttachAnswer, Build, CheckOutAnswer, CheckpointAnswer, CredentialState, DetachAnswer, Discards,
    Evicted, ExecAnswer, Health, Keeps, OffboardPlan, OffboardReport, OnboardAnswer, OpAnswer,
    OpStatus, PushAnswer, ReadAnswer, RebuildPlan, ReconfigureAnswer, Reprovision, RestoreAnswer,
    StatusAnswer, TraceStep, WriteAnswer, attach_refusal, exec_refusal, op_refusal,
};
pub use debug::{DebugOp, DebugRequest};
pub use requests::{
    AttachRequest, CheckOutFrom, CheckOutRequest, CheckpointRequest, DetachRequest, ExecRequest,
    OffboardRequest, OnboardRequest, OpName, OpRequest, PushRequest, ReadRequest, RebuildRequest,
    ReconfigureRequest, StatusRequest, WriteRequest, parse_body,
};
pub use routes::{Credential, Route, Scope, authorize};
pub use view::{
    EngineView, Live, PendingSchedules, RegistryRow, ResidentsAnswer, ThreadRow, Unreachable,
    engine_view,
};
