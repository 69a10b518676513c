//! TLS with a certificate made for the test.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use seenit_server::Server;

use super::site::{Reply, Site, config};

#[test]
fn requests_are_answered_over_tls_and_not_in_the_clear() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let dir = tempfile::tempdir().expect("a folder");
    let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    fs::write(&certificate, made.cert.pem()).expect("written");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let mut config = config();
    config.tls.certificate = Some(certificate.clone());
    config.tls.key = Some(key.clone());
    config.tls.loopback = true;
    let site = Site::start(config.clone());

    let mut stream = connect(&site, made.cert.der().clone());
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    assert_eq!(Reply::parse(&reply).status, 200);
    assert!(!site.send_raw(request.as_bytes()).starts_with(b"HTTP/"));

    fs::write(&key, "nothing").expect("written");
    let refused = Server::new(config, dir.path().join("data")).start().err().expect("no key").to_string();
    assert!(refused.contains("key.pem"), "{refused}");
}

fn connect(site: &Site, root: CertificateDer<'static>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(root).expect("a root");
    let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(client), name).expect("a client");
    StreamOwned::new(connection, TcpStream::connect(site.address).expect("a connection"))
}
