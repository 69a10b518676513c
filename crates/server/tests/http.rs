//! The HTTP contract of docs/reference/http.md, on a real server: every verb, every status, every refusal.

#[path = "http/accounts.rs"]
mod accounts;
#[path = "http/counting.rs"]
mod counting;
#[path = "http/lifecycle.rs"]
mod lifecycle;
#[path = "http/refusals.rs"]
mod refusals;
#[path = "http/site.rs"]
mod site;
#[path = "http/tls.rs"]
mod tls;
#[path = "http/verbs.rs"]
mod verbs;
