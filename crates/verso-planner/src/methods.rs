//! Ways to read and to join that may be switched off, as in PostgreSQL (`enable_hashjoin` and its like).

/// Which ways the planner takes where it has the choice; what is off is the last resort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Methods {
    /// Joins by a hash table.
    pub hash_join: bool,
    /// Joins of sorted inputs.
    pub merge_join: bool,
    /// Partners are looked up for each row.
    pub nested_loop: bool,
    /// Tables are read by an index.
    pub index_scan: bool,
    /// Tables are read in their order where several indexes together, or an inverted one, find rows.
    pub bitmap_scan: bool,
    /// Tables are read as a whole although an index would do.
    pub seq_scan: bool,
}

impl Methods {
    /// All of them.
    pub const ALL: Methods = Methods {
        hash_join: true,
        merge_join: true,
        nested_loop: true,
        index_scan: true,
        bitmap_scan: true,
        seq_scan: true,
    };

    /// That of a setting.
    pub fn by_setting(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "enable_hashjoin" => &mut self.hash_join,
            "enable_mergejoin" => &mut self.merge_join,
            "enable_nestloop" => &mut self.nested_loop,
            "enable_indexscan" => &mut self.index_scan,
            "enable_bitmapscan" => &mut self.bitmap_scan,
            "enable_seqscan" => &mut self.seq_scan,
            _ => return None,
        })
    }
}

impl Default for Methods {
    fn default() -> Methods {
        Methods::ALL
    }
}
