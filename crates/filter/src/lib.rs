//! Bloom filters with a stated error.
//!
#![doc = ""]

mod error;
pub mod file;
mod filter;
pub mod hash;
pub mod layout;
pub mod maths;
mod memory;
mod pipeline;
mod shared;
mod simd;
#[cfg(test)]
mod testing;

pub use error::{FormatError, GeometryError, Unlike};
pub use filter::{Fill, Filter, Promise};
pub use layout::{AnyLayout, Flat, Layout, LayoutName, Line, Paged};
pub use memory::{HugePages, PAGE_BITS, PAGE_BYTES, PAGE_WORDS, PageBuf};
pub use shared::SharedFilter;
pub use simd::Simd;
