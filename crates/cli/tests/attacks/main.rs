//! Attacks on a running site, one module each. Every test mounts an attack that once worked, on the real program, and
//! shows that what it does is bounded by a number. `docs/design/threat-model.md` names each of them.

#[path = "../common/mod.rs"]
mod common;
#[path = "../fuzzy/client.rs"]
mod fuzzy;

mod browsers;
mod clearing;
mod counting;
mod deadline;
mod descriptors;
mod files;
mod flood;
mod memory;
mod neighbours;
mod parts;
mod peer;
mod proxies;
mod reflection;
mod secrets;
mod tally;
mod trust;
mod users;
