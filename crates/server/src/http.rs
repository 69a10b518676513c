//! The HTTP contract of `docs/reference/http.md`.

mod accounts;
mod answer;
mod ask;
pub(crate) mod binary;
mod body;
mod caller;
mod check;
mod connection;
mod counting;
mod deadline;
mod explain;
mod forwarded;
mod guard;
pub(crate) mod json;
pub(crate) mod problem;
pub(crate) mod query;
mod receipt;
mod route;
mod secrets;
mod service;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use connection::Connection;
pub(crate) use service::serve;
