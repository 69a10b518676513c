//! Paths, methods, and what each of them takes.

use hyper::Method;
use seenit_ledger::record::Verb;

use crate::accounts::Role;

/// Something that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Check,
    See,
    Write(Verb),
    Receipt(&'a str),
    Explain,
    Stats,
    Sites,
    Health,
    Ready,
    Metrics,
    OpenApi,
    Accounts,
    Account(&'a str),
    AccountToken(&'a str),
    AccountWeight(&'a str),
    AccountStanding(&'a str),
    AccountUndo(&'a str),
    AccountSecret(&'a str, &'a str),
    ConfirmClock,
    Snapshot,
}

/// What a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing at all.
    Nothing,
    /// To be on this machine, or an admin.
    LocalOrAdmin,
    /// A role.
    Role(Role),
}

impl<'a> Route<'a> {
    /// The route of a path.
    pub(crate) fn find(path: &'a str) -> Option<Self> {
        if let Some(verb) = path.strip_prefix("/v1/") {
            return Route::find_v1(verb);
        }
        match path {
            "/healthz" => Some(Route::Health),
            "/readyz" => Some(Route::Ready),
            "/metrics" => Some(Route::Metrics),
            "/openapi.json" => Some(Route::OpenApi),
            _ => None,
        }
    }

    fn find_v1(path: &'a str) -> Option<Self> {
        Some(match path {
            "check" => Route::Check,
            "see" => Route::See,
            "report" => Route::Write(Verb::Report),
            "revoke" => Route::Write(Verb::Revoke),
            "withdraw" => Route::Write(Verb::Withdraw),
            "protect" => Route::Write(Verb::Protect),
            "unprotect" => Route::Write(Verb::Unprotect),
            "many" => Route::Write(Verb::Many),
            "forget" => Route::Write(Verb::Forget),
            "explain" => Route::Explain,
            "stats" => Route::Stats,
            "sites" => Route::Sites,
            "accounts" => Route::Accounts,
            "clock/confirm" => Route::ConfirmClock,
            "snapshot" => Route::Snapshot,
            _ => return Route::find_named(path),
        })
    }

    fn find_named(path: &'a str) -> Option<Self> {
        let (family, rest) = path.split_once('/')?;
        let (name, verb) = rest.split_once('/').map_or((rest, None), |(name, verb)| (name, Some(verb)));
        match (family, verb) {
            _ if name.is_empty() => None,
            ("receipts", None) => Some(Route::Receipt(name)),
            ("accounts", None) => Some(Route::Account(name)),
            ("accounts", Some("token")) => Some(Route::AccountToken(name)),
            ("accounts", Some("weight")) => Some(Route::AccountWeight(name)),
            ("accounts", Some("standing")) => Some(Route::AccountStanding(name)),
            ("accounts", Some("undo")) => Some(Route::AccountUndo(name)),
            ("accounts", Some(verb)) => {
                let protocol = verb.strip_prefix("secrets/").filter(|protocol| !protocol.is_empty())?;
                Some(Route::AccountSecret(name, protocol))
            }
            _ => None,
        }
    }

    /// Whether the method is answered.
    pub(crate) fn takes(self, method: &Method) -> bool {
        self.methods().split(", ").any(|known| known == method.as_str())
    }

    /// The methods, as `Allow` names them.
    pub(crate) fn methods(self) -> &'static str {
        match self {
            Route::Accounts | Route::Explain => "GET, HEAD, POST",
            Route::Account(_) => "GET, HEAD, DELETE",
            Route::AccountSecret(..) => "POST, DELETE",
            Route::Receipt(_) | Route::Stats | Route::Sites => "GET, HEAD",
            Route::Health | Route::Ready | Route::Metrics | Route::OpenApi => "GET, HEAD",
            _ => "POST",
        }
    }

    /// What it takes to be answered.
    pub(crate) fn need(self) -> Need {
        match self {
            Route::Health | Route::Ready | Route::OpenApi => Need::Nothing,
            Route::Metrics => Need::LocalOrAdmin,
            Route::Check | Route::See | Route::Explain | Route::Stats | Route::Sites | Route::Receipt(_) => {
                Need::Role(Role::Check)
            }
            Route::Write(Verb::Report) => Need::Role(Role::Report),
            Route::Write(Verb::Revoke) => Need::Role(Role::Revoke),
            Route::Write(Verb::Withdraw) => Need::Role(Role::Report),
            _ => Need::Role(Role::Admin),
        }
    }

    /// Its name in metrics and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Check => "check",
            Route::See => "see",
            Route::Write(verb) => verb.as_str(),
            Route::Receipt(_) => "receipts",
            Route::Explain => "explain",
            Route::Stats => "stats",
            Route::Sites => "sites",
            Route::Health => "healthz",
            Route::Ready => "readyz",
            Route::Metrics => "metrics",
            Route::OpenApi => "openapi",
            Route::ConfirmClock => "clock",
            Route::Snapshot => "snapshot",
            _ => "accounts",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_routes_and_nothing_else_does() {
        assert_eq!(Route::find("/v1/check"), Some(Route::Check));
        assert_eq!(Route::find("/v1/accounts/mx.1/undo"), Some(Route::AccountUndo("mx.1")));
        assert_eq!(Route::find("/v1/accounts/mx/secrets/dcc"), Some(Route::AccountSecret("mx", "dcc")));
        assert_eq!(Route::find("/v1/accounts/mx/secrets/"), None);
        assert_eq!(Route::find("/v1/receipts/abc-1-2"), Some(Route::Receipt("abc-1-2")));
        for path in
            ["", "/", "/v1", "/v1/", "/v1/check/", "/v1/accounts/", "/v1/accounts/a/b", "/v1/accounts//token"]
        {
            assert_eq!(Route::find(path), None, "{path}");
        }
    }
}
