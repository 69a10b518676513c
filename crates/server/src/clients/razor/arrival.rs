//! A request on its way: the memory that it takes, and until when it must be whole.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SILENCE;
use crate::backend::Backend;
use crate::connections::{Doing, Guest};
use crate::memory::{Hold, Holder};

/// What has come of the next request of a connection.
pub(super) struct Arrival {
    backend: Arc<Backend>,
    guest: Arc<Guest>,
    /// When it began, and what it holds.
    begun: Option<(Instant, Hold)>,
}

impl Arrival {
    pub(super) fn new(backend: Arc<Backend>, guest: Arc<Guest>) -> Self {
        Arrival { backend, guest, begun: None }
    }

    /// How long the next bytes are waited for: a request that has begun must be whole in time, as a body of HTTP must.
    pub(super) fn patience(&self) -> Duration {
        let time = Duration::from_secs(self.backend.config.http.body_secs);
        let left = self.begun.as_ref().map(|(began, _)| time.saturating_sub(began.elapsed()));
        left.map_or(SILENCE, |left| left.min(SILENCE))
    }

    /// So many bytes of the request have come by now.
    pub(super) async fn goes_on(&mut self, bytes: usize, holder: impl FnOnce() -> Holder) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.guest.set(Doing::Sending);
        let begin = || (Instant::now(), self.backend.memory.hold(holder(), &self.guest));
        let (_, hold) = self.begun.get_or_insert_with(begin);
        // A mail is put together once more to be signed.
        hold.make_room(2 * bytes).await.map_err(io::Error::other)
    }

    /// The request is answered.
    pub(super) fn ends(&mut self) {
        self.begun = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::clients::tests::{Office, abroad};
    use crate::network::Network;

    #[test]
    fn a_mail_that_never_ends_has_its_time_and_its_share_of_the_memory() {
        run(async {
            let backend = Arc::clone(&Office::open().desk.backend);
            let guest = Arc::new(Guest::new(abroad().ip()));
            let holder = || Holder::Network(Network::of(abroad().ip()));
            let mut arrival = Arrival::new(Arc::clone(&backend), Arc::clone(&guest));
            assert_eq!(arrival.patience(), SILENCE, "nothing has come");
            arrival.goes_on(100 << 10, holder).await.expect("room");
            assert!(backend.memory.held_bytes() >= 184 << 10, "both copies, but for what is free");
            assert!(guest.can_be_spared(), "whoever needs the room can have it");
            let time = Duration::from_secs(backend.config.http.body_secs);
            let began = Instant::now().checked_sub(time).expect("the machine runs for longer");
            arrival.begun.as_mut().expect("begun").0 = began;
            assert_eq!(arrival.patience(), Duration::ZERO);
            arrival.ends();
            assert_eq!((arrival.patience(), backend.memory.held_bytes()), (SILENCE, 0));
        });
    }
}
