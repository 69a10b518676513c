//! The command that `seenit serve` tells people to try: it works as printed, in another terminal and another folder.

use std::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use seenit_server::operator;

/// The server that a client asks which was told nothing.
const DEFAULT_URL: &str = "http://127.0.0.1:8025";

/// `selftest` of this program, of the server at these addresses. `names` are those that the configuration gives it.
pub(super) fn selftest(
    addresses: &[SocketAddr],
    urls: &[String],
    names: &[String],
    token_files: &[PathBuf],
) -> String {
    let mut words = vec![program(), "selftest".to_owned()];
    // One that is plain needs no certificate that this machine trusts.
    let chosen = urls.iter().position(|url| url.starts_with("http:")).unwrap_or(0);
    if let (Some(address), Some(url)) = (addresses.get(chosen), urls.get(chosen)) {
        let url = reachable(*address, url, names);
        if url != DEFAULT_URL {
            words.extend(["--server".to_owned(), quoted(&url)]);
        }
    }
    // The other terminal knows the user's home, and not what this one's environment says.
    if let Some(file) =
        token_files.get(chosen).filter(|file| file.parent() != operator::home_folder().as_deref())
    {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        words.extend(["--token-file".to_owned(), quoted(&file.to_string_lossy())]);
    }
    words.join(" ")
}

/// The URL of a server that a client on this machine can ask: nobody connects to "every address", and a certificate is
/// of a name.
fn reachable(address: SocketAddr, url: &str, names: &[String]) -> String {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    match (url.starts_with("https:"), names.first()) {
        (true, Some(name)) => format!("https://{name}:{}", address.port()),
        (true, None) => format!("https://{}", SocketAddr::new(ip, address.port())),
        (false, _) => format!("http://{}", SocketAddr::new(ip, address.port())),
    }
}

/// How this program is called: by its name where a shell finds it by that, else by its place.
fn program() -> String {
    let called = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let Ok(this) = env::current_exe() else {
        return quoted(&called.to_string_lossy());
    };
    let is_this = |path: &Path| path.canonicalize().ok() == this.canonicalize().ok();
    let name = called.file_name().unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    // The first of that name is the one that a shell runs.
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    let is_found = found.is_some_and(|found| found.is_absolute() && is_this(&found));
    quoted(&if is_found { name.to_string_lossy() } else { this.to_string_lossy() })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_can_be_asked_from_this_machine() {
        let of = |address: &str, scheme: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            reachable(address.parse().expect("an address"), scheme, &names)
        };
        assert_eq!(of("0.0.0.0:1", "http:", &[]), "http://127.0.0.1:1");
        assert_eq!(of("[::]:1", "http:", &["mx.example"]), "http://[::1]:1");
        assert_eq!(of("127.0.0.2:1", "http:", &[]), "http://127.0.0.2:1");
        assert_eq!(of("0.0.0.0:1", "https:", &["mx.example"]), "https://mx.example:1");
        assert_eq!(of("0.0.0.0:1", "https:", &[]), "https://127.0.0.1:1");
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_something_else() {
        assert_eq!(quoted("http://127.0.0.1:1"), "http://127.0.0.1:1");
        assert_eq!(quoted("http://[::1]:1"), "'http://[::1]:1'");
        assert_eq!(quoted("a folder/it's"), r"'a folder/it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
