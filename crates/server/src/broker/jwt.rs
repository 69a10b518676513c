//! JWTs of NATS: with them the broker knows whom the admin lets in, and nobody edits its configuration for a newcomer.
//!
//! ```text
//! operator (in the broker's configuration) signs the account of the network and the system account
//! account = the network's key              signs a user for each site, for the admin and for each invite
//! ```
//!
//! Written by hand because it is little: a header, claims in JSON, and a signature with Ed25519, in base64. All of it
//! is made from the admin's secret, the roster and the introductions, so the same folder gives the same bytes each time
//! and nothing of it has to be kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use seenit_sites::key::{AdminKey, AdminSecret, BrokerKey, BrokerSecret, SIGNATURE_BYTES, SiteKey};
use serde::Serialize;
use serde_json::{Value, json};

use super::permissions::Permissions;
use super::{Names, nkey};

/// When all that never changes was signed: a fixed moment, so that the same claims have the same bytes. The account is
/// signed so many seconds later as its roster has versions, and a broker takes the later one of two. A release that
/// changes what an account says has to raise this.
const ISSUED: u64 = 1_790_000_000;

/// How other secrets are derived from the admin's.
const OPERATOR_CONTEXT: &str = "seenit 2026 broker operator key of an admin v1";
const SYSTEM_CONTEXT: &str = "seenit 2026 broker system account key of an admin v1";
const SYSTEM_USER_CONTEXT: &str = "seenit 2026 broker system user key of an admin v1";

/// A JWT for a user and the secret that proves who shows it.
#[derive(Clone, Debug)]
pub struct User {
    /// What the account signed.
    pub jwt: String,
    /// What the user signs the broker's challenge with.
    pub secret: BrokerSecret,
}

/// What the admin's secret can sign for the broker.
#[derive(Debug)]
pub struct Authority {
    operator: SigningKey,
    system: SigningKey,
    system_user: BrokerSecret,
    account: SigningKey,
    admin: BrokerSecret,
    network: AdminKey,
}

#[derive(Serialize)]
struct Claims<N> {
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    iat: u64,
    iss: String,
    name: String,
    sub: String,
    nats: N,
}

impl Authority {
    /// Of the network with this admin.
    pub fn of(admin: &AdminSecret) -> Self {
        let secret = admin.to_bytes();
        let derived = |context| blake3::derive_key(context, &secret);
        Authority {
            operator: SigningKey::from_bytes(&derived(OPERATOR_CONTEXT)),
            system: SigningKey::from_bytes(&derived(SYSTEM_CONTEXT)),
            system_user: BrokerSecret::from_bytes(derived(SYSTEM_USER_CONTEXT)),
            // What it signs begins with a header of a JWT, and no signed document of a network begins so.
            account: SigningKey::from_bytes(&secret),
            admin: admin.broker_key(),
            network: admin.public(),
        }
    }

    /// The operator, whom a broker trusts.
    pub fn operator(&self) -> String {
        let operator = nkey::operator(self.operator.verifying_key().as_bytes());
        let nats = json!({"system_account": self.system_account(), "type": "operator", "version": 2});
        self.by_operator(ISSUED, "seenit", operator, nats)
    }

    /// The account that a broker itself speaks in.
    pub fn system(&self) -> String {
        self.by_operator(ISSUED, "SYS", self.system_account(), account_claims(&[], false))
    }

    /// The key of that account.
    pub fn system_account(&self) -> String {
        nkey::account_of(self.system.verifying_key().as_bytes())
    }

    /// The network's account with this roster. Users with these keys are not let in any more.
    pub fn account(&self, roster_version: u64, removed: &[BrokerKey]) -> String {
        let name = Names::of(&self.network).network().to_owned();
        let claims = account_claims(removed, true);
        self.by_operator(ISSUED + roster_version, &name, nkey::account(&self.network), claims)
    }

    /// A site that may speak under its name.
    pub fn site(&self, site: &SiteKey, key: &BrokerKey) -> String {
        let names = Names::of(&self.network);
        let claims = user_claims(&self.network, key, &site.to_string(), Permissions::of_site(&names, site));
        signed(&self.account, &claims)
    }

    /// The admin, who may do everything in the account.
    pub fn admin(&self) -> User {
        let claims = user_claims(&self.network, &self.admin.public(), "admin", Permissions::all());
        User { jwt: signed(&self.account, &claims), secret: self.admin.clone() }
    }

    /// The admin in the system account, where accounts are changed.
    pub fn system_admin(&self) -> User {
        let claims = Claims {
            iss: self.system_account(),
            ..user_claims(&self.network, &self.system_user.public(), "admin", Permissions::all())
        };
        User { jwt: signed(&self.system, &claims), secret: self.system_user.clone() }
    }

    /// The signature of an invite with this key, which ends then.
    pub(super) fn invite(&self, key: &BrokerKey, expires_secs: u64) -> [u8; SIGNATURE_BYTES] {
        self.account.sign(invite_text(&self.network, key, expires_secs).as_bytes()).to_bytes()
    }

    fn by_operator(&self, issued: u64, name: &str, subject: String, nats: Value) -> String {
        let iss = nkey::operator(self.operator.verifying_key().as_bytes());
        let claims = Claims { exp: None, iat: issued, iss, name: name.to_owned(), sub: subject, nats };
        signed(&self.operator, &claims)
    }
}

/// The JWT of an invite, rebuilt from what the invite has of it; nothing if the network's admin did not sign it so.
pub(super) fn invited(
    network: &AdminKey,
    key: &BrokerKey,
    expires_secs: u64,
    signature: &[u8; SIGNATURE_BYTES],
) -> Option<String> {
    let text = invite_text(network, key, expires_secs);
    is_signed(network, text.as_bytes(), signature).then(|| joined(text, signature))
}

/// Whether this is a JWT for the user with this key, signed by the network's admin. Whoever passed it on need not be
/// trusted.
pub(super) fn is_for(jwt: &str, network: &AdminKey, key: &BrokerKey) -> bool {
    let check = || {
        let (text, signature) = jwt.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        let (_, claims) = text.split_once('.')?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        let is_ours = claims["sub"] == nkey::public(key) && claims["nats"]["type"] == "user";
        Some(is_ours && is_signed(network, text.as_bytes(), &signature))
    };
    check().unwrap_or(false)
}

fn is_signed(network: &AdminKey, text: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    let signature = Signature::from_bytes(signature);
    VerifyingKey::from_bytes(&network.to_bytes()).is_ok_and(|key| key.verify_strict(text, &signature).is_ok())
}

/// What an account may do: everything. The system account has no streams, which a broker insists on.
fn account_claims(removed: &[BrokerKey], has_streams: bool) -> Value {
    let kept = if has_streams { -1 } else { 0 };
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
        "leaf": -1, "mem_storage": kept, "disk_storage": kept, "streams": kept, "consumer": kept,
    });
    // Whatever was signed for a removed site until then: all of it was signed at the same fixed moment.
    let revoked = removed.iter().map(|key| (nkey::public(key), ISSUED.into()));
    let revoked: serde_json::Map<String, Value> = revoked.collect();
    json!({"limits": limits, "revocations": revoked, "type": "account", "version": 2})
}

fn user_claims(
    network: &AdminKey,
    key: &BrokerKey,
    name: &str,
    permissions: Permissions,
) -> Claims<Permissions> {
    Claims {
        exp: None,
        iat: ISSUED,
        iss: nkey::account(network),
        name: name.to_owned(),
        sub: nkey::public(key),
        nats: permissions,
    }
}

fn invite_text(network: &AdminKey, key: &BrokerKey, expires_secs: u64) -> String {
    let permissions = Permissions::of_invited(&Names::of(network), key);
    text(&Claims { exp: Some(expires_secs), ..user_claims(network, key, "invited", permissions) })
}

/// Header and claims, which are signed.
fn text(claims: &impl Serialize) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    // Text and numbers always become JSON.
    let claims = serde_json::to_vec(claims).unwrap_or_default();
    format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims))
}

fn signed(key: &SigningKey, claims: &impl Serialize) -> String {
    let text = text(claims);
    let signature = key.sign(text.as_bytes()).to_bytes();
    joined(text, &signature)
}

fn joined(text: String, signature: &[u8; SIGNATURE_BYTES]) -> String {
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_sites::key::SiteSecret;

    fn admin() -> AdminSecret {
        AdminSecret::from_bytes([1; 32])
    }

    #[test]
    fn a_users_jwt_is_for_that_user_of_that_network_alone() {
        let site = SiteSecret::from_bytes([2; 32]);
        let other = SiteSecret::from_bytes([3; 32]);
        let key = site.broker_key().public();
        let jwt = Authority::of(&admin()).site(&site.public(), &key);
        assert!(is_for(&jwt, &admin().public(), &key));
        assert!(!is_for(&jwt, &admin().public(), &other.broker_key().public()));
        assert!(!is_for(&jwt, &AdminSecret::from_bytes([4; 32]).public(), &key));
        for text in ["", ".", "..", "a.b.c", &jwt[..jwt.len() - 1], &jwt.replace("ey", "fy")] {
            assert!(!is_for(text, &admin().public(), &key), "{text}");
        }
    }

    #[test]
    fn what_is_signed_twice_has_the_same_bytes_and_a_later_roster_a_later_account() {
        let [one, two] = [Authority::of(&admin()), Authority::of(&admin())];
        assert_eq!(one.account(7, &[]), two.account(7, &[]));
        assert_eq!(
            (one.operator(), one.system(), one.admin().jwt),
            (two.operator(), two.system(), two.admin().jwt)
        );
        let issued = |jwt: &str| {
            let claims = URL_SAFE_NO_PAD.decode(jwt.split('.').nth(1).expect("claims")).expect("base64");
            serde_json::from_slice::<Value>(&claims).expect("JSON")["iat"].as_u64().expect("a time")
        };
        assert!(issued(&one.account(8, &[])) > issued(&one.account(7, &[])));
    }
}
