//! The protocol of rspamd's fuzzy hashes.
