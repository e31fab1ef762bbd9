//! Backups of whole databases, and what becomes of them.

mod crash;
mod damage;
mod ending;
mod moving;
mod part;
mod round_trip;
mod world;
