//! A webhook's signature: HMAC-SHA256 over the body bytes (RFC 2104).

use ars_auth::Secret;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Prefix of the `X-Hub-Signature-256` header.
const PREFIX: &str = "sha256=";
/// SHA-256 block size in bytes.
const BLOCK: usize = 64;
/// SHA-256 digest size in bytes.
const DIGEST: usize = 32;

/// Returns whether the header signs the body. The comparison takes the same time for every signature.
pub fn is_signed(secret: &Secret, body: &[u8], header: &str) -> bool {
    let Some(presented) = header.strip_prefix(PREFIX).and_then(bytes_of_hex) else {
        return false;
    };
    hmac(secret.expose().as_bytes(), body)
        .ct_eq(&presented)
        .into()
}

fn hmac(key: &[u8], body: &[u8]) -> [u8; DIGEST] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..DIGEST].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(body)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

fn bytes_of_hex(text: &str) -> Option<[u8; DIGEST]> {
    let mut bytes = [0; DIGEST];
    if text.len() != 2 * DIGEST || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Test cases 1, 2, 4 and 6 from RFC 4231.
    #[test]
    fn digests_are_those_of_the_standard() {
        let counted: Vec<u8> = (1..=25).collect();
        for (key, body, expected) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                counted,
                vec![0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(&key, &body)), expected);
        }
    }

    #[test]
    fn only_the_signature_of_the_body_is_accepted() {
        let secret = Secret::parse(Some("It's a Secret to Everybody".into())).unwrap();
        // The example in the host's documentation.
        let valid = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let body = b"Hello, World!";
        assert!(is_signed(&secret, body, &format!("sha256={valid}")));
        assert!(is_signed(
            &secret,
            body,
            &format!("sha256={}", valid.to_uppercase())
        ));
        for header in [
            valid,
            "",
            "sha256=",
            &format!("sha1={valid}"),
            &format!("sha256={}8", &valid[..63]),
            &format!("sha256=+{}", &valid[1..]),
        ] {
            assert!(!is_signed(&secret, body, header), "{header}");
        }
        assert!(!is_signed(
            &secret,
            b"Hello, World?",
            &format!("sha256={valid}")
        ));
    }
}
