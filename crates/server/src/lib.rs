//! How a site is asked: HTTP, accounts, limits, TLS, metrics.
//!
//! ```no_run
//! use seenit_server::{Config, Server};
//!
//! let config = Config::default();
//! let server = Server::new(config, "seenit-data").hear_signals();
//! let mut running = server.start().expect("a free port and a folder to write to");
//! println!("listening on {:?}", running.addresses());
//! running.wait_for_signal();
//! running.shutdown();
//! ```
//!
//! A request goes straight through: `listen` (sockets, TLS, time limits) -> `http::service` (who asks, may they) ->
//! `http::route` -> one module a family of verbs -> the ledger. `docs/reference/http.md` is the contract.

// Tests of the crate's inside use the same client as those of its outside.
#[cfg(test)]
extern crate self as seenit_server;

pub mod accounts;
mod alarms;
mod audit;
mod backend;
pub mod broker;
mod clients;
pub mod config;
mod connections;
mod descriptors;
pub mod dumps;
mod error;
#[doc(hidden)]
pub mod fuzzed;
mod http;
mod limits;
mod link;
mod listen;
pub mod log;
mod memory;
mod metrics;
#[cfg(test)]
mod modules_tests;
mod network;
pub mod operator;
mod owner;
pub mod reload;
pub mod secrets;
mod server;
mod signals;
mod tls;
pub mod token;
mod whitelist;
mod who;

pub use clients::ClientAddresses;
pub use config::Config;
pub use error::StartError;
pub use link::LinkError;
pub use seenit_ledger::private::PrivateError;
pub use server::{Running, Server};
pub use tls::TlsError;
pub use whitelist::ListError;
