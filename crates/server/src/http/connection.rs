//! What is known of a connection before anything was asked over it.

use std::net::IpAddr;
use std::sync::Arc;

use crate::backend::Backend;
use crate::connections::{Seat, Unread};
use crate::limits::Budget;
use crate::network::plain;

/// The other end of a connection.
pub(crate) struct Connection {
    pub(crate) address: IpAddr,
    /// Whether the socket it came to is for this machine only.
    pub(crate) is_at_loopback: bool,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) seat: Arc<Seat>,
    /// What it has not taken of its answers.
    pub(crate) unread: Arc<Unread>,
}

impl Connection {
    pub(crate) fn new(backend: &Backend, address: IpAddr, local: IpAddr, seat: Seat) -> Self {
        let address = plain(address);
        let budget = backend.budget(address);
        let is_at_loopback = plain(local).is_loopback();
        Connection { address, is_at_loopback, budget, seat: Arc::new(seat), unread: Arc::default() }
    }
}
