//! Result documents, and what they look like in a terminal, in Markdown and as a page.
//!
//! A run is written down as one [`result::Document`] (`spec/result.schema.json` is the same thing in words that every
//! language understands). Everything here starts from such a document, so a report can be made again months later. This
//! crate reads no clock, speaks to no engine and prints nothing: it returns strings.

mod block;
mod content;
pub mod csv;
pub mod history;
pub mod html;
pub mod junit;
pub mod markdown;
mod matrix;
mod pooled;
#[doc(hidden)]
pub mod text;
mod variants;
