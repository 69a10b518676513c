//! How many connections each network has. As many entries as connections at most.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::network::{Network, plain};

/// The connections of each network beyond loopback.
pub(crate) struct Crowd {
    most: u32,
    counts: Mutex<HashMap<Network, u32>>,
}

/// A place among the connections of a network, given back when dropped.
pub(crate) struct Seat {
    crowd: Arc<Crowd>,
    network: Option<Network>,
}

impl Crowd {
    pub(crate) fn new(most: u32) -> Self {
        Crowd { most, counts: Mutex::default() }
    }

    /// A place for a client, if its network has one left. Loopback has as many as there are.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let address = plain(address);
        let network = (!address.is_loopback()).then(|| Network::of(address));
        if let Some(network) = network {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(network).or_insert(0);
            if *count >= self.most {
                return None;
            }
            *count += 1;
        }
        Some(Seat { crowd: Arc::clone(self), network })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(network) = self.network else {
            return;
        };
        let mut counts = self.crowd.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_gets_its_places_back_and_loopback_has_no_limit() {
        let crowd = Arc::new(Crowd::new(2));
        let near: IpAddr = [192, 0, 2, 1].into();
        let (one, _two) =
            (crowd.enter(near).expect("room"), crowd.enter([192, 0, 2, 99].into()).expect("room"));
        assert!(crowd.enter(near).is_none());
        let _other = crowd.enter([192, 0, 3, 1].into()).expect("another network");
        drop(one);
        drop(crowd.enter(near).expect("room again"));
        let local: Vec<_> = (0..5).map(|_| crowd.enter([127, 0, 0, 1].into()).expect("no limit")).collect();
        assert_eq!((local.len(), crowd.counts.lock().expect("sound").len()), (5, 2));
    }
}
