//! What is refused before anybody asks who it is: requests for another host, and requests that a web page made.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Request, StatusCode};
use seenit_filter::readable;

use super::connection::Connection;
use super::problem::Problem;
use crate::backend::Backend;

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Fields of a head. Browsers send about 20.
const FIELDS_MAX: usize = 64;

/// Bytes of a head: a long token, a long query, and what browsers send take under 8 KiB.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// Refuses what is not for us. A page from elsewhere can make a browser on this machine send requests here: its name
/// leads to this address (Host gives it away) or it is honest about where it comes from (Origin, Sec-Fetch-Site).
pub(crate) fn check<B>(
    backend: &Backend,
    connection: &Connection,
    request: &Request<B>,
) -> Result<(), Problem> {
    check_head(request)?;
    let host = host(request)?;
    if !is_ours(backend, connection, name_of(host)) {
        let why = format!("{host:?} is not this server; its names are `localhost` and those in http.names");
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "wrong-host", why));
    }
    check_origin(request.headers(), host)
}

fn check_head<B>(request: &Request<B>) -> Result<(), Problem> {
    let headers = request.headers();
    let path_bytes = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let field_bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() <= FIELDS_MAX && path_bytes + field_bytes <= HEAD_BYTES_MAX {
        return Ok(());
    }
    let why =
        format!("a head has at most {FIELDS_MAX} fields and {}", readable::bytes(HEAD_BYTES_MAX as u64));
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "large-head", why))
}

fn host<B>(request: &Request<B>) -> Result<&str, Problem> {
    let missing = || Problem::new(StatusCode::MISDIRECTED_REQUEST, "wrong-host", "there is no readable Host");
    let mut hosts = request.headers().get_all(HOST).iter();
    let header = hosts.next().and_then(|host| host.to_str().ok());
    if hosts.next().is_some() {
        return Err(missing());
    }
    // A request line with a whole URL counts before the header.
    request.uri().authority().map(|authority| authority.as_str()).or(header).ok_or_else(missing)
}

/// The host without its port, and an IPv6 address without its brackets.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    host.split(':').next().unwrap_or(host)
}

/// At loopback only its own names are ours. Elsewhere every address is: it takes a name to lead a browser astray.
fn is_ours(backend: &Backend, connection: &Connection, name: &str) -> bool {
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match name.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || !connection.is_at_loopback,
        Err(_) => backend.live().config.http.names.iter().any(|known| known.eq_ignore_ascii_case(name)),
    }
}

fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let is_own = |origin: &HeaderValue| {
        let text = origin.to_str().unwrap_or_default();
        text.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
    };
    let is_own_site = |site: &HeaderValue| site == "same-origin" || site == "none";
    let origins_fit = headers.get_all(ORIGIN).iter().all(is_own);
    if origins_fit && headers.get_all(SEC_FETCH_SITE).iter().all(is_own_site) {
        Ok(())
    } else {
        let why = "a page of another site made this request; seenit is not for those";
        Err(Problem::new(StatusCode::FORBIDDEN, "cross-site", why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_out_of_hosts() {
        for (host, name) in [
            ("localhost", "localhost"),
            ("localhost:8025", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:8025", "::1"),
            ("[::1]", "::1"),
            ("[::1", "::1"),
            ("", ""),
            (":80", ""),
        ] {
            assert_eq!(name_of(host), name, "{host}");
        }
    }
}
