//! Rules by name: tests switch them off to compare answers.

use crate::methods::Methods;

/// Which rules are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Conditions move below the operators whose rows they judge.
    pub push: bool,
    /// Trees of inner joins are put into another order.
    pub order: bool,
    /// Leaves are looked up by an index for each row of what is joined before them.
    pub lookup: bool,
    /// Queries in conditions that depend on the row become joins.
    pub unnest: bool,
    /// Queries become joins only where that looks cheaper.
    pub costs: bool,
    /// Equalities follow from others: `a = b`, `b = c` or `b = 1`.
    pub equalities: bool,
    /// A query of WITH that is read once becomes part of its reader.
    pub inline: bool,
    /// Columns that nothing uses are left out.
    pub narrow: bool,
    /// A function in SQL becomes part of the plan that calls it.
    pub functions: bool,
    /// How tables are read and joined; no rule, but what rules and access paths choose from.
    pub methods: Methods,
}

impl Rules {
    /// All of them.
    pub const ALL: Rules = Rules {
        push: true,
        order: true,
        lookup: true,
        unnest: true,
        costs: true,
        equalities: true,
        inline: true,
        narrow: true,
        functions: true,
        methods: Methods::ALL,
    };
    /// None.
    pub const NONE: Rules = Rules {
        push: false,
        order: false,
        lookup: false,
        unnest: false,
        costs: false,
        equalities: false,
        inline: false,
        narrow: false,
        functions: false,
        methods: Methods::ALL,
    };
    /// Their names.
    pub const NAMES: [&str; 9] =
        ["push", "order", "lookup", "unnest", "costs", "equalities", "inline", "narrow", "functions"];

    /// All but those of a list with commas; `None` where it names one that there is not.
    #[must_use]
    pub fn without(list: &str) -> Option<Rules> {
        let mut rules = Rules::ALL;
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "all" {
                rules = Rules::NONE;
            } else {
                *rules.by_name(name)? = false;
            }
        }
        Some(rules)
    }

    fn by_name(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "push" => &mut self.push,
            "order" => &mut self.order,
            "lookup" => &mut self.lookup,
            "unnest" => &mut self.unnest,
            "costs" => &mut self.costs,
            "equalities" => &mut self.equalities,
            "inline" => &mut self.inline,
            "narrow" => &mut self.narrow,
            "functions" => &mut self.functions,
            _ => return None,
        })
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::Rules;

    #[test]
    fn every_rule_can_be_switched_off_by_its_name() {
        for name in Rules::NAMES {
            assert_ne!(Rules::without(name), Some(Rules::ALL), "{name}");
        }
        assert_eq!(Rules::without(&Rules::NAMES.join(", ")), Some(Rules::NONE));
        assert_eq!(Rules::without("all"), Some(Rules::NONE));
        assert_eq!(Rules::without(""), Some(Rules::ALL));
        assert_eq!(Rules::without("push,nosuch"), None);
    }
}
