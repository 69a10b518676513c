//! Who asks, where a proxy says so.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::FORWARDED;

use super::connection::Connection;
use super::problem::Problem;
use crate::backend::Backend;
use crate::network::plain;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// Fields that only proxies add: whoever sends one came through a proxy, or wants us to believe it. Names that end in a
/// hyphen stand for all that begin with them.
const MARKS: [&str; 9] = [
    "forwarded",
    "x-forwarded-",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "fastly-client-ip",
];

/// Proxies that a request may have gone through: longer chains are somebody playing.
const HOPS_MAX: usize = 16;

/// The client behind a proxy. `None` where the connection is the client.
///
/// The addresses are read from the end, where the proxy next to us wrote; the first that is no trusted proxy is the
/// client. Headers of anybody else are refused, not ignored: a proxy that nobody told us of would be taken for the
/// client, and if it is on this machine, for a local one. An address is taken from Forwarded or X-Forwarded-For alone:
/// the other fields may be the client's own, handed on.
pub(crate) fn client(
    backend: &Backend,
    connection: &Connection,
    headers: &HeaderMap,
) -> Result<Option<IpAddr>, Problem> {
    let Some(name) = headers.keys().find(|name| is_mark(name.as_str())) else {
        return Ok(None);
    };
    if !backend.is_trusted_proxy(connection.address) {
        let why = format!("{name} is only taken from trusted_proxies, and {} is none", connection.address);
        return Err(refused(why));
    }
    let mut hops = hops(headers)?;
    hops.reverse();
    let client = hops.iter().copied().find(|address| !backend.is_trusted_proxy(*address));
    Ok(client.or(hops.last().copied()))
}

fn is_mark(name: &str) -> bool {
    MARKS.iter().any(|mark| if mark.ends_with('-') { name.starts_with(mark) } else { name == *mark })
}

fn hops(headers: &HeaderMap) -> Result<Vec<IpAddr>, Problem> {
    let standard = values(headers, FORWARDED.as_str())?;
    let common = values(headers, X_FORWARDED_FOR)?;
    let hops: Option<Vec<IpAddr>> = match (standard.is_empty(), common.is_empty()) {
        (false, false) => {
            return Err(refused("Forwarded and X-Forwarded-For are both there: which is true?"));
        }
        (false, true) => standard.iter().map(|hop| standard_hop(hop)).collect(),
        (true, _) => common.iter().map(|hop| address(hop)).collect(),
    };
    match hops {
        Some(hops) if hops.len() <= HOPS_MAX => Ok(hops),
        Some(hops) => Err(refused(format!("{} proxies are more than {HOPS_MAX}", hops.len()))),
        None => Err(refused("a forwarded address is not readable")),
    }
}

fn values(headers: &HeaderMap, name: &str) -> Result<Vec<String>, Problem> {
    let mut values = Vec::new();
    for value in headers.get_all(name) {
        let text = value.to_str().map_err(|_| refused(format!("{name} is no text")))?;
        values.extend(text.split(',').map(|one| one.trim().to_owned()));
    }
    Ok(values)
}

/// The address in `for=192.0.2.1;proto=https`.
fn standard_hop(hop: &str) -> Option<IpAddr> {
    let mut pairs = hop.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    address(value.trim_matches('"'))
}

/// An address, with or without brackets and port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let parsed = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|socket| socket.ip()));
    parsed.ok().map(plain)
}

fn refused(why: impl Into<String>) -> Problem {
    Problem::new(hyper::StatusCode::BAD_REQUEST, "forwarded", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_spelling() {
        let v4: IpAddr = [192, 0, 2, 1].into();
        let v6: IpAddr = "2001:db8::1".parse().expect("an address");
        for text in ["192.0.2.1", "192.0.2.1:80", "::ffff:192.0.2.1"] {
            assert_eq!(address(text), Some(v4), "{text}");
        }
        for text in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80"] {
            assert_eq!(address(text), Some(v6), "{text}");
        }
        assert_eq!(standard_hop("proto=https; For=\"[2001:db8::1]:80\""), Some(v6));
        assert_eq!(
            (standard_hop("for=unknown"), standard_hop("proto=http"), address("")),
            (None, None, None)
        );
    }
}
