//! What a session does about its statements: which of them are logged, and with which plans, whether prepared ones are planned
//! for the values of their parameters, and of which figures are kept.

/// Which statements are logged when they begin; each of these includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogStatement {
    /// None.
    #[default]
    None,
    /// Those that define something.
    Ddl,
    /// Those that change rows.
    Mod,
    /// All.
    All,
}

impl LogStatement {
    pub(super) const ALL: [LogStatement; 4] =
        [LogStatement::None, LogStatement::Ddl, LogStatement::Mod, LogStatement::All];

    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            LogStatement::None => "none",
            LogStatement::Ddl => "ddl",
            LogStatement::Mod => "mod",
            LogStatement::All => "all",
        }
    }
}

/// What is logged of the plans of slow statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogPlans {
    /// Nothing.
    #[default]
    Off,
    /// The plan.
    On,
    /// The plan, with what each operator did.
    Analyze,
}

impl LogPlans {
    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            LogPlans::Off => "off",
            LogPlans::On => "on",
            LogPlans::Analyze => "analyze",
        }
    }
}

/// Whether a prepared statement is planned anew for the values of its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanCacheMode {
    /// As long as that may pay.
    #[default]
    Auto,
    /// Never.
    ForceGeneric,
    /// Each time.
    ForceCustom,
}

impl PlanCacheMode {
    pub(super) const ALL: [PlanCacheMode; 3] =
        [PlanCacheMode::Auto, PlanCacheMode::ForceGeneric, PlanCacheMode::ForceCustom];

    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            PlanCacheMode::Auto => "auto",
            PlanCacheMode::ForceGeneric => "force_generic_plan",
            PlanCacheMode::ForceCustom => "force_custom_plan",
        }
    }
}

/// Whether statements have numbers, and whether EXPLAIN shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryIds {
    /// They have, and EXPLAIN shows them where the database has asked for `pg_stat_statements`.
    #[default]
    Auto,
    /// They have, and EXPLAIN does not show them.
    Regress,
    /// They have, and EXPLAIN shows them.
    On,
    /// They have not: no figures are kept of them.
    Off,
}

impl QueryIds {
    pub(super) const ALL: [QueryIds; 4] = [QueryIds::Auto, QueryIds::Regress, QueryIds::On, QueryIds::Off];

    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            QueryIds::Auto => "auto",
            QueryIds::Regress => "regress",
            QueryIds::On => "on",
            QueryIds::Off => "off",
        }
    }
}

/// Of which statements figures are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Of none.
    None,
    /// Of those that clients send.
    Top,
    /// Of those of functions, too.
    All,
}

impl Track {
    pub(super) const ALL: [Track; 3] = [Track::None, Track::Top, Track::All];

    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            Track::None => "none",
            Track::Top => "top",
            Track::All => "all",
        }
    }
}

/// The settings of `pg_stat_statements` that sessions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracks {
    /// `pg_stat_statements.track`, where somebody has set it. Where nobody has, statements that clients send are counted in a
    /// database that has asked for the extension.
    pub which: Option<Track>,
    /// `pg_stat_statements.track_utility`: also of statements without plans.
    pub utility: bool,
    /// `pg_stat_statements.track_planning`: also how long plans take to make.
    pub planning: bool,
    /// `compute_query_id`.
    pub ids: QueryIds,
}

impl Default for Tracks {
    fn default() -> Tracks {
        Tracks { which: None, utility: true, planning: false, ids: QueryIds::Auto }
    }
}

impl Tracks {
    /// What SHOW says of `pg_stat_statements.track`.
    pub(crate) fn shown(&self) -> Track {
        self.which.unwrap_or(Track::Top)
    }

    /// Whether figures are kept of a statement that a client sends; `is_plain` of one with a plan; `asked` where the database has
    /// the extension.
    #[inline]
    pub(crate) fn top(&self, is_plain: bool, asked: bool) -> bool {
        self.which.map_or(asked, |which| which != Track::None)
            && self.ids != QueryIds::Off
            && (is_plain || self.utility)
    }

    /// Whether they are kept of statements of functions.
    #[inline]
    pub(crate) fn nested(&self) -> bool {
        self.which == Some(Track::All) && self.ids != QueryIds::Off
    }
}
