//! Keys: one text for one key, none that anybody can sign for, and no secret in sight.

mod made;

use made::{admin, hash_key, site};
use seenit_sites::key::{AdminKey, KeyError, SiteKey};

#[test]
fn texts_of_keys_lead_back_to_them() {
    let key = site(1).public();
    assert_eq!(key.to_string().parse(), Ok(key));
    assert_eq!(SiteKey::from_bytes(&key.to_bytes()), Ok(key));
    assert_eq!(key.to_string(), "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c");
}

#[test]
fn texts_that_are_no_keys_are_refused_by_name() {
    let text = site(1).public().to_string();
    assert_eq!("".parse::<SiteKey>(), Err(KeyError::Length(0)));
    assert_eq!(text[1..].parse::<SiteKey>(), Err(KeyError::Length(63)));
    assert_eq!(format!("{text}00").parse::<AdminKey>(), Err(KeyError::Length(66)));
    assert_eq!(text.to_uppercase().parse::<SiteKey>(), Err(KeyError::Letter('A')));
    assert_eq!(text.replace('8', "ß").parse::<SiteKey>(), Err(KeyError::Letter('ß')));
    assert_eq!(format!("+{}", &text[1..]).parse::<SiteKey>(), Err(KeyError::Letter('+')));
}

/// Points of small order, for which a signature that fits everything is easily made.
#[test]
fn weak_keys_are_refused() {
    let mut one = [0; 32];
    one[0] = 1;
    assert_eq!(SiteKey::from_bytes(&one), Err(KeyError::Weak));
    assert_eq!(SiteKey::from_bytes(&[0; 32]), Err(KeyError::Weak));
}

/// A number and the same number plus the prime are one coordinate: only the smaller one is a key's form.
#[test]
fn a_second_form_of_a_key_is_refused() {
    let errors: Vec<_> = (0..19_u8)
        .filter_map(|beyond| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (0xed + beyond, 0x7f);
            SiteKey::from_bytes(&bytes).err()
        })
        .collect();
    assert_eq!(errors.len(), 19, "no number from the prime on is a key's form");
    for error in [KeyError::OtherForm, KeyError::NoPoint, KeyError::Weak] {
        assert!(errors.contains(&error), "{error}");
    }
}

#[test]
fn no_secret_is_printed() {
    let secrets = [hex::encode(site(7).to_bytes()), hex::encode(admin().to_bytes()), hex::encode([9; 16])];
    let printed = format!("{:?} {:?} {:?} {:?}", site(7), site(7).sealing(), admin(), hash_key(9));
    assert!(printed.contains(&site(7).public().to_string()), "{printed}");
    assert!(secrets.iter().all(|secret| !printed.contains(secret)), "{printed}");
}

/// Whoever learns what opens cannot sign: the way from one to the other is one-way, and they are not the same number.
#[test]
fn the_sealing_key_is_another_key() {
    assert_ne!(site(1).sealing().public().to_bytes(), site(1).public().to_bytes());
    assert_ne!(site(1).sealing().public(), site(2).sealing().public());
}
