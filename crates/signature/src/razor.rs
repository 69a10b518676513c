//! What the razor clients compute.
