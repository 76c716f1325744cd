//! `OpenAI` and compatible servers (Ollama, vLLM, llama.cpp) through genai's Chat Completions.
//!
//! Effort and cache control are not sent, PDFs become a note, and images in tool results move to
//! the next user message. Reasoning is discarded, because servers disagree on how to accept it
//! back.

mod client;
mod request;

pub(super) use client::DEFAULT_BASE_URL;
pub use client::OpenAi;
