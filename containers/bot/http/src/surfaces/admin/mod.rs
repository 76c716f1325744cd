//! The admin routes (document 1 section 4.6, bot supplement 20.2). The restart itself is the edge's, which asks here.

mod authorize;
mod crash;

pub(crate) use authorize::authorize;
pub(crate) use crash::crash;
