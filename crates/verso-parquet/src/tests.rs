//! Files as other programs write them.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
    Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use verso_env::Env;
use verso_exec::files::{FileFormat, FileRequest};
use verso_types::{Batch, SqlType, TimeStyle, format_text};

use super::{Parquet, guarded};

const SCHEMA: &str = "message m {
    optional int32 millis (TIME_MILLIS);
    required int64 nanos (TIMESTAMP(NANOS, false));
    optional int96 old;
    required int32 small (DECIMAL(5, 2));
    optional binary wide (DECIMAL(30, 4));
    required fixed_len_byte_array(3) fixed (DECIMAL(6, 1));
    optional int32 unsigned (UINT_32);
    required int64 longest (UINT_64);
    optional int32 tiny (INT_8);
    required binary name (STRING);
    optional group list (LIST) { repeated group list { optional int32 element; } }
    optional double last;
    required fixed_len_byte_array(2) half (FLOAT16);
    optional fixed_len_byte_array(12) length (INTERVAL);
}";

fn file() -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    macro_rules! column {
        ($ty:ty, $values:expr, $levels:expr) => {{
            let mut column = group.next_column().unwrap().unwrap();
            let levels: Option<&[i16]> = $levels;
            column.typed::<$ty>().write_batch(&$values, levels, None).unwrap();
            column.close().unwrap();
        }};
    }
    let mut old = Int96::new();
    // 1970-01-02 00:00:01
    old.set_data(1_000_000_000, 0, 2_440_589);
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(ByteArray::from(bytes.to_vec()));
    column!(Int32Type, [3_600_001], Some(&[0, 1]));
    column!(Int64Type, [-1, 1_500_000_000], None);
    column!(Int96Type, [old], Some(&[1, 0]));
    column!(Int32Type, [-12_345, 7], None);
    column!(ByteArrayType, [ByteArray::from(vec![0xff, 0x38])], Some(&[0, 1]));
    column!(FixedLenByteArrayType, [fixed(&[0, 0, 15]), fixed(&[0xff, 0xff, 0xf6])], None);
    column!(Int32Type, [-1], Some(&[1, 0]));
    column!(Int64Type, [-1, 1], None);
    column!(Int32Type, [-128], Some(&[0, 1]));
    column!(ByteArrayType, [ByteArray::from("a"), ByteArray::from("b")], None);
    let mut list = group.next_column().unwrap().unwrap();
    list.typed::<Int32Type>().write_batch(&[1, 2], Some(&[3, 3, 0]), Some(&[0, 1, 0])).unwrap();
    list.close().unwrap();
    column!(DoubleType, [2.5], Some(&[1, 0]));
    column!(FixedLenByteArrayType, [fixed(&[0x00, 0xc1]), fixed(&[0x01, 0x00])], None);
    let length = [1, 0, 0, 0, 2, 0, 0, 0, 0xac, 0x0d, 0, 0];
    column!(FixedLenByteArrayType, [fixed(&length)], Some(&[1, 0]));
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn types_of_files_are_types_of_sql() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.parquet");
    std::fs::write(&path, file()).unwrap();
    let style = TimeStyle::UTC;
    let vfs = Env::real().vfs;
    let request = FileRequest { vfs, files: vec![path], options: &[], columns: None, style: &style };
    let table = Parquet.describe(&request).unwrap();
    let shown: Vec<String> =
        table.columns.iter().map(|column| format!("{} {}", column.name, column.ty)).collect();
    assert_eq!(
        shown.join(", "),
        "millis time without time zone, nanos timestamp without time zone, old timestamp without time zone, \
         small numeric(5,2), wide numeric(30,4), fixed numeric(6,1), unsigned bigint, longest numeric, \
         tiny smallint, name text, list jsonb, last double precision, half real, \
         length interval"
    );
    assert_eq!(table.rows, 2.0);
    // the list is there and cannot be read; other columns are read by their own places
    assert!(table.open(&[10], &style).err().unwrap().to_string().contains("\"list\""));
    let wanted: Vec<usize> = (0..14).filter(|at| *at != 10).collect();
    let types: Vec<SqlType> = wanted.iter().map(|at| table.columns[*at].ty.clone()).collect();
    let mut rows = table.open(&wanted, &style).unwrap();
    let mut batch = Batch::of_types(&types);
    assert!(rows.next(&mut batch).unwrap());
    let row = |row: usize| {
        let cell = |(column, ty): (&verso_types::Column, &SqlType)| {
            let mut text = String::new();
            format_text(&column.value(row, ty), ty, &style, &mut text);
            text
        };
        batch.columns.iter().zip(&types).map(cell).collect::<Vec<_>>().join("|")
    };
    assert_eq!(
        row(0),
        "|1969-12-31 23:59:59.999999|1970-01-02 00:00:01|-123.45||1.5|4294967295|18446744073709551615||a|2.5|-2.5|1 mon 2 days 00:00:03.5"
    );
    assert_eq!(row(1), "01:00:00.001|1970-01-01 00:00:01.5||0.07|-0.0200|-1.0||1|-128|b||5.9604645e-08|");
    assert!(!rows.next(&mut batch).unwrap());
}

#[test]
fn a_column_in_an_unknown_packing_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.parquet");
    let mut data = file();
    // The footer says of a column what it is packed with: of the first one nothing that can be unpacked here any more.
    let snappy = data.windows(4).rposition(|bytes| bytes == [0x15, 0x02, 0x16, 0x04]).unwrap();
    data[snappy + 1] = 0x04;
    std::fs::write(&path, data).unwrap();
    let style = TimeStyle::UTC;
    let vfs = Env::real().vfs;
    let request = FileRequest { vfs, files: vec![path], options: &[], columns: None, style: &style };
    let table = Parquet.describe(&request).unwrap();
    let wanted: Vec<usize> = (0..table.columns.len()).filter(|at| *at != 10).collect();
    let types: Vec<SqlType> = wanted.iter().map(|at| table.columns[*at].ty.clone()).collect();
    let mut batch = Batch::of_types(&types);
    let error = table.open(&wanted, &style).unwrap().next(&mut batch).unwrap_err();
    assert!(format!("{error:?}").contains("0A000"), "{error:?}");
    assert!(error.to_string().contains("is compressed with gzip, which is not supported"), "{error}");
}

#[test]
fn a_panic_over_a_file_leaves_no_message() {
    let this = std::env::current_exe().unwrap();
    let mut other = std::process::Command::new(this);
    other.args(["--exact", "tests::panics_over_a_file", "--ignored", "--nocapture"]);
    let output = other.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("panicked"), "{said}");
}

#[test]
#[ignore = "the test before it looks at what it writes"]
fn panics_over_a_file() {
    let error = guarded::<()>("f.parquet", || panic!("a length beyond the end")).unwrap_err();
    assert!(error.to_string().contains("contradict"), "{error}");
}
