//! The wire protocols of the clients that are installed already: bytes in, requests out, and back.
//!
//! One module a protocol. None of them reads a socket, a clock or a file, none of them panics on any bytes, and none of
//! them knows what a request means: that is the server's.

#![forbid(unsafe_code)]
#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod dcc;
pub mod fuzzy;
pub mod pyzor;
pub mod razor;
