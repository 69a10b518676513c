//! The HTTP contract of `docs/reference/http.md`.

mod accounts;
mod answer;
mod ask;
pub(crate) mod binary;
pub(crate) mod blocking;
mod body;
mod check;
mod counting;
mod deadline;
mod explain;
mod forwarded;
mod guard;
mod held;
pub(crate) mod json;
pub(crate) mod pace;
pub(crate) mod problem;
pub(crate) mod query;
mod receipt;
mod route;
mod secrets;
mod service;
mod shared;
mod state;
mod who;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use blocking::Queues;
pub(crate) use held::{Hold, Holder, Memory};
pub(crate) use service::serve;
pub(crate) use shared::Shared;
pub(crate) use state::{Peer, State};

/// Signatures of one check: a second's work of a large site, and a few hundred microseconds of ours.
pub(crate) const SIGNATURES_MAX: usize = 10_000;

/// Cases of one write: more would keep others' writes waiting for its sync.
pub(crate) const CASES_MAX: usize = 1_000;

/// Recipients of one `see`: more than any mail server hands over at once.
pub(crate) use seenit_ledger::RECIPIENTS_MAX;
