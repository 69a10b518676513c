//! A section of the configuration is written once: fields, explanations and defaults.

/// Makes a struct whose doc comments are also its keys' explanations.
macro_rules! section {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[doc = $text:literal])+ pub $key:ident: $type:ty = $default:expr,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $text])+ pub $key: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($key: $default,)+ }
            }
        }

        impl $name {
            /// Each key and the lines that explain it.
            pub(super) const KEYS: &'static [(&'static str, &'static [&'static str])] =
                &[$((stringify!($key), &[$($text),+]),)+];
        }
    };
}

pub(super) use section;
