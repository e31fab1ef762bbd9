//! Roman numerals.

/// Roman numerals of 1 to 3999.
pub(super) fn roman(number: i64) -> Option<String> {
    const PARTS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut rest = (1..4000).contains(&number).then_some(number)?;
    let mut out = String::new();
    for (value, letters) in PARTS {
        while rest >= value {
            out.push_str(letters);
            rest -= value;
        }
    }
    Some(out)
}

/// The number that a Roman numeral stands for; none if it is not written as usual.
pub(super) fn of_roman(text: &str) -> Option<i64> {
    let value = |c: char| match c.to_ascii_uppercase() {
        'I' => 1,
        'V' => 5,
        'X' => 10,
        'L' => 50,
        'C' => 100,
        'D' => 500,
        'M' => 1000,
        _ => 0,
    };
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let letters: Vec<char> = text.chars().take(15).take_while(|c| value(*c) != 0).collect();
    let sum = letters.iter().enumerate().map(|(at, letter)| {
        let smaller = letters.get(at + 1).is_some_and(|next| value(*letter) < value(*next));
        if smaller { -value(*letter) } else { value(*letter) }
    });
    let number: i64 = sum.sum();
    let usual = roman(number)?;
    usual.eq_ignore_ascii_case(&letters.into_iter().collect::<String>()).then_some(number)
}
