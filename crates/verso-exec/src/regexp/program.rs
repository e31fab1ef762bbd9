//! From trees to programs: Thompson's automata, forward and backward, over characters and places.

use verso_env::stack;
use verso_types::TypeError;

use super::invalid;
use super::syntax::{Assert, Node, Set};

/// The most steps that the programs of an expression have.
const STEPS_MAX: usize = 100_000;

/// The steps that the programs of an expression may still have.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(STEPS_MAX)
    }
}

impl Budget {
    /// How many they have.
    pub(super) fn used(&self) -> usize {
        STEPS_MAX - self.0
    }
}

/// A step of a program.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Takes a character of a set.
    Set(Set),
    /// Goes on at both.
    Split(usize, usize),
    Jump(usize),
    /// Goes on where the place is so.
    Assert(Assert),
    /// Goes on where a text follows here, or ends here, or not.
    Look {
        behind: bool,
        negated: bool,
        program: Program,
    },
    /// Notes that this part of a row is done.
    Mark(usize),
    /// Done.
    Match,
}

/// What matches a tree.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub steps: Vec<Step>,
    /// Does it run through the text backward?
    pub backward: bool,
}

impl Program {
    /// The program of a tree. What a group has matched counts as any text.
    pub fn of(node: &Node, backward: bool, budget: &mut Budget) -> Result<Program, TypeError> {
        Self::of_row(std::slice::from_ref(node), backward, false, budget)
    }

    /// The program of parts in a row; with `marks` it notes where each of them may begin, which makes sense backward.
    pub fn of_row(
        parts: &[Node],
        backward: bool,
        marks: bool,
        budget: &mut Budget,
    ) -> Result<Program, TypeError> {
        let mut maker = Maker { steps: Vec::new(), backward, budget };
        let numbered: Vec<(usize, &Node)> = parts.iter().enumerate().collect();
        let mut one = |(number, node): &(usize, &Node)| {
            maker.node(node)?;
            if marks {
                maker.push(Step::Mark(*number))?;
            }
            Ok::<_, TypeError>(())
        };
        match backward {
            true => numbered.iter().rev().try_for_each(&mut one)?,
            false => numbered.iter().try_for_each(&mut one)?,
        }
        maker.push(Step::Match)?;
        Ok(Program { steps: maker.steps, backward })
    }
}

struct Maker<'b> {
    steps: Vec<Step>,
    backward: bool,
    budget: &'b mut Budget,
}

impl Maker<'_> {
    fn push(&mut self, step: Step) -> Result<usize, TypeError> {
        let Some(left) = self.budget.0.checked_sub(1) else {
            return Err(invalid("regular expression is too complex"));
        };
        self.budget.0 = left;
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn node(&mut self, node: &Node) -> Result<(), TypeError> {
        if stack::check().is_err() {
            return Err(invalid("regular expression is too complex"));
        }
        match node {
            Node::Empty => {}
            Node::Set(set) => drop(self.push(Step::Set(set.clone()))?),
            Node::Assert(assert) => drop(self.push(Step::Assert(*assert))?),
            Node::Look { behind, negated, node } => {
                let program = Program::of(node, *behind, self.budget)?;
                self.push(Step::Look { behind: *behind, negated: *negated, program })?;
            }
            Node::Back(_) => {
                let any = Node::Set(Set::any(false));
                self.endless(&any)?;
            }
            Node::Concat(parts) if self.backward => {
                parts.iter().rev().try_for_each(|part| self.node(part))?;
            }
            Node::Concat(parts) => parts.iter().try_for_each(|part| self.node(part))?,
            Node::Alternate(branches) => {
                let mut ends = Vec::new();
                for (n, branch) in branches.iter().enumerate() {
                    if n + 1 == branches.len() {
                        self.node(branch)?;
                        break;
                    }
                    let split = self.push(Step::Split(0, 0))?;
                    self.node(branch)?;
                    ends.push(self.push(Step::Jump(0))?);
                    self.steps[split] = Step::Split(split + 1, self.steps.len());
                }
                let end = self.steps.len();
                ends.into_iter().for_each(|at| self.steps[at] = Step::Jump(end));
            }
            Node::Repeat { node, min, max, .. } => {
                for _ in 0..*min {
                    self.node(node)?;
                }
                match max {
                    None => self.endless(node)?,
                    Some(max) => {
                        let mut splits = Vec::new();
                        for _ in *min..*max {
                            splits.push(self.push(Step::Split(0, 0))?);
                            self.node(node)?;
                        }
                        let end = self.steps.len();
                        splits.into_iter().for_each(|at| self.steps[at] = Step::Split(at + 1, end));
                    }
                }
            }
            Node::Group(_, node) => self.node(node)?,
        }
        Ok(())
    }

    fn endless(&mut self, node: &Node) -> Result<(), TypeError> {
        let split = self.push(Step::Split(0, 0))?;
        self.node(node)?;
        self.push(Step::Jump(split))?;
        self.steps[split] = Step::Split(split + 1, self.steps.len());
        Ok(())
    }
}
