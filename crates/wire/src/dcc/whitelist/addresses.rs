//! Addresses of a whitelist: one, a block, or a range.

use std::net::{IpAddr, Ipv6Addr};

use super::Reason;

/// Addresses from one to another, both included, and of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Addresses {
    first: IpAddr,
    last: IpAddr,
}

impl Addresses {
    /// Each address becomes a checksum, so a block of IPv4 is a /16 at the most, as it is for DCC's own server.
    pub const COUNT_MAX: u32 = 1 << 16;

    /// Reads `192.0.2.1`, `192.0.2.0/24`, `192.0.2.1-192.0.2.9`, or the same of IPv6.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        let wrong = || Reason::Addresses(text.to_owned());
        let address = |text: &str| text.trim().parse::<IpAddr>().ok();
        let addresses = match (text.split_once('/'), text.split_once('-')) {
            (Some((base, bits)), _) => {
                address(base).zip(bits.trim().parse().ok()).and_then(|(base, bits)| Self::block(base, bits))
            }
            (None, Some((first, last))) => {
                address(first).zip(address(last)).map(|(first, last)| Self { first, last })
            }
            (None, None) => address(text).map(|address| Self { first: address, last: address }),
        };
        let addresses = addresses.ok_or_else(wrong)?;
        let count = addresses.last_less_first().ok_or_else(wrong)?;
        if count >= u128::from(Self::COUNT_MAX) {
            return Err(Reason::TooManyAddresses(text.to_owned()));
        }
        Ok(addresses)
    }

    /// The block that an address is in. Bits of the address beyond the block's do not matter.
    fn block(base: IpAddr, bits: u32) -> Option<Self> {
        let width: u32 = if base.is_ipv4() { 32 } else { 128 };
        let within = u128::MAX.checked_shr(128 - width.checked_sub(bits)?).unwrap_or(0);
        let number = number(base);
        Some(Self { first: like(base, number & !within), last: like(base, number | within) })
    }

    /// One less than how many there are, or nothing if it is no range.
    fn last_less_first(self) -> Option<u128> {
        (self.first.is_ipv4() == self.last.is_ipv4()).then_some(())?;
        number(self.last).checked_sub(number(self.first))
    }

    /// Each of them as clients hash it.
    pub(super) fn numbers(self) -> impl Iterator<Item = u128> {
        number(self.first)..=number(self.last)
    }

    /// Each of them. At most [`Addresses::COUNT_MAX`].
    pub fn iter(self) -> impl Iterator<Item = IpAddr> {
        self.numbers().map(move |number| like(self.first, number))
    }
}

/// The address as DCC's clients hash it: one of IPv4 as the one of IPv6 that stands for it.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn like(family: IpAddr, number: u128) -> IpAddr {
    let address = Ipv6Addr::from_bits(number);
    match address.to_ipv4_mapped() {
        Some(address) if family.is_ipv4() => IpAddr::V4(address),
        _ => IpAddr::V6(address),
    }
}
