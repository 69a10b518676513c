//! The protocol of Razor.
