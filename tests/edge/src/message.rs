//! One answer as it came over the wire: its status, every field, and the bytes of its body.

/// What belongs to one connection, or to the moment.
const OF_THE_MOMENT: [&str; 4] = ["connection", "keep-alive", "transfer-encoding", "date"];

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The HTTP status.
    pub status: u16,
    /// The fields that are the answer's own, with names in one case, in order of their names.
    pub fields: Vec<(String, String)>,
    /// The body, without the chunks it came in.
    pub body: Vec<u8>,
}

impl Message {
    /// Reads an answer of which everything has come.
    pub fn parse(bytes: &[u8]) -> Self {
        let (message, chunked, rest) = read(bytes);
        let body = if chunked { joined(rest) } else { rest.to_vec() };
        Self { body, ..message }
    }

    /// Reads the head of an answer whose body is still coming.
    pub fn head(bytes: &[u8]) -> Self {
        read(bytes).0
    }

    /// Whether everything has come of the answer to a request of this method.
    pub fn is_whole(bytes: &[u8], method: &str) -> bool {
        if !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
            return false;
        }
        let (head, chunked, rest) = read(bytes);
        match head.field("content-length").map(|length| length.parse::<usize>().expect("a length")) {
            _ if method == "HEAD" => true,
            Some(length) => rest.len() >= length,
            None => chunked && rest.ends_with(b"0\r\n\r\n"),
        }
    }

    /// The value of a field that is there once.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found =
            self.fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        found.next().filter(|_| found.next().is_none())
    }
}

/// The head as a message without a body, whether the body comes in chunks, and what has come of it.
fn read(bytes: &[u8]) -> (Message, bool, &[u8]) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let field = |line: &str| {
        let (name, value) = line.split_once(':').expect("a field");
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let (of_the_moment, mut fields): (Vec<_>, Vec<_>) =
        lines.map(field).partition(|(name, _)| OF_THE_MOMENT.contains(&name.as_str()));
    fields.sort();
    let chunked = of_the_moment.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    (Message { status, fields, body: Vec::new() }, chunked, &bytes[end + 4..])
}

/// What chunks hold, to the last one.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|two| two == b"\r\n").expect("a chunk's length");
        let size = std::str::from_utf8(&chunks[..end]).expect("a length of text");
        let size = usize::from_str_radix(size, 16).expect("a chunk's length");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + size]);
        chunks = &chunks[end + 4 + size..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let counted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        for whole in [counted, chunked] {
            let lacking = (0..whole.len()).filter(|end| !Message::is_whole(&whole.as_bytes()[..*end], "GET"));
            assert_eq!(lacking.count(), whole.len());
            assert!(Message::is_whole(whole.as_bytes(), "GET"));
        }
        assert!(Message::is_whole(counted.trim_end_matches("ab").as_bytes(), "HEAD"));
    }

    #[test]
    fn an_answer_is_the_same_however_it_was_cut_up_and_not_when_a_field_or_a_byte_differs() {
        let whole = Message::parse(b"HTTP/1.1 200 OK\r\nB: 2\r\nA: 1\r\nDate: x\r\n\r\nab\r\ncd");
        let chunks = b"HTTP/1.1 200 OK\r\na:1\r\nTransfer-Encoding: chunked\r\nb: 2\r\n\r\n3\r\nab\r\r\n3\r\n\ncd\r\n0\r\n\r\n";
        assert_eq!(Message::parse(chunks), whole);
        assert_eq!((whole.field("a"), whole.field("date")), (Some("1"), None));
        for other in
            ["HTTP/1.1 200 OK\r\nB: 2\r\n\r\nab\r\ncd", "HTTP/1.1 200 OK\r\nB: 2\r\nA: 1\r\n\r\nab\r\nce"]
        {
            assert_ne!(Message::parse(other.as_bytes()), whole);
        }
    }
}
