//! TPC-C's random values (specification, clauses 2.1.5, 2.1.6 and 4.3.2), each a function of a seed.

/// `C` of NURand for last names while the tables are filled; that of the run differs from it by 100, as clause 2.1.6.1 asks.
const C_LAST_LOAD: u32 = 123;
const C_LAST_RUN: u32 = 223;
const C_ID: u32 = 259;
const C_ITEM: u32 = 7911;
/// Items of the catalogue, and of the stock of each warehouse.
pub(super) const ITEMS: u32 = 100_000;
/// Customers of a district, and orders it begins with.
pub(super) const CUSTOMERS: u32 = 3_000;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A stream of random numbers (splitmix64; Steele, Lea & Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The stream of a seed; those of neighbouring seeds have nothing in common.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly from `low ..= high`.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        let count = u64::from(high - low) + 1;
        low + ((u128::from(self.next()) * u128::from(count)) >> 64) as u32
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, share: u32) -> bool {
        self.between(1, 100) <= share
    }

    /// A share of one, never 0.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// NURand(A, low, high), clause 2.1.6.
    fn nonuniform(&mut self, a: u32, c: u32, low: u32, high: u32) -> u32 {
        let mixed = self.between(0, a) | self.between(low, high);
        (mixed + c) % (high - low + 1) + low
    }

    /// A customer's number.
    pub fn customer(&mut self) -> u32 {
        self.nonuniform(1023, C_ID, 1, CUSTOMERS)
    }

    /// An item's number.
    pub fn item(&mut self) -> u32 {
        self.nonuniform(8191, C_ITEM, 1, ITEMS)
    }

    /// A last name as the transactions look for it.
    pub fn last_name(&mut self) -> String {
        last_name(self.nonuniform(255, C_LAST_RUN, 0, 999))
    }

    /// A last name of customer `number`: the first thousand have every name once.
    pub fn loaded_last_name(&mut self, number: u32) -> String {
        last_name(if number <= 1000 { number - 1 } else { self.nonuniform(255, C_LAST_LOAD, 0, 999) })
    }

    /// Letters and digits, `low ..= high` of them.
    pub fn text(&mut self, low: u32, high: u32) -> String {
        let length = self.between(low, high);
        self.chars(length, LETTERS)
    }

    /// Digits, `length` of them.
    pub fn digits(&mut self, length: u32) -> String {
        self.chars(length, &LETTERS[52..])
    }

    fn chars(&mut self, length: u32, from: &[u8]) -> String {
        let last = from.len() as u32 - 1;
        (0..length).map(|_| char::from(from[self.between(0, last) as usize])).collect()
    }

    /// 26 to 50 characters, in one of ten cases with `ORIGINAL` somewhere in them (clause 4.3.3.1).
    pub fn data(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.percent(10) {
            let at = self.between(0, text.len() as u32 - 8) as usize;
            text.replace_range(at..at + 8, "ORIGINAL");
        }
        text
    }

    /// A zip code: four digits and `11111`.
    pub fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// The numbers `1 ..= count` in any order.
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=count).collect();
        for at in (1..numbers.len()).rev() {
            numbers.swap(at, self.between(0, at as u32) as usize);
        }
        numbers
    }
}

/// The name of a number below 1000: one syllable for each digit.
fn last_name(number: u32) -> String {
    [number / 100, number / 10 % 10, number % 10].iter().map(|&digit| SYLLABLES[digit as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        // Clause 4.3.2.3 gives these two.
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        let mut random = Random::new(1);
        assert_eq!(random.loaded_last_name(1), "BARBARBAR");
        assert_eq!(random.loaded_last_name(1000), "EINGEINGEING");
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut random = Random::new(7);
        let drawn: Vec<u32> = (0..1000).map(|_| random.between(5, 15)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&5), Some(&15)));
        assert!((0..10_000).all(|_| (1..=CUSTOMERS).contains(&random.customer())));
        assert!((0..10_000).all(|_| (1..=ITEMS).contains(&random.item())));
        assert!((0..1000).all(|_| random.unit() > 0.0));
        let mut numbers = random.permutation(100);
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut random = Random::new(3);
        let texts: Vec<String> = (0..2000).map(|_| random.data()).collect();
        let original = texts.iter().filter(|text| text.contains("ORIGINAL")).count();
        assert!((120..280).contains(&original), "{original} of 2000");
        assert!(texts.iter().all(|text| (26..=50).contains(&text.len())));
    }
}
