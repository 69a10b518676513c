//! Reporters: who says something, and what their word weighs.

use serde::{Deserialize, Serialize};

/// A reporter's number in records. Numbers are never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReporterId(pub u32);

/// The built-in account of clients on this machine that cannot carry a token.
pub const LOCAL: ReporterId = ReporterId(1);

/// Whoever holds the operator token.
pub const OPERATOR: ReporterId = ReporterId(2);

/// A reporter, its weight, and how it came by it: see `trust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reporter {
    /// Its number.
    pub id: ReporterId,
    /// Its name.
    pub name: String,
    /// Points that its word weighs.
    pub weight: u8,
    /// Whether an operator chose the weight, and no rule changes it.
    pub fixed: bool,
    /// Words that a trusted reporter later said, too.
    pub confirmed: u64,
    /// Words that a trusted reporter later contradicted.
    pub refuted: u64,
    /// Records in all.
    pub records: u64,
}

impl ReporterId {
    /// Whether it is one of the built-in accounts of this machine.
    pub fn is_local(self) -> bool {
        self == LOCAL || self == OPERATOR
    }
}
