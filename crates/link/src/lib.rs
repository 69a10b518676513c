//! How sites come to agree: what each publishes, applies, repairs and proves.

#![forbid(unsafe_code)]

mod position;
pub mod rows;
pub mod store;

pub use position::Position;
