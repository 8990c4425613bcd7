//! Result documents to terminal text, Markdown and HTML.
