//! The service's program as a sandbox's first process, for tests in this crate. Not the service.

use std::{ffi::OsString, process::ExitCode};

use ars_bot_adapters::{
    egress::{ENTER, enter},
    sandbox::{SERVE, serve},
};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let ended = match words.split_first() {
        Some((first, rest)) if first == ENTER => Err(enter(rest)),
        Some((first, rest)) if first == SERVE => serve(rest),
        _ => Err(std::io::Error::other("no word of a sandbox")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
