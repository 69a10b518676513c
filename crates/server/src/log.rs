//! Logs: to standard error, as text or as JSON. Message text is never logged, digests from `debug` on.

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::config::{Format, Level, Log};

/// Starts logging for the whole process. Later calls change nothing.
pub fn init(log: &Log) {
    let level = match log.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let builder = fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    let started = match log.format {
        Format::Text => builder.with_ansi(false).try_init(),
        Format::Json => builder.json().try_init(),
    };
    // Somebody else logs already: a test, or a program that has the server inside.
    let _ = started;
}
