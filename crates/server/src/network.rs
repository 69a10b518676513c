//! Networks: what limits take for one client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use seenit_ledger::ClientNetwork;

/// Whoever has one address of an IPv4 network of this length has them all.
const V4_BITS: u32 = 24;

/// Providers give a customer a /56 or more: a /64 would be 256 clients for each of them.
const V6_BITS: u32 = 56;

/// An IPv4 /24 or an IPv6 /56.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    /// The network of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Network(match plain(address) {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << (32 - V4_BITS)))),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << (128 - V6_BITS)))),
        })
    }
}

impl From<Network> for ClientNetwork {
    fn from(network: Network) -> Self {
        ClientNetwork(match network.0 {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        })
    }
}

/// An IPv4 address inside IPv6 is an IPv4 address.
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Network {
        Network::of(text.parse().expect("an address"))
    }

    #[test]
    fn neighbours_are_one_client_and_others_are_not() {
        assert_eq!(of("192.0.2.1"), of("192.0.2.254"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.77"));
        assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
        assert_eq!(of("2001:db8:0:1200::1"), of("2001:db8:0:12ff:1::2"));
        assert_ne!(of("2001:db8:0:1200::1"), of("2001:db8:0:1300::1"));
    }
}
