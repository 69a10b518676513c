//! What accounts may do.

use serde::{Deserialize, Serialize};

/// One thing an account may do. Each of them lets it check and see as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Check, see, explain, ask for receipts and statistics.
    Check,
    /// Report, and withdraw what it said.
    Report,
    /// Revoke.
    Revoke,
    /// Everything.
    Admin,
}

impl Role {
    const ALL: [Role; 4] = [Role::Check, Role::Report, Role::Revoke, Role::Admin];

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// How it is spelt.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Check => "check",
            Role::Report => "report",
            Role::Revoke => "revoke",
            Role::Admin => "admin",
        }
    }
}

/// The roles of one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Role>", into = "Vec<Role>")]
pub struct Roles(u8);

impl Roles {
    /// All of them.
    pub fn all() -> Self {
        Role::ALL.into_iter().collect()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether they let somebody do what a role is for.
    pub fn allow(self, role: Role) -> bool {
        let named = self.0 & (role.bit() | Role::Admin.bit()) != 0;
        named || (role == Role::Check && !self.is_empty())
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Roles(roles.into_iter().fold(0, |bits, role| bits | role.bit()))
    }
}

impl From<Vec<Role>> for Roles {
    fn from(roles: Vec<Role>) -> Self {
        roles.into_iter().collect()
    }
}

impl From<Roles> for Vec<Role> {
    fn from(roles: Roles) -> Self {
        Role::ALL.into_iter().filter(|role| roles.0 & role.bit() != 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_lets_one_check_and_admin_lets_one_do_everything() {
        let only = |role| Roles::from_iter([role]);
        assert!(Role::ALL.into_iter().all(|role| only(role).allow(Role::Check)));
        assert!(Role::ALL.into_iter().all(|role| only(Role::Admin).allow(role)));
        assert!(!only(Role::Check).allow(Role::Report) && !only(Role::Report).allow(Role::Revoke));
        assert!(!only(Role::Revoke).allow(Role::Report) && !only(Role::Revoke).allow(Role::Admin));
        assert!(!Roles::default().allow(Role::Check));
        assert_eq!(
            serde_json::to_string(&Roles::all()).expect("a list"),
            r#"["check","report","revoke","admin"]"#
        );
    }
}
