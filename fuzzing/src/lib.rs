//! What the fuzz targets do with their input. The files in `targets/` only tie it to libFuzzer.

pub mod canary;
mod case;
pub mod config;
mod counting;
pub mod cpu;
pub mod dcc;
pub mod delta;
pub mod forge;
pub mod format;
pub mod fuzzy;
pub mod http;
pub mod mailbox;
mod model;
pub mod operations;
pub mod pyzor;
pub mod razor;
pub mod record;
pub mod sightings;
pub mod sign;
pub mod sites;
mod subject;

pub use case::Case;
