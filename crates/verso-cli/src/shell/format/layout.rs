//! How results are laid out: what `\pset` sets, shows and says.

/// A format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Aligned,
    Asciidoc,
    Csv,
    Html,
    Json,
    Markdown,
    Unaligned,
    Wrapped,
}

impl Format {
    /// All of them, by name.
    pub const ALL: [(&str, Format); 8] = [
        ("aligned", Format::Aligned),
        ("asciidoc", Format::Asciidoc),
        ("csv", Format::Csv),
        ("html", Format::Html),
        ("json", Format::Json),
        ("markdown", Format::Markdown),
        ("unaligned", Format::Unaligned),
        ("wrapped", Format::Wrapped),
    ];

    fn name(self) -> &'static str {
        Format::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

/// Whether each record is a block of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expanded {
    #[default]
    Off,
    On,
    /// Where the table is wider than the screen.
    Auto,
}

/// The characters of borders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineStyle {
    #[default]
    Ascii,
    OldAscii,
    Unicode,
}

impl LineStyle {
    /// All of them, by name.
    pub const ALL: [(&str, LineStyle); 3] =
        [("ascii", LineStyle::Ascii), ("old-ascii", LineStyle::OldAscii), ("unicode", LineStyle::Unicode)];
}

/// Whether lines of the style `unicode` are single or double.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strokes {
    #[default]
    Single,
    Double,
}

impl Strokes {
    /// Both, by name.
    pub const ALL: [(&str, Strokes); 2] = [("single", Strokes::Single), ("double", Strokes::Double)];

    fn name(self) -> &'static str {
        Strokes::ALL[self as usize].0
    }

    /// Those of that name; `what` are the lines in the error.
    fn named(value: &str, what: &str) -> Result<Strokes, String> {
        let found = Strokes::ALL.iter().find(|(name, _)| starts(name, value));
        let message = || format!("\\pset: allowed Unicode {what} line styles are single, double");
        found.map(|(_, strokes)| *strokes).ok_or_else(message)
    }
}

/// When a program for paging gets the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pager {
    Off,
    /// Where they are longer than the screen.
    #[default]
    On,
    Always,
}

/// How wide the line above a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeaderWidth {
    #[default]
    Full,
    Column,
    Page,
    Columns(usize),
}

/// Stands between fields, or between records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separator {
    written: String,
    zero: bool,
}

impl Separator {
    fn new(text: &str) -> Separator {
        Separator { written: text.to_owned(), zero: false }
    }

    /// What is printed.
    pub fn text(&self) -> &str {
        if self.zero { "\0" } else { &self.written }
    }

    /// Whether it is the byte 0.
    pub fn is_zero(&self) -> bool {
        self.zero
    }
}

/// All options of the output.
#[derive(Clone, Debug)]
pub struct Layout {
    pub border: u16,
    /// The width of wrapped output; 0 for the screen's.
    pub columns: usize,
    pub csv_fieldsep: char,
    pub expanded: Expanded,
    pub fieldsep: Separator,
    pub footer: bool,
    pub format: Format,
    pub linestyle: LineStyle,
    pub null: String,
    pub numericlocale: bool,
    pub pager: Pager,
    pub pager_min_lines: usize,
    pub recordsep: Separator,
    pub tableattr: Option<String>,
    pub title: Option<String>,
    pub tuples_only: bool,
    pub unicode_border: Strokes,
    pub unicode_column: Strokes,
    pub unicode_header: Strokes,
    pub xheader_width: HeaderWidth,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            border: 1,
            columns: 0,
            csv_fieldsep: ',',
            expanded: Expanded::Off,
            fieldsep: Separator::new("|"),
            footer: true,
            format: Format::Aligned,
            linestyle: LineStyle::Ascii,
            null: String::new(),
            numericlocale: false,
            pager: Pager::On,
            pager_min_lines: 0,
            recordsep: Separator::new("\n"),
            tableattr: None,
            title: None,
            tuples_only: false,
            unicode_border: Strokes::Single,
            unicode_column: Strokes::Single,
            unicode_header: Strokes::Single,
            xheader_width: HeaderWidth::Full,
        }
    }
}

/// Names of all options, in the order in which they are shown.
pub const OPTIONS: [&str; 23] = [
    "border",
    "columns",
    "csv_fieldsep",
    "expanded",
    "fieldsep",
    "fieldsep_zero",
    "footer",
    "format",
    "linestyle",
    "null",
    "numericlocale",
    "pager",
    "pager_min_lines",
    "recordsep",
    "recordsep_zero",
    "tableattr",
    "title",
    "tuples_only",
    "unicode_border_linestyle",
    "unicode_column_linestyle",
    "unicode_header_linestyle",
    "x",
    "xheader_width",
];

impl Layout {
    /// Sets an option; without a value, turns it over or sets it back, as it is usual for the option.
    ///
    /// # Errors
    /// A message: no such option, no such value.
    pub fn set(&mut self, option: &str, value: Option<&str>) -> Result<(), String> {
        match option {
            "format" => {
                let Some(value) = value else { return Ok(()) };
                self.format = self.format_named(value)?;
            }
            "linestyle" => {
                let Some(value) = value else { return Ok(()) };
                let style = LineStyle::ALL.iter().find(|(name, _)| starts(name, value));
                let message = "\\pset: allowed line styles are ascii, old-ascii, unicode";
                self.linestyle = style.ok_or_else(|| message.to_owned())?.1;
            }
            "border" => {
                if let Some(value) = value {
                    self.border = number(value).min(u16::MAX.into()) as u16;
                }
            }
            "expanded" | "x" | "vertical" => {
                self.expanded = match value {
                    Some(value) if value.eq_ignore_ascii_case("auto") => Expanded::Auto,
                    Some(value) => match flag_of(value) {
                        Some(true) => Expanded::On,
                        Some(false) => Expanded::Off,
                        None => return Err(unknown(value, "expanded", "on, off, auto")),
                    },
                    None if self.expanded == Expanded::Off => Expanded::On,
                    None => Expanded::Off,
                };
            }
            "xheader_width" => {
                let Some(value) = value else { return Ok(()) };
                self.xheader_width = match value.to_ascii_lowercase().as_str() {
                    "full" => HeaderWidth::Full,
                    "column" => HeaderWidth::Column,
                    "page" => HeaderWidth::Page,
                    other => match other.parse::<usize>() {
                        Ok(columns) if columns > 0 => HeaderWidth::Columns(columns),
                        _ => {
                            let allowed = "\"full\" (default), \"column\", \"page\", or an integer value specifying the exact width";
                            return Err(format!("\\pset: allowed xheader_width values are {allowed}"));
                        }
                    },
                };
            }
            "csv_fieldsep" => {
                let Some(value) = value else { return Ok(()) };
                let mut characters = value.chars();
                let (Some(only), None) = (characters.next().filter(char::is_ascii), characters.next()) else {
                    return Err("\\pset: csv_fieldsep must be a single one-byte character".to_owned());
                };
                if matches!(only, '"' | '\n' | '\r') {
                    let message =
                        "\\pset: csv_fieldsep cannot be a double quote, a newline, or a carriage return";
                    return Err(message.to_owned());
                }
                self.csv_fieldsep = only;
            }
            "numericlocale" => switch(&mut self.numericlocale, value, option)?,
            "null" => {
                if let Some(value) = value {
                    self.null = value.to_owned();
                }
            }
            "fieldsep" => {
                if let Some(value) = value {
                    self.fieldsep = Separator::new(value);
                }
            }
            "fieldsep_zero" => self.fieldsep.zero = true,
            "recordsep" => {
                if let Some(value) = value {
                    self.recordsep = Separator::new(value);
                }
            }
            "recordsep_zero" => self.recordsep.zero = true,
            "t" | "tuples_only" => switch(&mut self.tuples_only, value, "tuples_only")?,
            "C" | "title" => self.title = value.map(str::to_owned),
            "T" | "tableattr" => self.tableattr = value.map(str::to_owned),
            "pager" => {
                self.pager = match value {
                    Some(value) if value.eq_ignore_ascii_case("always") => Pager::Always,
                    Some(value) => match flag_of(value) {
                        Some(true) => Pager::On,
                        Some(false) => Pager::Off,
                        None => return Err(unknown(value, "pager", "on, off, always")),
                    },
                    None if self.pager == Pager::On => Pager::Off,
                    None => Pager::On,
                };
            }
            "pager_min_lines" => {
                if let Some(value) = value {
                    self.pager_min_lines = value.parse().map_err(|_| {
                        format!("invalid value \"{value}\" for \"pager_min_lines\": integer expected")
                    })?;
                }
            }
            "footer" => switch(&mut self.footer, value, option)?,
            "columns" => {
                if let Some(value) = value {
                    self.columns = number(value);
                }
            }
            "unicode_border_linestyle" | "unicode_column_linestyle" | "unicode_header_linestyle" => {
                let Some(value) = value else { return Ok(()) };
                let (strokes, what) = match option {
                    "unicode_border_linestyle" => (&mut self.unicode_border, "border"),
                    "unicode_column_linestyle" => (&mut self.unicode_column, "column"),
                    _ => (&mut self.unicode_header, "header"),
                };
                *strokes = Strokes::named(value, what)?;
            }
            _ => return Err(format!("\\pset: unknown option: {option}")),
        }
        Ok(())
    }

    fn format_named(&self, value: &str) -> Result<Format, String> {
        let found: Vec<_> = Format::ALL.iter().filter(|(name, _)| starts(name, value)).collect();
        match found[..] {
            [(_, format)] => Ok(*format),
            [] if ["latex", "latex-longtable", "troff-ms"].iter().any(|name| starts(name, value)) => Err(
                format!("\\pset: the format {value} is not supported; allowed are {}", names_of_formats()),
            ),
            [] => Err(format!("\\pset: allowed formats are {}", names_of_formats())),
            [(first, _), (second, _), ..] => Err(format!(
                "\\pset: ambiguous abbreviation \"{value}\" matches both \"{first}\" and \"{second}\""
            )),
        }
    }

    /// What is told when the option was set.
    pub fn told(&self, option: &str) -> String {
        let on = |flag: bool| if flag { "on" } else { "off" };
        match option {
            "border" => format!("Border style is {}.", self.border),
            "columns" if self.columns == 0 => "Target width is unset.".to_owned(),
            "columns" => format!("Target width is {}.", self.columns),
            "csv_fieldsep" => format!("Field separator for CSV is \"{}\".", self.csv_fieldsep),
            "expanded" | "x" | "vertical" => match self.expanded {
                Expanded::On => "Expanded display is on.".to_owned(),
                Expanded::Off => "Expanded display is off.".to_owned(),
                Expanded::Auto => "Expanded display is used automatically.".to_owned(),
            },
            "xheader_width" => match self.xheader_width {
                HeaderWidth::Full => "Expanded header width is \"full\".".to_owned(),
                HeaderWidth::Column => "Expanded header width is \"column\".".to_owned(),
                HeaderWidth::Page => "Expanded header width is \"page\".".to_owned(),
                HeaderWidth::Columns(columns) => format!("Expanded header width is {columns}."),
            },
            "fieldsep" | "fieldsep_zero" if self.fieldsep.zero => "Field separator is zero byte.".to_owned(),
            "fieldsep" | "fieldsep_zero" => format!("Field separator is \"{}\".", self.fieldsep.written),
            "footer" => format!("Default footer is {}.", on(self.footer)),
            "format" => format!("Output format is {}.", self.format.name()),
            "linestyle" => format!("Line style is {}.", self.linestyle_name()),
            "null" => format!("Null display is \"{}\".", self.null),
            "numericlocale" => format!("Locale-adjusted numeric output is {}.", on(self.numericlocale)),
            "pager" => match self.pager {
                Pager::On => "Pager is used for long output.".to_owned(),
                Pager::Always => "Pager is always used.".to_owned(),
                Pager::Off => "Pager usage is off.".to_owned(),
            },
            "pager_min_lines" => match self.pager_min_lines {
                1 => "Pager won't be used for less than 1 line.".to_owned(),
                lines => format!("Pager won't be used for less than {lines} lines."),
            },
            "recordsep" | "recordsep_zero" if self.recordsep.zero => {
                "Record separator is zero byte.".to_owned()
            }
            "recordsep" | "recordsep_zero" if self.recordsep.written == "\n" => {
                "Record separator is <newline>.".to_owned()
            }
            "recordsep" | "recordsep_zero" => format!("Record separator is \"{}\".", self.recordsep.written),
            "T" | "tableattr" => match &self.tableattr {
                Some(text) => format!("Table attributes are \"{text}\"."),
                None => "Table attributes unset.".to_owned(),
            },
            "C" | "title" => match &self.title {
                Some(title) => format!("Title is \"{title}\"."),
                None => "Title is unset.".to_owned(),
            },
            "unicode_border_linestyle" => {
                format!("Unicode border line style is \"{}\".", self.unicode_border.name())
            }
            "unicode_column_linestyle" => {
                format!("Unicode column line style is \"{}\".", self.unicode_column.name())
            }
            "unicode_header_linestyle" => {
                format!("Unicode header line style is \"{}\".", self.unicode_header.name())
            }
            _ => format!("Tuples only is {}.", on(self.tuples_only)),
        }
    }

    fn linestyle_name(&self) -> &'static str {
        LineStyle::ALL.iter().find(|(_, style)| *style == self.linestyle).map_or("", |(name, _)| name)
    }

    /// All options, as `\pset` alone shows them.
    pub fn show(&self) -> String {
        let mut out = String::new();
        for option in OPTIONS.iter().filter(|option| **option != "x") {
            out.push_str(&format!("{option:<24} {}\n", self.value_of(option)));
        }
        out
    }

    fn value_of(&self, option: &str) -> String {
        let on = |flag: bool| if flag { "on" } else { "off" }.to_owned();
        let literal = |text: &str| format!("'{}'", text.replace('\'', "\\'").replace('\n', "\\n"));
        match option {
            "border" => self.border.to_string(),
            "columns" => self.columns.to_string(),
            "csv_fieldsep" => literal(&self.csv_fieldsep.to_string()),
            "expanded" => match self.expanded {
                Expanded::Auto => "auto".to_owned(),
                other => on(other == Expanded::On),
            },
            "fieldsep" => literal(&self.fieldsep.written),
            "fieldsep_zero" => on(self.fieldsep.zero),
            "footer" => on(self.footer),
            "format" => self.format.name().to_owned(),
            "linestyle" => self.linestyle_name().to_owned(),
            "null" => literal(&self.null),
            "numericlocale" => on(self.numericlocale),
            "pager" => (self.pager as u8).to_string(),
            "pager_min_lines" => self.pager_min_lines.to_string(),
            "recordsep" => literal(&self.recordsep.written),
            "recordsep_zero" => on(self.recordsep.zero),
            "tableattr" => self.tableattr.as_deref().map(literal).unwrap_or_default(),
            "title" => self.title.as_deref().map(literal).unwrap_or_default(),
            "tuples_only" => on(self.tuples_only),
            "unicode_border_linestyle" => self.unicode_border.name().to_owned(),
            "unicode_column_linestyle" => self.unicode_column.name().to_owned(),
            "unicode_header_linestyle" => self.unicode_header.name().to_owned(),
            _ => match self.xheader_width {
                HeaderWidth::Full => "full".to_owned(),
                HeaderWidth::Column => "column".to_owned(),
                HeaderWidth::Page => "page".to_owned(),
                HeaderWidth::Columns(columns) => columns.to_string(),
            },
        }
    }
}

fn names_of_formats() -> String {
    Format::ALL.map(|(name, _)| name).join(", ")
}

fn starts(name: &str, value: &str) -> bool {
    !value.is_empty() && name.starts_with(&value.to_ascii_lowercase())
}

fn number(value: &str) -> usize {
    let digits: String = value.trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn unknown(value: &str, what: &str, allowed: &str) -> String {
    format!("unrecognized value \"{value}\" for \"{what}\"\nAvailable values are: {allowed}.")
}

fn switch(flag: &mut bool, value: Option<&str>, option: &str) -> Result<(), String> {
    *flag = match value {
        None => !*flag,
        Some(value) => flag_of(value).ok_or_else(|| {
            format!("unrecognized value \"{value}\" for \"\\pset {option}\": Boolean expected")
        })?,
    };
    Ok(())
}

/// `on`, `off` and what PostgreSQL accepts in their place, abbreviated where it is clear.
pub fn flag_of(value: &str) -> Option<bool> {
    let value = value.to_ascii_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    match value.as_str() {
        "1" | "on" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

/// `1234567.89` as `1,234,567.89`.
pub fn grouped(number: &str) -> String {
    let (sign, rest) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, fraction) = rest.split_at(digits);
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}
