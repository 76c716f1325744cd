//! Every error code in the service, and its form on each surface.
//!
//! A code is chosen once, where a request is rejected or fails. HTTP status, JSON-RPC code and exit
//! code follow from it here and nowhere else. Not here: the text beside the code, which the channel
//! renders.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a request has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The caller is known and lacks the permission.
    Unauthorized,
    /// An argument or field is missing or malformed.
    InvalidInput,
    /// The resource does not exist, or the caller may not know that it does.
    NotFound,
    /// The request contradicts the current state.
    Conflict,
    /// A fault in the service.
    Internal,
    /// A dependency is off, unreachable or shutting down. A retry may succeed.
    Unavailable,

    /// The credential is missing or unknown.
    Unauthenticated,
    /// The surface has no credentials configured.
    Disabled,
    /// The caller is on another machine and the surface serves only this machine.
    Forbidden,
    /// A page from another origin tried to write.
    ForbiddenOrigin,
    /// The route exists for another method.
    MethodNotAllowed,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// The body has no numeric `Content-Length`.
    LengthRequired,
    /// The body exceeds the route's limit.
    PayloadTooLarge,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The caller exceeds a limit for this caller. A later request may succeed.
    RateLimited,

    /// The JSON-RPC body is not JSON.
    ParseError,
    /// The JSON-RPC body is not a request.
    InvalidRequest,
    /// The JSON-RPC method is unknown.
    MethodNotFound,

    /// A run was rejected before it started, as the command line reports it.
    Refused,
    /// A run failed, as the command line reports it.
    Failed,
}

impl ErrorCode {
    /// Every code, in order.
    pub const ALL: [Self; 21] = [
        Self::Unauthorized,
        Self::InvalidInput,
        Self::NotFound,
        Self::Conflict,
        Self::Internal,
        Self::Unavailable,
        Self::Unauthenticated,
        Self::Disabled,
        Self::Forbidden,
        Self::ForbiddenOrigin,
        Self::MethodNotAllowed,
        Self::UnsupportedMediaType,
        Self::LengthRequired,
        Self::PayloadTooLarge,
        Self::RequestTimeout,
        Self::RateLimited,
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::Refused,
        Self::Failed,
    ];

    /// Returns the code's name in bodies and on standard error.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::InvalidInput => "invalid_input",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
            Self::Unauthenticated => "unauthenticated",
            Self::Disabled => "disabled",
            Self::Forbidden => "forbidden",
            Self::ForbiddenOrigin => "forbidden_origin",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::LengthRequired => "length_required",
            Self::PayloadTooLarge => "payload_too_large",
            Self::RequestTimeout => "request_timeout",
            Self::RateLimited => "rate_limited",
            Self::ParseError => "parse_error",
            Self::InvalidRequest => "invalid_request",
            Self::MethodNotFound => "method_not_found",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// Returns the code with this name, or `None`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == name)
    }

    /// Returns the HTTP status for a response with this code.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::InvalidInput | Self::ParseError | Self::InvalidRequest => 400,
            Self::Unauthenticated => 401,
            Self::Unauthorized | Self::Forbidden | Self::ForbiddenOrigin | Self::Refused => 403,
            Self::NotFound | Self::MethodNotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::Conflict => 409,
            Self::LengthRequired => 411,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::RateLimited => 429,
            Self::Internal | Self::Failed => 500,
            Self::Unavailable | Self::Disabled => 503,
        }
    }

    /// Returns the JSON-RPC error code.
    pub const fn json_rpc_code(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest
            | Self::MethodNotAllowed
            | Self::UnsupportedMediaType
            | Self::LengthRequired
            | Self::PayloadTooLarge
            | Self::RequestTimeout => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidInput => -32602,
            Self::Internal | Self::Failed => -32603,
            Self::Unauthorized
            | Self::Unauthenticated
            | Self::Disabled
            | Self::Forbidden
            | Self::ForbiddenOrigin
            | Self::Refused => -32001,
            Self::NotFound => -32002,
            Self::Conflict => -32003,
            Self::Unavailable => -32004,
            Self::RateLimited => -32005,
        }
    }

    /// Returns the command line's exit code: 2 for a rejected invocation, 1 for every other
    /// failure.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::InvalidInput => 2,
            Self::Unauthorized
            | Self::NotFound
            | Self::Conflict
            | Self::Internal
            | Self::Unavailable
            | Self::Unauthenticated
            | Self::Disabled
            | Self::Forbidden
            | Self::ForbiddenOrigin
            | Self::MethodNotAllowed
            | Self::UnsupportedMediaType
            | Self::LengthRequired
            | Self::PayloadTooLarge
            | Self::RequestTimeout
            | Self::RateLimited
            | Self::ParseError
            | Self::InvalidRequest
            | Self::MethodNotFound
            | Self::Refused
            | Self::Failed => 1,
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Reads a code. A newer version's code reads as `None`, so that the text beside it is not lost.
pub(crate) fn known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ErrorCode>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.as_deref().and_then(ErrorCode::parse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_failures_map_as_specified() {
        for (code, name, status, json_rpc, exit) in [
            (ErrorCode::Unauthorized, "unauthorized", 403, -32001, 1),
            (ErrorCode::InvalidInput, "invalid_input", 400, -32602, 2),
            (ErrorCode::NotFound, "not_found", 404, -32002, 1),
            (ErrorCode::Conflict, "conflict", 409, -32003, 1),
            (ErrorCode::Internal, "internal", 500, -32603, 1),
            (ErrorCode::Unavailable, "unavailable", 503, -32004, 1),
        ] {
            assert_eq!(code.as_str(), name);
            assert_eq!(
                (code.http_status(), code.json_rpc_code(), code.exit_code()),
                (status, json_rpc, exit)
            );
        }
    }

    #[test]
    fn transport_failures_map_as_specified() {
        for (code, status, json_rpc) in [
            (ErrorCode::Unauthenticated, 401, -32001),
            (ErrorCode::Disabled, 503, -32001),
            (ErrorCode::MethodNotAllowed, 405, -32600),
            (ErrorCode::PayloadTooLarge, 413, -32600),
            (ErrorCode::UnsupportedMediaType, 415, -32600),
            (ErrorCode::ForbiddenOrigin, 403, -32001),
            (ErrorCode::LengthRequired, 411, -32600),
            (ErrorCode::ParseError, 400, -32700),
            (ErrorCode::InvalidRequest, 400, -32600),
            (ErrorCode::MethodNotFound, 404, -32601),
            (ErrorCode::RateLimited, 429, -32005),
        ] {
            assert_eq!(
                (code.http_status(), code.json_rpc_code()),
                (status, json_rpc),
                "{code}"
            );
        }
    }

    #[test]
    fn names_are_unique_and_parse_back() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        }
        assert_eq!(ErrorCode::parse("later"), None);
    }
}
