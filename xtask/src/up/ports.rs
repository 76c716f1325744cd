//! Ports for parts with addresses in stored texts, such as run page links in pull requests.
//!
//! A port is kept for the next start on the same data directory, so that the links stay valid.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::data_dir::{DataDir, write_private};

/// The file with the last start's ports, by part.
const FILE: &str = "ports.json";
/// Ports to choose from: below those that the system gives to connections.
const RANGE: Range<u16> = 20_000..32_000;
/// Maximum ports that are tried.
const ATTEMPTS: u16 = 1_000;

/// Returns a part's port: the wanted port, else the last start's, else a free port.
pub fn choose(data: &DataDir, part: &str, host: Ipv4Addr, wanted: Option<u16>) -> Result<u16> {
    if let Some(wanted) = wanted {
        return Ok(wanted);
    }
    let file = data.join(FILE);
    // Without a readable file every port is new.
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut kept: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let last = kept
        .get(part)
        .and_then(Value::as_u64)
        .and_then(|port| u16::try_from(port).ok());
    if let Some(last) = last.filter(|port| is_free(host, *port)) {
        return Ok(last);
    }
    let port = free(host)?;
    kept.insert(part.to_owned(), port.into());
    write_private(&file, &Value::Object(kept).to_string())?;
    Ok(port)
}

fn free(host: Ipv4Addr) -> Result<u16> {
    let mut random = [0; 2];
    getrandom::fill(&mut random)?;
    let (size, start) = (RANGE.end - RANGE.start, u16::from_ne_bytes(random));
    let mut ports = (0..ATTEMPTS).map(|step| RANGE.start + (start % size + step) % size);
    ports
        .find(|port| is_free(host, *port))
        .context("no port is free")
}

fn is_free(host: Ipv4Addr, port: u16) -> bool {
    TcpListener::bind((host, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_kept_while_it_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::claim(Some(dir.path())).unwrap();
        let of = |part: &str, wanted| choose(&data, part, Ipv4Addr::LOCALHOST, wanted).unwrap();
        let (bot, host) = (of("bot", None), of("host", None));
        assert!(RANGE.contains(&bot));
        assert_eq!(
            (of("bot", None), of("host", None), of("bot", Some(9))),
            (bot, host, 9)
        );
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, bot)).unwrap();
        assert_ne!(of("bot", None), bot);
        drop(taken);
        assert_ne!(of("bot", None), bot, "the new port replaces the old one");
    }
}
