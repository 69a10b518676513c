//! A progress bar for work that takes longer than a second, on standard error, on a terminal only.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar: it would only flicker.
const QUIET: Duration = Duration::from_secs(1);

pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Progress {
    /// `total` units of `what`; `None` when nobody knows how many.
    pub(crate) fn new(what: impl Into<Cow<'static, str>>, total: Option<u64>) -> Self {
        match total {
            Some(_) => Progress::drawn(
                what,
                total,
                "{msg} {wide_bar} {human_pos}/{human_len} {percent} % {eta} left",
            ),
            None => Progress::drawn(what, total, "{msg} {spinner} {human_pos} in {elapsed}"),
        }
    }

    /// The same of bytes. None in all says that nobody knows how many.
    pub(crate) fn of_bytes(what: impl Into<Cow<'static, str>>, total: u64) -> Self {
        match total {
            0 => Progress::drawn(what, None, "{msg} {spinner} {binary_bytes} in {elapsed}"),
            _ => Progress::drawn(
                what,
                Some(total),
                "{msg} {wide_bar} {binary_bytes} of {binary_total_bytes} {eta} left",
            ),
        }
    }

    fn drawn(what: impl Into<Cow<'static, str>>, total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress { bar, started: Instant::now(), shown: false }
    }

    /// Says what is being done, before the bar.
    pub(crate) fn tell(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }

    /// `done` units more.
    pub(crate) fn advance(&mut self, done: u64) {
        if !self.shown && self.started.elapsed() > QUIET {
            self.shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(done);
    }

    /// Takes the bar away, because the work is done.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints something while the bar stands aside.
    pub(crate) fn around<T>(&self, print: impl FnOnce() -> T) -> T {
        if self.shown { self.bar.suspend(print) } else { print() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
