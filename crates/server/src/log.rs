//! Logs: to standard error, as text or as JSON. Message text is never logged, digests from `debug` on.

use std::sync::OnceLock;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, registry};

use crate::config::{Format, Level, Log};

/// What our own crates' names begin with.
const OWN: &str = "seenit";

/// How much is logged, once logging has begun.
static WANTED: OnceLock<Handle<Targets, Registry>> = OnceLock::new();

/// Starts logging for the whole process. Later calls change nothing.
pub fn init(log: &Log) {
    let (wanted, handle) = reload::Layer::new(wanted(log.level));
    let layer = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let started = match log.format {
        Format::Text => registry().with(layer.with_ansi(false).with_filter(wanted)).try_init(),
        Format::Json => registry().with(layer.json().with_filter(wanted)).try_init(),
    };
    // Somebody else logs already: a test, or a program that has the server inside.
    if started.is_ok() {
        WANTED.get_or_init(|| handle);
    }
}

/// Logs more or less from now on, where [`init`] has begun it.
pub(crate) fn set_level(level: Level) {
    if let Some(handle) = WANTED.get() {
        // It fails only where nobody logs any more.
        let _ = handle.reload(wanted(level));
    }
}

fn wanted(level: Level) -> Targets {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    // Who runs mail wants to know what the site does, not what its parts are busy with.
    let of_others = if level == LevelFilter::INFO { LevelFilter::WARN } else { level };
    Targets::new().with_default(of_others).with_target(OWN, level)
}
