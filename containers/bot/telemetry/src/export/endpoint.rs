//! The collector's address.

use reqwest::Url;

use crate::error::BadEndpoint;

/// Path for spans below the base address, as OTLP over HTTP defines it.
const TRACES_PATH: &str = "v1/traces";

/// A collector's base address, such as `http://127.0.0.1:4318`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: Url,
}

impl Endpoint {
    /// Parses a base address.
    pub fn parse(text: &str) -> Result<Self, BadEndpoint> {
        let base = Url::parse(text.trim()).map_err(|_| BadEndpoint::NotHttp)?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(BadEndpoint::NotHttp);
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(BadEndpoint::Credentials);
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(BadEndpoint::Query);
        }
        Ok(Self { base })
    }

    /// Returns the address for spans.
    pub(crate) fn traces(&self) -> String {
        format!("{}/{TRACES_PATH}", self.base.as_str().trim_end_matches('/'))
    }
}

/// Returns the secrets in `OTEL_EXPORTER_OTLP_HEADERS`, for the redactor.
/// The variable is `name=value,name=value`; each value is returned as given and percent-decoded.
pub(crate) fn header_secrets(headers: &str) -> Vec<String> {
    let values = headers.split(',').filter_map(|pair| pair.split_once('='));
    let values = values
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty());
    let both = values.flat_map(|value| {
        let decoded = percent_decoded(value);
        // The scheme is not a secret, and the credential after it may appear without the scheme.
        let bare = decoded
            .split_once(' ')
            .map(|(_, secret)| secret.trim().to_owned());
        [Some(value.to_owned()), bare, Some(decoded)]
            .into_iter()
            .flatten()
    });
    both.collect()
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_below_the_base_address() {
        for (base, traces) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            (
                " https://otlp.example/v2/ ",
                "https://otlp.example/v2/v1/traces",
            ),
        ] {
            assert_eq!(
                Endpoint::parse(base).map(|endpoint| endpoint.traces()),
                Ok(traces.to_owned())
            );
        }
    }

    #[test]
    fn invalid_address_is_rejected_unquoted() {
        for (text, problem) in [
            ("", BadEndpoint::NotHttp),
            ("localhost:4318", BadEndpoint::NotHttp),
            ("sk-ant-canary-1234", BadEndpoint::NotHttp),
            ("grpc://localhost", BadEndpoint::NotHttp),
            ("http://ann:canary@localhost", BadEndpoint::Credentials),
            ("http://localhost/?key=canary", BadEndpoint::Query),
        ] {
            assert_eq!(Endpoint::parse(text), Err(problem), "{text}");
            assert!(!problem.to_string().contains("canary"));
        }
    }

    #[test]
    fn every_form_of_a_header_secret_is_known() {
        let secrets = header_secrets("authorization=Bearer%20abc-def, x-key = k1 ,flag,empty=");
        assert_eq!(
            secrets,
            ["Bearer%20abc-def", "abc-def", "Bearer abc-def", "k1", "k1"]
        );
    }
}
