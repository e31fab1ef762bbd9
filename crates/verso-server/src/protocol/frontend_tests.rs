use proptest::prelude::*;

use super::*;

const BIND: &[u8] = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\0";

#[test]
fn a_bind_gives_its_values() {
    let Ok(Message::Bind(bind)) = Message::parse(b'B', BIND) else { panic!("no bind") };
    assert_eq!((bind.portal, bind.statement, bind.count), ("p", "s", 2));
    assert_eq!(bind.formats.of(0), Format::Binary);
    assert_eq!(bind.formats.of(1), Format::Binary);
    assert_eq!(bind.results.of(3), Format::Text);
    let values: Vec<_> = bind.values().collect();
    assert_eq!(values, [Some(&[0, 0, 0, 7][..]), None]);
}

#[test]
fn every_cut_of_a_message_is_an_error() {
    for end in 0..BIND.len() {
        assert!(Message::parse(b'B', &BIND[..end]).is_err(), "{end}");
    }
    let mut longer = BIND.to_vec();
    longer.push(0);
    assert!(Message::parse(b'B', &longer).is_err());
}

#[test]
fn startup_packets_are_told_apart() {
    assert_eq!(Startup::parse(&[0x04, 0xd2, 0x16, 0x2f]), Ok(Startup::Tls));
    assert_eq!(Startup::parse(&[0x04, 0xd2, 0x16, 0x30]), Ok(Startup::Gss));
    let cancel = [0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 9, 1, 2, 3, 4];
    assert_eq!(Startup::parse(&cancel), Ok(Startup::Cancel { backend: 9, key: &[1, 2, 3, 4] }));
    let session = b"\0\x03\0\0user\0me\0\0";
    let expected = Startup::Session { version: VERSION_3_0, parameters: vec![("user", "me")] };
    assert_eq!(Startup::parse(session), Ok(expected));
    assert!(Startup::parse(b"\0\x03\0\0user\0me\0").is_err());
    assert!(Startup::parse(b"\0\x03\0\0user\0me\0\0\0").is_err());
}

#[test]
fn formats_must_fit_the_values() {
    let error = Message::parse(b'B', b"\0\0\0\x02\0\0\0\0\0\0\0\0").unwrap_err();
    assert!(error.what.contains("2 parameter formats but 0 parameters"), "{error}");
    let Ok(Message::Bind(bind)) = Message::parse(b'B', b"\0\0\0\x01\0\x07\0\0\0\0") else { panic!() };
    assert_eq!((bind.formats.unknown(), bind.results.unknown()), (Some(7), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn junk_never_panics(kind in any::<u8>(), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        crate::fuzz_decode(kind, &bytes);
        for known in b"QPBDECSHXdcfpF" {
            crate::fuzz_decode(*known, &bytes);
        }
    }

    #[test]
    fn flipped_bytes_never_panic(at in 0..BIND.len(), byte in any::<u8>()) {
        let mut bytes = BIND.to_vec();
        bytes[at] = byte;
        crate::fuzz_decode(b'B', &bytes);
    }
}
