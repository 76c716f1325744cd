//! Raw connections, for bytes that an HTTP client library would not send or would hide.
#![expect(
    clippy::unwrap_used,
    reason = "a test tool that cannot go on fails the test"
)]

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::support::Bot;

/// Timeout for a wait. A test that reaches it has failed.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends the bytes and reads until the server closes.
pub async fn exchange(bot: &Bot, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(bot.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    rest(&mut stream).await
}

/// Reads until the server closes.
pub async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    timeout(TIMEOUT, stream.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(answer).unwrap()
}

/// Reads until the text holds `mark`.
pub async fn until(stream: &mut TcpStream, text: &mut String, mark: &str) {
    let mut chunk = [0; 4096];
    // The mark may begin in an earlier chunk, and what precedes it is searched once.
    let mut searched = 0;
    while !text.as_bytes()[searched..]
        .windows(mark.len())
        .any(|window| window == mark.as_bytes())
    {
        searched = text.len().saturating_sub(mark.len());
        let read = timeout(TIMEOUT, stream.read(&mut chunk))
            .await
            .unwrap()
            .unwrap();
        assert_ne!(read, 0, "closed before {mark:?}; so far: {text}");
        text.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
    }
}
