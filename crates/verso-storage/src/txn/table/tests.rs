use std::sync::atomic::{AtomicU64, Ordering};

use verso_env::Env;

use super::super::inventory::CHUNK;
use super::super::snapshot::{ReadView, Registration};
use super::*;

fn fresh() -> Arc<Transactions> {
    Arc::new(Transactions::new(RestoredTransactions::default()))
}

fn view(transactions: &Arc<Transactions>, registration: &Registration, own: TxnId) -> ReadView {
    ReadView::new(transactions, registration, own, false)
}

#[test]
fn a_snapshot_sees_what_was_committed_before_it() {
    let transactions = fresh();
    let (a, b) = (transactions.begin_write(), transactions.begin_write());
    assert_eq!((a, b), (TxnId(1), TxnId(2)));
    transactions.mark_committing(b, Lsn(10));
    let before = transactions.register();
    let old = view(&transactions, &before, TxnId::NONE);
    assert_eq!(transactions.state(b), TxnState::Active);
    transactions.publish_durable(Lsn(9));
    assert_eq!(transactions.state(b), TxnState::Active);
    transactions.publish_durable(Lsn(10));
    assert_eq!(transactions.commit_number(b), Some(2));
    let after = transactions.register();
    let new = view(&transactions, &after, TxnId::NONE);
    assert!(!old.visible(b) && new.visible(b));
    assert!(!old.visible(a) && !new.visible(a) && view(&transactions, &after, a).visible(a));
    assert_eq!((after.all_below, after.oldest_active), (a, a));
    transactions.publish_commit(a);
    assert!(!new.visible(a));
    assert_eq!(transactions.register().all_below, TxnId(3));
}

#[test]
fn t1_commits_are_published_in_the_order_of_their_numbers_as_far_as_the_log_is_durable() {
    let transactions = fresh();
    let [a, b, c] = [(); 3].map(|()| transactions.begin_write());
    assert_eq!(transactions.mark_committing(a, Lsn(20)), Lsn(20));
    // Appended before, marked after: it is published behind the other, and needs as much of the log.
    assert_eq!(transactions.mark_committing(b, Lsn(10)), Lsn(20));
    assert_eq!(transactions.mark_committing(c, Lsn(30)), Lsn(30));
    let states = || [a, b, c].map(|txn| transactions.state(txn));
    transactions.publish_durable(Lsn(10));
    assert_eq!(states(), [TxnState::Active; 3]);
    transactions.publish_durable(Lsn(20));
    assert_eq!(states(), [TxnState::Committed, TxnState::Committed, TxnState::Active]);
    assert!(transactions.is_logged(c) && !transactions.is_logged(a));
    let now = transactions.register();
    let shown = view(&transactions, &now, TxnId::NONE);
    assert!(shown.visible(a) && shown.visible(b) && !shown.visible(c));
    let met = Arc::default();
    let change = view(&transactions, &now, TxnId::NONE).with_logged(&now, &met);
    assert!(change.visible(a) && !met.load(Ordering::Relaxed));
    assert!(change.visible(c) && met.load(Ordering::Relaxed));
    transactions.publish_durable(Lsn(30));
    assert!(change.visible(c) && !shown.visible(c));
    assert_eq!(transactions.logged_end(), None);
}

#[test]
fn a_dirty_view_sees_all_but_the_dead() {
    let transactions = fresh();
    let registration = transactions.register();
    let dirty = ReadView::new(&transactions, &registration, TxnId::NONE, true);
    let (a, b) = (transactions.begin_write(), transactions.begin_write());
    transactions.mark_dead(b);
    assert!(dirty.visible(a) && !dirty.visible(b));
}

#[test]
fn a_rollback_is_not_seen_by_those_who_may_have_copied_its_changes() {
    let transactions = fresh();
    let (a, b) = (transactions.begin_write(), transactions.begin_write());
    transactions.mark_dead(b);
    let registration = transactions.register();
    let old = view(&transactions, &registration, TxnId::NONE);
    transactions.rolled_back_clean(a);
    transactions.backed_out(b);
    assert_eq!(transactions.state(b), TxnState::Committed);
    assert!(!old.visible(a) && !old.visible(b));
    let registration = transactions.register();
    assert_eq!(registration.all_below, TxnId(3));
}

#[test]
fn the_dead_stop_the_oit_until_they_are_backed_out() {
    let transactions = fresh();
    let (a, b) = (transactions.begin_write(), transactions.begin_write());
    transactions.mark_dead(a);
    transactions.publish_commit(b);
    let three = TxnId(3);
    assert_eq!(transactions.markers(), Markers { next: three, oit: a, oat: three, ost: three });
    assert_eq!((transactions.dead(), transactions.register().all_below), (vec![a], a));
    transactions.backed_out(a);
    assert_eq!((transactions.markers().oit, transactions.dead()), (three, vec![]));
}

#[test]
fn the_ost_is_the_oat_that_the_oldest_snapshot_saw() {
    let transactions = fresh();
    let a = transactions.begin_write();
    let registration = transactions.register();
    transactions.publish_commit(a);
    assert_eq!((transactions.markers().oat, transactions.markers().ost), (TxnId(2), a));
    drop(registration);
    assert_eq!(transactions.markers().ost, TxnId(2));
}

#[test]
fn chunks_behind_the_horizon_go_and_their_dead_stay_known() {
    let transactions = fresh();
    let dead = transactions.begin_write();
    transactions.mark_dead(dead);
    let rounds = |count: usize| {
        for _ in 0..count {
            let id = transactions.begin_write();
            transactions.publish_commit(id);
        }
    };
    let registration = transactions.register();
    let old = view(&transactions, &registration, TxnId::NONE);
    rounds(3 * CHUNK);
    assert_eq!(transactions.directory().chunk_count(), 4);
    assert!(!old.visible(TxnId(2)) && !old.visible(TxnId(3 * CHUNK as u64)));
    drop(registration);
    rounds(2 * CHUNK);
    assert!(transactions.directory().chunk_count() <= 2);
    assert_eq!(transactions.state(dead), TxnState::Dead);
    assert_eq!((transactions.commit_number(dead), transactions.commit_number(TxnId(2))), (None, Some(0)));
    let registration = transactions.register();
    let before = view(&transactions, &registration, TxnId::NONE);
    transactions.backed_out(dead);
    assert!(!before.visible(dead) && !view(&transactions, &registration, TxnId::NONE).visible(dead));
    drop(registration);
    rounds(CHUNK);
    assert_eq!(transactions.commit_number(dead), Some(0));
}

#[test]
fn a_restart_goes_on_where_the_checkpoint_was() {
    let transactions = fresh();
    let ids: Vec<TxnId> = (0..4).map(|_| transactions.begin_write()).collect();
    transactions.mark_dead(ids[1]);
    transactions.publish_commit(ids[0]);
    transactions.mark_committing(ids[2], Lsn(10));
    let mut bytes = Vec::new();
    transactions.encode(&mut bytes);
    for length in 0..bytes.len() {
        assert!(Transactions::decode(&mut &bytes[..length]).is_err());
    }
    bytes.push(9);
    let mut rest = &bytes[..];
    let (restored, active) = Transactions::decode(&mut rest).unwrap();
    assert_eq!((rest, active), (&[9_u8][..], vec![ids[3]]));
    let again = Arc::new(Transactions::new(restored));
    assert_eq!((again.state(ids[1]), again.state(ids[2])), (TxnState::Dead, TxnState::Committed));
    // What was committing has got the number behind those that were published.
    assert_eq!((again.horizon(), again.begin_write(), again.markers().oit), (3, TxnId(5), ids[1]));
    let registration = again.register();
    let view = view(&again, &registration, TxnId::NONE);
    assert!(view.visible(ids[2]) && !view.visible(ids[1]));
}

#[test]
fn v6_an_idle_registration_holds_nothing_and_is_taken_up_only_where_it_still_is() {
    let transactions = fresh();
    let commit = || transactions.publish_commit(transactions.begin_write());
    let registration = transactions.register();
    registration.leave_idle();
    assert!(registration.take_up(false), "nothing has happened");
    commit();
    assert_eq!(transactions.horizon(), registration.number, "held again");
    registration.leave_idle();
    assert!(!registration.take_up(false), "the snapshot is not that of this moment");
    assert_eq!(transactions.horizon(), registration.number + 1);
    assert_eq!(transactions.markers().ost, transactions.markers().oat);

    let registration = transactions.register();
    registration.leave_idle();
    assert_eq!(transactions.horizon(), registration.number);
    assert!(!registration.take_up(false), "the horizon did not wait for it");
    drop(registration);

    // Behind one that holds, an idle one stays in the list until its turn comes.
    let (holds, idle) = (transactions.register(), transactions.register());
    idle.leave_idle();
    commit();
    assert_eq!(transactions.horizon(), holds.number);
    drop(holds);
    assert_eq!(transactions.horizon(), idle.number + 1);
    drop(idle);
}

#[test]
fn v6_a_registration_made_again_holds_the_horizon_of_its_new_moment() {
    let transactions = fresh();
    let commit = || transactions.publish_commit(transactions.begin_write());
    let mut again = transactions.register();
    let first = again.number;
    // Still held, idle and in the list, idle and taken out of it.
    for leave in [false, true, true] {
        if leave {
            again.leave_idle();
        }
        commit();
        if transactions.horizon() > again.number {
            assert!(!again.take_up(false));
        }
        transactions.register_again(&mut again);
        assert_eq!(again.number, transactions.counter());
        commit();
        assert_eq!(transactions.horizon(), again.number, "what it stood for before holds nothing");
    }
    assert_eq!(again.number, first + 5);
    let other = transactions.register();
    drop(again);
    assert_eq!(transactions.horizon(), other.number, "it leaves nothing behind");
}

/// Statements one after the other, most of which find their registration as they left it, while the horizon moves.
#[test]
fn v6_taken_up_snapshots_hold_the_horizon() {
    const ROUNDS: usize = 30_000;
    let (env, transactions) = (Env::real(), fresh());
    let left = Arc::new(AtomicU64::new(1));
    let writer = {
        let (transactions, left) = (transactions.clone(), left.clone());
        env.spawn("writer", move || {
            for round in 0..ROUNDS {
                if round % 8 == 0 {
                    transactions.publish_commit(transactions.begin_write());
                }
                transactions.horizon();
            }
            left.fetch_sub(1, Ordering::Release);
        })
    };
    let mut idle: Option<Registration> = None;
    let mut taken_up = 0;
    while left.load(Ordering::Acquire) == 1 {
        let before = transactions.counter();
        let registration = match idle.take() {
            Some(registration) if registration.take_up(false) => {
                taken_up += 1;
                registration
            }
            Some(mut registration) => {
                transactions.register_again(&mut registration);
                registration
            }
            None => transactions.register(),
        };
        assert!(before <= registration.number, "as new as the moment it was taken up");
        assert!(transactions.horizon() <= registration.number);
        registration.leave_idle();
        idle = Some(registration);
    }
    writer.join().unwrap();
    drop(idle);
    assert!(transactions.horizon() > ROUNDS as u64 / 8);
    println!("{taken_up} registrations were taken up");
}

#[test]
fn snapshots_among_threads_see_no_gap_and_hold_the_horizon() {
    const WRITERS: usize = 3;
    const ROUNDS: usize = 20_000;
    let (env, transactions) = (Env::real(), fresh());
    let left = Arc::new(AtomicU64::new(WRITERS as u64));
    let writers: Vec<_> = (0..WRITERS)
        .map(|i| {
            let (transactions, left) = (transactions.clone(), left.clone());
            env.spawn(&format!("writer {i}"), move || {
                for _ in 0..ROUNDS {
                    let id = transactions.begin_write();
                    transactions.publish_commit(id);
                }
                left.fetch_sub(1, Ordering::Release);
            })
        })
        .collect();
    let (mut last_horizon, mut done) = (0, false);
    while !done {
        done = left.load(Ordering::Acquire) == 0;
        let registration = transactions.register();
        let view = view(&transactions, &registration, TxnId::NONE);
        let horizon = transactions.horizon();
        assert!(last_horizon <= horizon && horizon <= registration.number);
        last_horizon = horizon;
        // Every commit takes one number, from 2 on: as many are visible as the number says, now and later.
        let (base, next) = (registration.all_below.0, transactions.markers().next.0);
        let visible = (base..next).filter(|id| view.visible(TxnId(*id))).count() as u64;
        assert_eq!(base - 1 + visible, registration.number - 1);
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(transactions.horizon(), (WRITERS * ROUNDS) as u64 + 1);
}
