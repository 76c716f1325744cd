//! The part of workerd's configuration for object storage buckets.
//!
//! workerd has the binding, and the platform's own tools bring a Worker that stores the objects in
//! a directory. It is a module in an npm package, used unchanged. Not here: the Worker that has the
//! binding (`config`).

use std::path::Path;

use anyhow::Result;

use crate::BucketBinding;
use crate::config::text;

/// Folder for a Worker's buckets, below its objects' folder.
pub(crate) const FOLDER: &str = "buckets";
/// The class behind a bucket's object, in the package.
const CLASS: &str = "R2BucketObject";
/// The Worker behind all buckets.
const SERVICE: &str = "buckets";

/// Configuration pieces, all empty without buckets.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) services: String,
    pub(crate) workers: String,
    pub(crate) extensions: String,
}

/// Returns a bucket's binding.
pub(crate) fn binding(bucket: &BucketBinding) -> Result<String> {
    Ok(format!(
        "(name = {}, r2Bucket = {})",
        text(&bucket.binding)?,
        text(&service(bucket))?
    ))
}

/// Returns everything but the bindings. Objects are stored below the directory for the Worker's own
/// objects.
pub(crate) fn parts(buckets: &[BucketBinding], worker: &str, objects: &Path) -> Result<Parts> {
    if buckets.is_empty() {
        return Ok(Parts::default());
    }
    let folder = text(&objects.join(FOLDER).to_string_lossy())?;
    let key = text(&format!("{worker}-{CLASS}"))?;
    let mut parts = Parts {
        services: format!(
            r#"
    (name = "{SERVICE}-disk", disk = (path = {folder}, writable = true)),
    (name = "{SERVICE}", worker = .buckets),"#
        ),
        workers: format!(
            r#"const buckets :Workerd.Worker = (
  modules = [(name = "bucket.worker.js", esModule = embed "/r2/bucket.worker.js")],
  compatibilityDate = "2023-07-24",
  compatibilityFlags = ["nodejs_compat", "experimental"],
  durableObjectNamespaces = [(className = "{CLASS}", uniqueKey = {key})],
  durableObjectStorage = (localDisk = "{SERVICE}-disk"),
  bindings = [(name = "MINIFLARE_BLOBS", service = "{SERVICE}-disk")],
);
"#
        ),
        extensions: r#"
  extensions = [(modules = [
    (name = "miniflare:shared", esModule = embed "/shared/index.worker.js"),
    (name = "miniflare:zod", esModule = embed "/shared/zod.worker.js"),
  ])],"#
            .to_owned(),
    };
    for (index, bucket) in buckets.iter().enumerate() {
        let (name, service) = (text(&bucket.name)?, text(&service(bucket))?);
        parts.services += &format!("\n    (name = {service}, worker = .bucket{index}),");
        parts.workers += &format!(
            r#"const bucket{index} :Workerd.Worker = (
  modules = [(name = "object-entry.worker.js", esModule = embed "/shared/object-entry.worker.js")],
  compatibilityDate = "2023-07-24",
  bindings = [
    (name = "MINIFLARE_NAMESPACE", text = {name}),
    (name = "MINIFLARE_OBJECT", durableObjectNamespace = (className = "{CLASS}", serviceName = "{SERVICE}")),
  ],
);
"#
        );
    }
    Ok(parts)
}

fn service(bucket: &BucketBinding) -> String {
    format!("bucket-{}", bucket.name)
}
