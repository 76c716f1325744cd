//! The app's private key, as people paste it.
//!
//! The host hands out PKCS#1; most signers read PKCS#8. Variables hold line breaks as `\n`.

use ars_auth::Secret;
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Label on a PKCS#1 key.
const PKCS1: &str = "RSA PRIVATE KEY";
/// Label on a PKCS#8 key.
const PKCS8: &str = "PRIVATE KEY";
/// Version 0, and the algorithm `rsaEncryption` without parameters, in DER.
const RSA_PREFIX: [u8; 18] = [
    0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
    0x05, 0x00,
];
/// DER tag for a sequence.
const SEQUENCE: u8 = 0x30;
/// DER tag for a byte string.
const OCTETS: u8 = 0x04;

/// Returns the key in PKCS#8, as DER; `None` if the text has no key.
pub fn pkcs8_of_pem(pem: &Secret) -> Option<Vec<u8>> {
    let text = pem.expose().replace("\\n", "\n");
    if let Some(key) = block(&text, PKCS8) {
        return Some(key);
    }
    let key = block(&text, PKCS1)?;
    let inner = [RSA_PREFIX.as_slice(), &tagged(OCTETS, &key)].concat();
    Some(tagged(SEQUENCE, &inner))
}

fn block(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body
        .chars()
        .filter(|char| !char.is_ascii_whitespace())
        .collect();
    STANDARD
        .decode(body)
        .ok()
        .filter(|key| key.first() == Some(&SEQUENCE))
}

/// Writes tag, length and content.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let digits = &length[length
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(length.len() - 1)..];
    let mut out = vec![tag];
    match digits {
        [short] if *short < 0x80 => out.push(*short),
        // At most eight bytes.
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(0));
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(label: &str, der: &[u8], line: &str) -> Secret {
        let body = STANDARD.encode(der);
        let (start, end) = body.split_at(body.len() / 2);
        let dashes = "-----";
        let pem = format!(
            "{dashes}BEGIN {label}{dashes}{line}{start}{line}{end}{line}{dashes}END {label}{dashes}{line}"
        );
        Secret::parse(Some(pem)).unwrap()
    }

    #[test]
    fn pkcs1_key_is_wrapped() {
        let der = [&[SEQUENCE, 0x82, 0x01, 0x00][..], &[7; 256]].concat();
        for line in ["\n", "\r\n", "\\n"] {
            let wrapped = pkcs8_of_pem(&key(PKCS1, &der, line)).unwrap();
            // 18 bytes for the prefix, 4 for the inner header, 260 for the key.
            assert_eq!(wrapped[..4], [SEQUENCE, 0x82, 0x01, 0x1a]);
            assert_eq!(wrapped[4..22], RSA_PREFIX);
            assert_eq!(wrapped[22..26], [OCTETS, 0x82, 0x01, 0x04]);
            assert_eq!(wrapped[26..], der);
        }
        assert_eq!(tagged(OCTETS, &[1]), [OCTETS, 1, 1]);
    }

    #[test]
    fn pkcs8_key_is_unchanged() {
        let der = [SEQUENCE, 1, 2];
        assert_eq!(pkcs8_of_pem(&key(PKCS8, &der, "\n")).unwrap(), der);
    }

    #[test]
    fn other_texts_are_no_key() {
        for secret in [
            key("EC PRIVATE KEY", &[SEQUENCE], "\n"),
            key(PKCS1, b"text", "\n"),
        ] {
            assert_eq!(pkcs8_of_pem(&secret), None);
        }
        assert_eq!(
            pkcs8_of_pem(&Secret::parse(Some("x".into())).unwrap()),
            None
        );
    }
}
