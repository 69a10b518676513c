//! Trust: what a reporter's word weighs, and how that changes.

/// The most points a word weighs.
pub const POINTS_MAX: u8 = 10;
