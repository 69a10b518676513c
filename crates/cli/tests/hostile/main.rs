//! Guards that no bytes from the network harm a site: random and mutated requests of every client's protocol by the
//! hundred thousand, after which it still answers, holds what it held, and has not grown. `SEENIT_LONG=1` sends twenty
//! times as many.

#[path = "../fuzzy/client.rs"]
mod client;
#[path = "../common/mod.rs"]
mod common;
mod conversation;
mod datagrams;
mod dcc;
mod dice;
mod fuzzy;
mod pyzor;
mod razor;
mod siege;
