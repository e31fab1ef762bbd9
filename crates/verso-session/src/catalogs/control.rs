//! What PostgreSQL's control file says, the folder of the log, and what became of transactions.
//!
//! Columns without a meaning here (timelines, multixacts, sizes of things that there are not) are NULL.

use verso_catalog::CatalogSnapshot;
use verso_exec::ExecError;
use verso_storage::{TxnFate, TxnId};
use verso_types::opaque::lsn::PgLsn;
use verso_types::{TypeError, Value};

use super::server::may_call;
use crate::services::EPOCH_MICROS;
use crate::views::{Views, int};

/// PostgreSQL's first number of a transaction of users: those below were always there.
const FIRST_NORMAL: u64 = 3;

/// The value of such a function; `None` where it is another one.
pub(super) fn call(
    views: &Views<'_>,
    catalog: &CatalogSnapshot,
    function: &str,
    args: &[Value],
) -> Result<Option<Value>, ExecError> {
    Ok(Some(match function {
        "pg_control_checkpoint" => one(checkpoint(views)),
        "pg_control_system" => one(system(views)),
        "pg_control_recovery" => {
            let nowhere = || PgLsn(0).into_value();
            // A database that answers is not in recovery.
            one(vec![nowhere(), Value::Int4(0), nowhere(), nowhere(), Value::Bool(false)])
        }
        "pg_control_init" => one(sizes(views)),
        "pg_ls_waldir" => {
            may_call(views, catalog, function)?;
            let segments = views.services.instance.engine.log_segments().into_iter();
            let row = |segment: verso_storage::wal::SegmentInfo| {
                Value::Record([Value::text(&segment.file), int(segment.bytes), Value::Null].into())
            };
            Value::Array(segments.map(row).collect())
        }
        "txid_status" | "pg_xact_status" => fate(views, args)?,
        "pg_create_restore_point" => {
            may_call(views, catalog, function)?;
            restore_point(views, args)?
        }
        _ => return Ok(None),
    }))
}

fn one(row: Vec<Value>) -> Value {
    Value::Array(std::iter::once(Value::Record(row.into())).collect())
}

/// When the last checkpoint was done since the database was opened.
fn checkpointed_at(views: &Views<'_>) -> Value {
    match views.services.instance.engine.statistics().checkpoints.last_at {
        0 => Value::Null,
        at => Value::Timestamptz(at - EPOCH_MICROS),
    }
}

fn checkpoint(views: &Views<'_>) -> Vec<Value> {
    let control = views.services.instance.engine.control();
    let place = |lsn: verso_storage::Lsn| PgLsn(lsn.0).into_value();
    let redo = place(control.redo);
    let file = super::server::segment(views, std::slice::from_ref(&redo));
    let mut row = vec![place(control.checkpoint), redo, file];
    row.resize(17, Value::Null);
    row.push(checkpointed_at(views));
    row
}

fn system(views: &Views<'_>) -> Vec<Value> {
    let control = views.services.instance.engine.control();
    let format = Value::Int4(i32::try_from(control.format).unwrap_or(i32::MAX));
    // Of the database's sixteen bytes the first eight.
    let id = control.database.0.first_chunk().map_or(0, |id| i64::from_le_bytes(*id)) & i64::MAX;
    vec![format, Value::Null, Value::Int8(id), checkpointed_at(views)]
}

fn sizes(views: &Views<'_>) -> Vec<Value> {
    let number = |bytes: u64| Value::Int4(i32::try_from(bytes).unwrap_or(i32::MAX));
    let shown = |name: &str| {
        let known = views.services.show(name).and_then(|shown| shown.parse::<i32>().ok());
        known.map_or(Value::Null, Value::Int4)
    };
    let page = number(views.services.instance.engine.space().page_size);
    let sector = number(verso_storage::wal::SECTOR as u64);
    let columns = shown("max_index_keys");
    let none = || Value::Null;
    // PostgreSQL counts the zero byte behind a name.
    let name = match shown("max_identifier_length") {
        Value::Int4(length) => Value::Int4(length + 1),
        other => other,
    };
    // Pages have checksums, of the first kind there was.
    vec![none(), page, none(), sector, none(), name, columns, none(), none(), none(), Value::Int4(1), none()]
}

fn fate(views: &Views<'_>, args: &[Value]) -> Result<Value, ExecError> {
    let number = match args.first() {
        Some(Value::Xid8(number)) => *number,
        Some(Value::Int8(number)) => number.cast_unsigned(),
        _ => return Ok(Value::Null),
    };
    if number < FIRST_NORMAL {
        return Ok(if number == 0 { Value::Null } else { Value::text("committed") });
    }
    let Some(fate) = views.services.instance.engine.txn_fate(TxnId(number)) else {
        let text = format!("transaction ID {number} is in the future");
        return Err(ExecError::raised("22023", text));
    };
    Ok(match fate {
        TxnFate::InProgress => Value::text("in progress"),
        TxnFate::Committed => Value::text("committed"),
        TxnFate::Aborted => Value::text("aborted"),
        TxnFate::Unknown => Value::Null,
    })
}

fn restore_point(views: &Views<'_>, args: &[Value]) -> Result<Value, ExecError> {
    let Some(name) = args.first().and_then(Value::as_str) else { return Ok(Value::Null) };
    let most = verso_storage::engine::RESTORE_POINT_BYTES_MAX;
    if name.len() > most {
        let text = format!("value too long for restore point (maximum {most} characters)");
        return Err(TypeError::new("22023", text).into());
    }
    let at = views.services.instance.engine.restore_point(name)?;
    Ok(PgLsn(at.0).into_value())
}
