//! The fields of a datagram: lines of a name, a colon and a value.

/// Text whose lines are fields, up to the first line that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields<'a>(&'a [u8]);

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// As it was sent: case does not matter for finding it, but for its signature.
    pub(super) name: &'a [u8],
    /// What follows the colon and the blanks after it, up to the end of the line.
    pub(super) value: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// Every field. Old clients double line ends, so empty lines are nothing.
    pub(super) fn iter(self) -> impl Iterator<Item = Field<'a>> {
        let lines = self.0.split(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.filter(|line| !line.is_empty()).map_while(Field::of)
    }
}

impl<'a> Field<'a> {
    fn of(line: &'a [u8]) -> Option<Self> {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = line.get(..colon)?;
        let value = line.get(colon + 1..)?;
        let blanks = value.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        name.iter().all(u8::is_ascii_graphic).then_some(Self { name, value: value.get(blanks..)? })
    }

    /// The value, without white space around it.
    pub(super) fn text(self) -> &'a [u8] {
        self.value.trim_ascii()
    }

    pub(super) fn is(self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}
