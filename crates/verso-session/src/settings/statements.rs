//! What a session does about its statements: which of them are logged, and with which plans, and whether prepared ones are planned
//! for the values of their parameters.

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
