//! What anonymous clients saw: those beyond this machine without an account, whose addresses can be forged.
//!
//! One datagram proves nothing, and neither do a million of them. So what they say is kept apart from what is
//! counted: for each signature, how many client networks said that they got it, each once, whatever number of
//! recipients it names. It makes a reason and never a verdict. It is not journalled, other sites are not told, and it
//! takes as much memory as this table: who floods it displaces what they said, and nothing else.

use std::sync::{Mutex, MutexGuard, PoisonError};

use seenit_filter::hash::{Hash128, SipKey};

/// Client networks from which a reason says what anonymous clients saw. Fewer are what forging a handful of datagrams
/// gives.
pub const ANONYMOUS_NETWORKS_MIN: u32 = 8;

/// Places for signatures in one bucket.
const WAYS: usize = 8;

/// Buckets: room for 32,768 signatures, in 0.8 MB.
const BUCKETS: usize = 1 << 12;

/// Generations that a signature is remembered for: the one in which it was first seen, and the next.
const KEPT: u64 = 2;

/// A client network: the address of an IPv4 /24 or an IPv6 /56, as the server limits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientNetwork(pub std::net::Ipv6Addr);

/// What anonymous clients saw.
pub(crate) struct AnonymousSightings {
    buckets: Box<[Mutex<[Sighted; WAYS]>]>,
}

/// One signature, and the networks that got it: each is one of 64 bits, by a hash that nobody can predict. Two networks
/// may share a bit, so the number of bits is never above that of networks.
#[derive(Clone, Copy, Default)]
struct Sighted {
    hash: u64,
    generation: u64,
    networks: u64,
}

impl Sighted {
    fn is_of(&self, generation: u64) -> bool {
        self.networks != 0 && self.generation <= generation && generation < self.generation + KEPT
    }
}

impl AnonymousSightings {
    pub(crate) fn new() -> Self {
        AnonymousSightings { buckets: (0..BUCKETS).map(|_| Mutex::default()).collect() }
    }

    fn bucket(&self, hash: Hash128) -> MutexGuard<'_, [Sighted; WAYS]> {
        let bucket = &self.buckets[hash.hi as usize % self.buckets.len()];
        bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody of a network says that they got a message with this signature.
    pub(crate) fn see(&self, sip: &SipKey, generation: u64, hash: Hash128, network: ClientNetwork) {
        let ClientNetwork(address) = network;
        let named = [&hash.lo.to_le_bytes()[..], &hash.hi.to_le_bytes(), &address.octets()].concat();
        let bit = 1 << (sip.hash_bytes(&named).lo % u64::from(u64::BITS));
        let mut bucket = self.bucket(hash);
        let known = bucket.iter().position(|one| one.hash == hash.lo && one.is_of(generation));
        // What is too old goes first, then what the fewest networks saw.
        let least = |one: &Sighted| if one.is_of(generation) { one.networks.count_ones() } else { 0 };
        let place = known.or_else(|| (0..WAYS).min_by_key(|&place| least(&bucket[place]))).unwrap_or(0);
        if known.is_none() {
            bucket[place] = Sighted { hash: hash.lo, generation, networks: 0 };
        }
        bucket[place].networks |= bit;
    }

    /// How many networks of anonymous clients got a message with this signature, at least.
    pub(crate) fn networks(&self, generation: u64, hash: Hash128) -> u32 {
        let bucket = self.bucket(hash);
        let known = bucket.iter().find(|one| one.hash == hash.lo && one.is_of(generation));
        known.map_or(0, |one| one.networks.count_ones())
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.buckets.len() * size_of::<Mutex<[Sighted; WAYS]>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u128) -> ClientNetwork {
        ClientNetwork(std::net::Ipv6Addr::from_bits(number << 72))
    }

    fn hash(number: u64) -> Hash128 {
        Hash128 { lo: number.wrapping_mul(0x9e37_79b9_7f4a_7c15), hi: number }
    }

    #[test]
    fn a_network_counts_once_and_never_more_networks_than_there_are() {
        let seen = AnonymousSightings::new();
        let sip = SipKey::new([7; 16]);
        (0..1000).for_each(|_| seen.see(&sip, 5, hash(1), network(1)));
        assert_eq!(seen.networks(5, hash(1)), 1);
        (0..20).for_each(|number| seen.see(&sip, 5, hash(1), network(number)));
        assert!((ANONYMOUS_NETWORKS_MIN..=20).contains(&seen.networks(5, hash(1))));
        assert_eq!(seen.networks(5, hash(2)), 0);
    }

    #[test]
    fn sightings_are_forgotten_after_two_generations() {
        let seen = AnonymousSightings::new();
        let sip = SipKey::new([7; 16]);
        seen.see(&sip, 5, hash(1), network(1));
        let networks = [4, 5, 6, 7].map(|generation| seen.networks(generation, hash(1)));
        assert_eq!(networks, [0, 1, 1, 0]);
    }

    #[test]
    fn a_flood_of_signatures_displaces_those_that_fewest_networks_saw() {
        let seen = AnonymousSightings::new();
        let sip = SipKey::new([7; 16]);
        (0..30).for_each(|number| seen.see(&sip, 5, hash(1), network(number)));
        (2..200_000).for_each(|number| seen.see(&sip, 5, hash(number), network(1)));
        assert!(seen.networks(5, hash(1)) >= ANONYMOUS_NETWORKS_MIN);
        assert!(seen.memory_bytes() < 1 << 20);
    }
}
