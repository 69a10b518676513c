//! Connections of clients: which of them make room for others, and what they have not read of their answers.

mod crowd;
mod unread;

#[cfg(test)]
pub(crate) use crowd::now_millis;
pub(crate) use crowd::{Crowd, Doing, Guest, Seat, UNREAD_MILLIS};
pub(crate) use unread::{Unread, Watched};
