//! The models, one test each.

use verso_interleavings::buffer::models as latch;
use verso_interleavings::wal::models as turns;

#[test]
fn l1_readers_and_writers_exclude_each_other_and_see_what_the_one_before_wrote() {
    latch::readers_and_writers();
}

#[test]
fn l3_a_change_behind_the_copy_of_the_flusher_is_dirty_again() {
    latch::flusher_and_writer();
}

#[test]
fn l5_who_sleeps_is_woken() {
    latch::sleepers();
}

#[test]
fn an_evicted_page_is_read_by_nobody() {
    latch::eviction();
}

#[test]
fn g1_g2_one_leads_and_every_commit_becomes_durable() {
    turns::commits();
}

#[test]
fn g2_who_waits_behind_an_heir_is_woken() {
    turns::crowd();
}

#[test]
fn g2_a_lead_that_fails_is_heard_of_by_everybody() {
    turns::failure();
}
