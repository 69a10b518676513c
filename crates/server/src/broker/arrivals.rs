//! What arrived and was not taken yet: a queue bounded in number and in bytes, so that whoever takes from it can take
//! hundreds of small messages at once, and large ones do not fill the memory.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use super::Arrived;

/// Things that wait: as many as one commit should take in.
const ITEMS_MAX: usize = 1024;

/// Bytes of them: some sixty of the largest messages.
const BYTES_MAX: u32 = 32 << 20;

/// The broker is not needed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody takes what arrives")]
pub struct Gone;

/// Where things arrive.
#[derive(Clone, Debug)]
pub(super) struct Arriving {
    queue: mpsc::Sender<Arrived>,
    room: Arc<Semaphore>,
}

/// What arrived.
#[derive(Debug)]
pub struct Arrivals {
    queue: mpsc::Receiver<Arrived>,
    room: Arc<Semaphore>,
}

/// A queue.
pub(super) fn queue() -> (Arriving, Arrivals) {
    let (sender, receiver) = mpsc::channel(ITEMS_MAX);
    let room = Arc::new(Semaphore::new(BYTES_MAX as usize));
    (Arriving { queue: sender, room: Arc::clone(&room) }, Arrivals { queue: receiver, room })
}

/// What something counts for. One that is larger than the room waits until nothing else is there.
fn bytes_of(arrived: &Arrived) -> u32 {
    let bytes = match arrived {
        Arrived::Bytes { bytes, .. } => bytes.len(),
        Arrived::Object { bytes, .. } => bytes.as_ref().map_or(0, Vec::len),
        _ => 0,
    };
    u32::try_from(bytes).unwrap_or(u32::MAX).min(BYTES_MAX)
}

impl Arriving {
    /// Waits for room.
    pub(super) async fn send(&self, arrived: Arrived) -> Result<(), Gone> {
        let room = self.room.acquire_many(bytes_of(&arrived)).await.map_err(|_| Gone)?;
        // Whoever takes it gives the room back.
        room.forget();
        self.queue.send(arrived).await.map_err(|_| Gone)
    }
}

impl Arrivals {
    /// The next, as soon as there is one; nothing when the broker has ended.
    pub async fn recv(&mut self) -> Option<Arrived> {
        let arrived = self.queue.recv().await;
        self.taken(arrived)
    }

    /// The next, if it is there.
    pub fn try_recv(&mut self) -> Option<Arrived> {
        let arrived = self.queue.try_recv().ok();
        self.taken(arrived)
    }

    fn taken(&self, arrived: Option<Arrived>) -> Option<Arrived> {
        arrived.inspect(|arrived| self.room.add_permits(bytes_of(arrived) as usize))
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn of(length: usize) -> Arrived {
        Arrived::Bytes { bytes: Bytes::from(vec![0; length]), reply: None, place: None }
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_and_goes_on_when_something_is_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (arriving, mut arrivals) = queue();
            for _ in 0..4 {
                arriving.send(of(BYTES_MAX as usize / 4)).await.expect("room");
            }
            let mut next = std::pin::pin!(arriving.send(of(1)));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(next.as_mut().poll(&mut context).is_pending(), "there is no room");
            assert!(arrivals.try_recv().is_some());
            next.await.expect("room again");
            // What is larger than all the room is let in alone.
            while arrivals.try_recv().is_some() {}
            arriving.send(of(BYTES_MAX as usize + 1)).await.expect("room");
            assert!(arrivals.recv().await.is_some());
            drop(arrivals);
            assert_eq!(arriving.send(of(1)).await, Err(Gone));
        });
    }
}
