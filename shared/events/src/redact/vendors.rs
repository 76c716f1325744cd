//! Tokens with a prefix or a form that only a single vendor uses.
//!
//! Most texts have none, so a pattern is searched only where the constant part occurs. Each matches
//! as soon as the minimum is read, so the search stays linear (see `shapes`). A boundary before a
//! prefix is not needed, and an escaped line break has none.

/// Each token's fixed part and pattern.
pub(super) const TOKENS: &[(&str, &str)] = &[
    // JSON Web Tokens: header and payload are JSON objects in base64url. The signature may be cut off.
    (
        ".eyJ",
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?",
    ),
    // GitLab.
    (
        "gl",
        r"gl(?:pat|dt|rt|ptt|cbt|ft|imt|oas|agent|soat|ffct)-[A-Za-z0-9_-]{20,}",
    ),
    // npm, PyPI, RubyGems, Docker.
    ("npm_", r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{32,}"),
    ("rubygems_", r"rubygems_[0-9a-f]{48,}"),
    ("dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    // Hugging Face, Groq, xAI, Perplexity, Replicate.
    ("hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-", r"xai-[A-Za-z0-9]{60,}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("r8_", r"r8_[A-Za-z0-9]{37,}"),
    // Google: access tokens and client secrets.
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    // Azure: application secrets, storage account keys, shared access signatures.
    ("Q~", r"[A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,}"),
    ("AccountKey=", r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}"),
    ("sig=", r"[?&]sig=[A-Za-z0-9%+/=]{40,}"),
    // SendGrid, Shopify, DigitalOcean, Databricks, Linear, Postman.
    ("SG.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{32,}"),
    ("shp", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32,}"),
    ("_v1_", r"do[opr]_v1_[0-9a-f]{64,}"),
    ("dapi", r"dapi[0-9a-f]{32,}"),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{40,}"),
    ("PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34,}"),
    // Vault, Atlassian, Grafana, Doppler, Tailscale, Supabase, PlanetScale, Sentry.
    ("hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("TT3", r"AT[AC]TT3[A-Za-z0-9_=-]{20,}"),
    ("gl", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    ("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,}"),
    ("tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("sb", r"sb[ps]_[0-9a-f]{40,}"),
    ("pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}"),
    ("sntry", r"sntry[su]_[A-Za-z0-9_+/=]{32,}"),
    // Telegram bots, and age identities.
    (":AA", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33,}"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
];

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::super::redact;

    /// Returns so many key characters. No whole token appears in the source.
    fn chars(count: usize) -> String {
        "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(count).collect()
    }

    fn hex(count: usize) -> String {
        "0123456789abcdef".chars().cycle().take(count).collect()
    }

    #[test]
    fn tokens_of_vendors_are_redacted() {
        let jwt = format!("eyJ{}.eyJ{}.{}", chars(33), chars(90), chars(43));
        let tokens = [
            jwt,
            format!("eyJ{}.eyJ{}", chars(33), chars(90)),
            format!("glpat-{}", chars(20)),
            format!("glrt-{}", chars(20)),
            format!("npm_{}", chars(36)),
            format!("pypi-AgEIcHlwaS5vcmc{}", chars(60)),
            format!("rubygems_{}", hex(48)),
            format!("dckr_pat_{}", chars(27)),
            format!("hf_{}", chars(34)),
            format!("gsk_{}", chars(52)),
            format!("xai-{}", chars(80)),
            format!("pplx-{}", chars(48)),
            format!("r8_{}", chars(37)),
            format!("ya29.{}", chars(60)),
            format!("GOCSPX-{}", chars(28)),
            format!("abc8Q~{}", chars(34)),
            format!("SG.{}.{}", chars(22), chars(43)),
            format!("shpat_{}", hex(32)),
            format!("dop_v1_{}", hex(64)),
            format!("dapi{}", hex(32)),
            format!("lin_api_{}", chars(40)),
            format!("PMAK-{}-{}", hex(24), hex(34)),
            format!("hvs.{}", chars(40)),
            format!("ATATT3x{}", chars(60)),
            format!("glsa_{}_{}", chars(32), hex(8)),
            format!("dp.pt.{}", chars(43)),
            format!("tskey-auth-{}", chars(24)),
            format!("sbp_{}", hex(40)),
            format!("pscale_tkn_{}", chars(43)),
            format!("sntrys_{}", chars(60)),
            format!("123456789:AA{}", chars(33)),
            format!("AGE-SECRET-KEY-1{}", chars(58).to_uppercase()),
            // Known before.
            format!("xoxb-{}", chars(20)),
            format!("AIza{}", chars(35)),
            format!("sk_live_{}", chars(24)),
            format!("AKIA{}", chars(16).to_uppercase()),
        ];
        for token in tokens {
            for text in [
                token.clone(),
                format!("use {token}, then"),
                format!("{{\"a\":\"\\n{token}\"}}"),
            ] {
                let redacted = redact(&text);
                assert!(redacted.contains("[redacted]"), "{text} became {redacted}");
                assert!(
                    !redacted.contains(&token[token.len() - 12..]),
                    "{text} became {redacted}"
                );
            }
        }
        let account = format!("AccountName=a;AccountKey={}==;EndpointSuffix=b", chars(86));
        assert!(
            !redact(&account).contains(&chars(20)),
            "{}",
            redact(&account)
        );
        let signed = format!("https://a.test/b?sv=1&sig={}", chars(44));
        assert!(!redact(&signed).contains(&chars(20)), "{}", redact(&signed));
    }

    #[test]
    fn texts_like_tokens_stay() {
        let map = format!(
            "sourceMappingURL=data:application/json;base64,eyJ{}",
            chars(300)
        );
        for text in [
            "eyJhbGciOiJIUzI1NiJ9 alone",
            "eyJ.eyJ.x",
            map.as_str(),
            "glpat-short",
            "npm_config_registry npm_lifecycle_event",
            "pypi-server and pypi-AgE",
            "hf_hub_download",
            "shelf_width",
            "SG.short.name",
            "hvs.example",
            "docker_pat dckr_pat_",
            "ya29 ya29.x",
            "tskey-auth-x",
            "https://a.test/?sig=short&x=1",
            "12:30:45 AA",
            "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "commit 0123456789abcdef0123456789abcdef01234567",
        ] {
            assert!(
                matches!(redact(text), Cow::Borrowed(_)),
                "{text} became {}",
                redact(text)
            );
        }
    }
}
