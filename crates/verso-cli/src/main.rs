mod shell;

fn main() {}
