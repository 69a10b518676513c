//! Which server, and by whose token: options, then the environment, then what a server of this machine left.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use clap::Args;
use seenit_server::operator;
use ureq::http::Uri;

use super::{bare_host, is_loopback};
use crate::problem::Problem;

/// Where `serve` keeps its data unless told otherwise.
pub(crate) const DATA_FOLDER: &str = "seenit-data";

/// The configuration of a server, unless told otherwise.
pub(crate) const CONFIG_FILE: &str = "seenit.toml";

/// Which server is asked, and by whom.
#[derive(Args, Clone)]
pub(crate) struct ServerArgs {
    /// The server to ask
    #[arg(long, value_name = "URL", env = "SEENIT_SERVER", default_value = "http://127.0.0.1:8025")]
    server: String,
    /// A file with the token of an account [default: the token in SEENIT_TOKEN; for a server on this machine the
    /// operator's token, which `serve` wrote]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file with the server's certificate or its certificate authority, to trust in addition to the system's
    #[arg(long, value_name = "FILE", env = "SEENIT_CA")]
    ca: Option<PathBuf>,
}

/// A server's address that makes sense.
pub(super) struct Url {
    text: String,
    uri: Uri,
}

impl Url {
    /// Without a slash at its end.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether what is sent there can be read on the way.
    pub(super) fn is_plain(&self) -> bool {
        self.uri.scheme_str() == Some("http")
    }

    pub(super) fn is_loopback(&self) -> bool {
        is_loopback(&self.uri)
    }

    pub(super) fn host(&self) -> Option<&str> {
        bare_host(&self.uri)
    }

    /// The addresses of this machine that the host stands for, in the order in which they are asked.
    fn addresses(&self) -> Vec<IpAddr> {
        let host = self.host().unwrap_or_default();
        let named = (host, self.port()).to_socket_addrs().into_iter().flatten();
        let found: Vec<IpAddr> =
            named.map(|at| at.ip()).filter(|ip| ip.to_canonical().is_loopback()).collect();
        // A machine that cannot look up `localhost` still has it.
        let known = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        if found.is_empty() { known.to_vec() } else { found }
    }

    fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.is_plain() { 80 } else { 443 })
    }
}

impl ServerArgs {
    pub(super) fn url(&self) -> Result<Url, Problem> {
        let wrong = |why: &str| Problem::Server { server: self.server.clone(), why: why.to_owned() };
        let uri: Uri = self.server.parse().map_err(|_| wrong("is no URL"))?;
        match uri.scheme_str() {
            Some("http" | "https") => (),
            _ => return Err(wrong("must begin with http:// or https://")),
        }
        let is_bare =
            uri.query().is_none() && !uri.authority().is_some_and(|whole| whole.as_str().contains('@'));
        if !is_bare {
            return Err(wrong("must have neither a query nor a name before its host"));
        }
        Ok(Url { text: self.server.trim_end_matches('/').to_owned(), uri })
    }

    /// The file with an authority that is trusted beside the system's.
    pub(super) fn ca(&self) -> Option<&Path> {
        self.ca.as_deref()
    }

    /// The token to send, if there is one.
    pub(super) fn token(&self) -> Result<Option<String>, Problem> {
        if let Some(path) = &self.token_file {
            return read_token(path).map(Some);
        }
        if let Some(token) = env_token() {
            let name = Path::new("SEENIT_TOKEN");
            return check_token(&token).map(Some).ok_or_else(|| Problem::Token { path: name.to_owned() });
        }
        // A file that nobody holds was left by a server that was killed. Where that cannot be told, it may be good.
        let is_good = |path: &PathBuf| operator::is_held(path) != Some(false) && fs::read(path).is_ok();
        let found = self.operator_files()?.into_iter().find(is_good);
        found.map(|path| read_token(&path)).transpose()
    }

    /// Where the operator's token of a server on this machine would be, the likeliest first.
    fn operator_files(&self) -> Result<Vec<PathBuf>, Problem> {
        let url = self.url()?;
        if !url.is_loopback() {
            return Ok(Vec::new());
        }
        let folders = operator::folders(Some(Path::new(DATA_FOLDER)));
        let mut files = Vec::new();
        for listening in url.addresses().into_iter().flat_map(operator::listening_for) {
            let address = SocketAddr::new(listening, url.port());
            files.extend(folders.iter().map(|folder| operator::token_file(folder, address)));
        }
        Ok(files)
    }

    /// What to do about a refusal for want of a token.
    pub(super) fn token_hint(&self, had_one: bool) -> Option<String> {
        if had_one {
            let from = match &self.token_file {
                Some(file) => format!("--token-file {}", file.display()),
                None if env_token().is_some() => "SEENIT_TOKEN".into(),
                None => "the file that `seenit serve` wrote".into(),
            };
            return Some(format!(
                "the token is from {from}: the account may have another one by now, and a restart of the server \
                 makes a new operator token"
            ));
        }
        let looked = self.operator_files().ok().and_then(|files| files.into_iter().next());
        Some(match looked {
            Some(path) => format!(
                "there is no operator's token at {}: run this as the user who runs `seenit serve`, \
                 or give --token-file",
                path.display()
            ),
            None => "give --token-file or set SEENIT_TOKEN".into(),
        })
    }
}

fn env_token() -> Option<String> {
    std::env::var("SEENIT_TOKEN").ok().filter(|token| !token.is_empty())
}

fn read_token(path: &Path) -> Result<String, Problem> {
    let text = fs::read_to_string(path).map_err(Problem::input(path))?;
    check_token(&text).ok_or_else(|| Problem::Token { path: path.to_owned() })
}

/// One word of plain letters: nothing that could be another header.
fn check_token(text: &str) -> Option<String> {
    let token = text.trim();
    let is_one_word = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_one_word.then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(server: &str) -> ServerArgs {
        ServerArgs { server: server.to_owned(), token_file: None, ca: None }
    }

    #[test]
    fn only_this_machine_is_loopback_whatever_a_name_looks_like() {
        for server in
            ["http://127.0.0.1:8025", "http://localhost", "https://LOCALHOST:1", "http://[::1]:8025/x/"]
        {
            assert!(place(server).url().is_ok_and(|url| url.is_loopback()), "{server}");
        }
        for server in ["http://127.0.0.1.example.com", "https://localhost.example.com:8025", "http://[::2]"] {
            let is_loopback = |url: Url| url.is_loopback();
            assert!(!place(server).url().is_ok_and(is_loopback), "{server}");
            assert_eq!(place(server).operator_files().expect("a URL"), Vec::<PathBuf>::new(), "{server}");
        }
    }

    #[test]
    fn a_server_is_a_plain_url() {
        let text = |server: &str| {
            place(server).url().map(|url| url.text().to_owned()).map_err(|why| why.to_string())
        };
        assert_eq!(text("https://mx.example/seenit/"), Ok("https://mx.example/seenit".into()));
        for server in
            ["", "mx.example", "ftp://mx.example", "http://127.0.0.1@mx.example", "http://mx.example/?a"]
        {
            assert!(text(server).is_err_and(|why| why.contains(server)), "{server}");
        }
    }

    #[test]
    fn the_address_chooses_the_operator_s_token() {
        let named = |server: &str| {
            let files = place(server).operator_files().expect("a URL");
            let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
            let mut names: Vec<String> = files.iter().map(name).collect();
            names.dedup();
            names
        };
        let any = "operator-0.0.0.0-8026.token";
        let any_v6 = "operator-::-8026.token";
        assert_eq!(named("http://127.0.0.2:8026"), ["operator-127.0.0.2-8026.token", any, any_v6]);
        assert_eq!(named("http://[::1]:8026"), ["operator-::1-8026.token", any_v6]);
        assert!(named("http://localhost:8026").contains(&"operator-127.0.0.1-8026.token".to_owned()));
        assert_eq!(named("http://127.0.0.1")[0], "operator-127.0.0.1-80.token");
        assert_eq!(named("https://127.0.0.1")[0], "operator-127.0.0.1-443.token");
    }

    #[test]
    fn a_token_is_one_word() {
        assert_eq!(check_token(" seenit_abc\n"), Some("seenit_abc".into()));
        for text in ["", "\n", "two words", "a\r\nHost: b", "\u{e9}"] {
            assert_eq!(check_token(text), None, "{text:?}");
        }
    }
}
