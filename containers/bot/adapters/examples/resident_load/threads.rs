//! Calls that a single thread makes.

use ars_bot_ports::{Residents, ResidentsError};
use ars_resident::{plan::TAKE_SPARE, refusal::Token, wire::Route};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Resource name for the measured resident.
pub const RESOURCE: &str = "repo:bench/app";
/// The calls between attach and detach, in this order.
pub const CALLS: [Route; 3] = [Route::Exec, Route::Read, Route::Write];

/// What a call did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    /// The thread's own work.
    Yes,
    /// An attach with the spare tree.
    Spare,
    /// Nothing: all users serve other threads.
    NoFreeUser,
}

/// Makes a request to the resident.
pub fn request<T: DeserializeOwned>(fields: &Value) -> T {
    let mut body = json!({ "resource": RESOURCE });
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    serde_json::from_value(body).unwrap()
}

/// Attaches a thread to the default branch.
pub async fn attach(residents: &dyn Residents, thread: &str) -> Result<Attached, ResidentsError> {
    let body = request(&json!({"threadKey": thread, "refHint": "main"}));
    match residents.attach(&body, &CancellationToken::new()).await {
        Ok(answer) if answer.trace.iter().any(|step| step.step == TAKE_SPARE) => {
            Ok(Attached::Spare)
        }
        Ok(_) => Ok(Attached::Yes),
        Err(ResidentsError::Refused(refusal)) if refusal.token() == Token::UserPoolExhausted => {
            Ok(Attached::NoFreeUser)
        }
        Err(error) => Err(error),
    }
}

/// Removes a thread's tree.
pub async fn detach(residents: &dyn Residents, thread: &str) -> Result<Attached, ResidentsError> {
    let body = request(&json!({"threadKey": thread, "force": true}));
    residents
        .detach(&body, &CancellationToken::new())
        .await
        .map(|_| Attached::Yes)
}

/// Performs a call in a thread's tree.
pub async fn call(
    residents: &dyn Residents,
    route: Route,
    thread: &str,
) -> Result<Attached, ResidentsError> {
    let never = CancellationToken::new();
    let mut fields = match route {
        Route::Exec => json!({"command": "true"}),
        Route::Read => json!({"path": "README.md"}),
        _ => json!({"path": "notes/new.txt", "content": "text\n"}),
    };
    fields["threadKey"] = thread.into();
    let done = match route {
        Route::Exec => residents.exec(&request(&fields), &never).await.map(drop),
        Route::Read => residents.read(&request(&fields), &never).await.map(drop),
        _ => residents.write(&request(&fields), &never).await.map(drop),
    };
    done.map(|()| Attached::Yes)
}

/// Runs the command table's tests, without a thread.
pub async fn operation(residents: &dyn Residents) -> Result<Attached, ResidentsError> {
    residents
        .op(&request(&json!({"op": "test"})), &CancellationToken::new())
        .await
        .map(|_| Attached::Yes)
}
