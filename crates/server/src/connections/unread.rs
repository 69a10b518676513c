//! Answers that the peer has not read. A connection has one of them at most, for so long at most: the next request
//! waits until the answer before it has been taken, and a peer that takes none is cut off.
//!
//! hyper bounds the bytes of bodies that it holds for a peer, not those of heads, and it reads the next request while
//! the last answer is still waiting. So this stands on both sides of it: below, where bytes are written, and above,
//! where requests are answered ([`Unread::taken`]).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

/// Whether the peer of a connection has taken all that was written for it.
#[derive(Default)]
pub(crate) struct Unread {
    is_some: AtomicBool,
    taken: Notify,
}

impl Unread {
    /// Returns once the peer has taken everything.
    pub(crate) async fn taken(&self) {
        while self.is_some.load(Relaxed) {
            self.taken.notified().await;
        }
    }
}

/// A stream whose peer must take what is written within a time.
pub(crate) struct Watched<S> {
    stream: S,
    unread: Arc<Unread>,
    time: Duration,
    /// When the peer must have taken everything, once something has had to wait for it.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S, unread: Arc<Unread>, time: Duration) -> Self {
        Watched { stream, unread, time, deadline: None }
    }

    /// What becomes of something that has to wait for the peer: the time limit, if it has passed.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.unread.is_some.store(true, Relaxed);
        let end = Instant::now() + self.time;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read its answers")))
    }

    fn all_is_taken(&mut self) {
        self.deadline = None;
        if self.unread.is_some.swap(false, Relaxed) {
            self.unread.taken.notify_one();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Pending => self.wait(cx),
            written => written,
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(cx, slices) {
            Poll::Pending => self.wait(cx),
            written => written,
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes once it holds nothing any more.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Pending => self.wait(cx),
            flushed => {
                self.all_is_taken();
                flushed
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_shutdown(cx) {
            Poll::Pending => self.wait(cx),
            ended => ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime").block_on(test);
    }

    #[test]
    fn what_is_not_read_is_waited_for_and_not_for_ever() {
        run(async {
            let (ours, mut peer) = tokio::io::duplex(16);
            let unread = Arc::new(Unread::default());
            let mut watched = Watched::new(ours, Arc::clone(&unread), Duration::from_millis(100));
            watched.write_all(&[0; 16]).await.expect("room");
            watched.flush().await.expect("nothing waits");
            unread.taken().await;
            let reads = tokio::spawn(async move {
                let mut bytes = [0; 32];
                peer.read_exact(&mut bytes).await.expect("all of it");
                peer
            });
            watched.write_all(&[0; 16]).await.expect("room again");
            watched.flush().await.expect("taken");
            unread.taken().await;
            let _reads_no_more = reads.await.expect("no panic");
            let error = watched.write_all(&[0; 17]).await.expect_err("it cannot wait for ever");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(unread.is_some.load(Relaxed));
        });
    }
}
