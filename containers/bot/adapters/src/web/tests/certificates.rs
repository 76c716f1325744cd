//! Tests an access proxy's keys. Their use is tested with the dashboard's gates.

use std::sync::Arc;

use ars_bot_ports::Certificates as _;
use axum::{Router, http::Uri};

use super::{super::certificates::TeamCertificates, Site};
use crate::upstream::UpstreamProxy;

#[tokio::test]
async fn keys_come_through_the_proxy_of_the_service() {
    let proxy = Site::serve(Router::new().fallback(async |uri: Uri| uri.to_string())).await;
    let address = proxy.url("127.0.0.1", "");
    let upstream =
        UpstreamProxy::from_service(|name| (name == "HTTP_PROXY").then(|| address.clone().into()));
    let keys = "http://team.example.invalid/keys";
    let certificates = TeamCertificates::at(keys.to_owned(), &Arc::new(upstream)).unwrap();
    assert_eq!(certificates.fetch().await.unwrap(), keys);
}
