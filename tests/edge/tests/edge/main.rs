//! The edge Worker before hostile callers, with a bot behind it that writes down what arrives (document 1 sections 4.6
//! and 5, resident supplement 13).

mod bodies;
mod smuggling;
