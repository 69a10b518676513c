//! What the rspamd clients compute.
