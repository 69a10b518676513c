//! Guards whose certificates are believed: the system's authorities, those of `--ca`, and nobody else.

mod common;

use common::serving::{Serving, mail};
use common::{Folder, Ran};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Writes certificate and key, and starts a server that has them; its address is by name.
fn serving<'a>(folder: &'a Folder, certificate: &str, key: &KeyPair) -> (Serving<'a>, String) {
    folder.write("certificate.pem", certificate);
    folder.write("key.pem", key.serialize_pem());
    let [certificate, key] =
        ["certificate.pem", "key.pem"].map(|name| folder.path(name).display().to_string());
    folder
        .write("tls.toml", format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\nloopback = true\n"));
    let serving = Serving::start_with(folder, "--config tls.toml");
    let url = serving.url().replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"), "{url}");
    (serving, url)
}

fn self_signed() -> (String, KeyPair) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    (made.cert.pem(), made.signing_key)
}

/// Runs a command where the system trusts the certificates in one file.
fn run(folder: &Folder, words: &str, system: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = folder.command(words);
    command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", folder.path(system));
    let output = command.envs(variables.iter().copied()).output().expect("it ends");
    Ran {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

#[test]
fn certificates_are_those_the_system_trusts() {
    let folder = Folder::new();
    let (certificate, key) = self_signed();
    let (_serving, url) = serving(&folder, &certificate, &key);
    let trusted = run(&folder, &format!("selftest --server {url}"), "certificate.pem", &[]);
    assert_eq!(trusted.code, 0, "{}", trusted.out);
    folder.write("nobody.pem", "");
    let stranger = run(&folder, &format!("selftest --server {url}"), "nobody.pem", &[]);
    assert_eq!(stranger.code, 1);
    assert!(stranger.out.contains("certificate"), "{}", stranger.out);
}

#[test]
fn an_unknown_authority_is_named_and_ca_makes_it_known() {
    let folder = Folder::new();
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    folder.write("authority.pem", params.self_signed(&authority_key).expect("an authority").pem());
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate().expect("a key");
    let names = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = names.signed_by(&key, &issuer).expect("signed").pem();
    let (_serving, url) = serving(&folder, &certificate, &key);
    folder.write("nobody.pem", "");
    folder.write("a.eml", mail(1));
    let check = format!("check a.eml --server {url}");
    let stranger = run(&folder, &check, "nobody.pem", &[]);
    assert_eq!((stranger.code, stranger.out.as_str()), (76, ""), "{}", stranger.err);
    for says in ["the certificate of localhost:", "authority", "--ca FILE"] {
        assert!(stranger.err.contains(says), "{}", stranger.err);
    }
    let known = run(&folder, &format!("{check} --ca authority.pem"), "nobody.pem", &[]);
    assert_eq!((known.code, known.err.as_str()), (0, ""));
    assert_eq!(run(&folder, &check, "nobody.pem", &[("SEENIT_CA", "authority.pem")]).code, 0);
    let by_address = check.replace("localhost", "127.0.0.1");
    let other_name = run(&folder, &format!("{by_address} --ca authority.pem"), "nobody.pem", &[]);
    assert_eq!(other_name.code, 76);
    assert!(other_name.err.contains("is for another name"), "{}", other_name.err);
}

#[test]
fn a_self_signed_certificate_may_be_its_own_authority() {
    let folder = Folder::new();
    let (certificate, key) = self_signed();
    let (_serving, url) = serving(&folder, &certificate, &key);
    folder.write("nobody.pem", "");
    folder.write("a.eml", mail(1));
    let check = format!("check a.eml --server {url} --ca certificate.pem");
    assert_eq!(run(&folder, &check, "nobody.pem", &[]).code, 0);
}

#[test]
fn an_authority_s_own_certificate_on_a_server_is_told_as_such() {
    let folder = Folder::new();
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("signed").pem();
    let (_serving, url) = serving(&folder, &certificate, &key);
    folder.write("nobody.pem", "");
    folder.write("a.eml", mail(1));
    let ran = run(&folder, &format!("check a.eml --server {url} --ca certificate.pem"), "nobody.pem", &[]);
    assert_eq!(ran.code, 76, "{}", ran.err);
    assert!(ran.err.contains("CA:FALSE"), "what `openssl req -x509` makes by itself: {}", ran.err);
}

#[test]
fn a_file_of_ca_that_holds_no_certificate_is_refused() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    folder.write("text", "nothing of the kind\n");
    folder
        .run("check a.eml --server https://localhost:1 --ca text")
        .refused(65, "there is no certificate in it");
    folder.run("check a.eml --server https://localhost:1 --ca nowhere").refused(66, "nowhere");
}
