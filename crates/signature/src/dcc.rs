//! What the dcc clients compute.
