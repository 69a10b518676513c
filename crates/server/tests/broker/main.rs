//! The broker between sites, with real nats-servers on loopback. Without nats-server, each test says so and is skipped.

#[path = "../../../cli/tests/common/nats.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod nats;

mod cluster;
mod refusals;
mod secure;
mod site;
mod talking;
