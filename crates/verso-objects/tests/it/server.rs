//! A small server that speaks as much of S3 as an archive needs: HEAD, GET with ranges and lists, PUT, DELETE, uploads in parts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Objects = Mutex<BTreeMap<String, Vec<u8>>>;

/// A server that ends with the process.
pub struct Server {
    pub address: String,
    requests: Arc<AtomicUsize>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let requests = Arc::new(AtomicUsize::new(0));
        let (objects, counted): (Arc<Objects>, _) = (Arc::default(), Arc::clone(&requests));
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let (objects, counted) = (Arc::clone(&objects), Arc::clone(&counted));
                spawn(move || {
                    while answer(&stream, &objects).is_some() {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        Server { address, requests }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

#[expect(clippy::disallowed_methods, reason = "a server beside the world under test")]
fn spawn(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// Answers one request; none at the end of the connection.
fn answer(mut stream: &TcpStream, objects: &Objects) -> Option<()> {
    let mut input = BufReader::with_capacity(1, stream);
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    drop(input);
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('=').or(Some((pair, ""))));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| decoded(value))
    };
    let key = decoded(path.trim_matches('/'));
    let mut objects = objects.lock().expect("nobody panics");
    let part = parameter("partNumber").and_then(|number| number.parse::<u32>().ok());
    let (status, extra, out) = match (&*method, parameter("list-type")) {
        ("GET", Some(_)) => {
            let found = listed(&objects, &key, &parameter("prefix").unwrap_or_default());
            ("200 OK", String::new(), found.into_bytes())
        }
        ("HEAD" | "GET", None) => match objects.get(&key) {
            None => ("404 Not Found", String::new(), Vec::new()),
            Some(bytes) if method == "HEAD" => {
                ("200 OK", format!("x-length: {}\r\n", bytes.len()), Vec::new())
            }
            Some(bytes) => {
                let range = headers.get("range").and_then(|range| range.strip_prefix("bytes="));
                let range = range.and_then(|range| range.split_once('-'));
                match range.and_then(|(from, to)| Some((from.parse().ok()?, to.parse::<usize>().ok()?))) {
                    None => ("200 OK", String::new(), bytes.clone()),
                    Some((from, to)) => {
                        let to = (to + 1).min(bytes.len());
                        let extra = format!("content-range: bytes {from}-{}/{}\r\n", to - 1, bytes.len());
                        ("206 Partial Content", extra, bytes[from..to].to_vec())
                    }
                }
            }
        },
        ("PUT", _) => {
            let at = part.map_or(key.clone(), |part| format!("parts of {key}/{part:05}"));
            objects.insert(at, body);
            ("200 OK", String::new(), Vec::new())
        }
        ("POST", _) if parameter("uploads").is_some() => {
            let id = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
            ("200 OK", String::new(), id.as_bytes().to_vec())
        }
        ("POST", _) => {
            let prefix = format!("parts of {key}/");
            let names: Vec<String> =
                objects.keys().filter(|name| name.starts_with(&prefix)).cloned().collect();
            let whole: Vec<u8> =
                names.iter().flat_map(|name| objects.remove(name).unwrap_or_default()).collect();
            objects.insert(key, whole);
            let done = "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>";
            ("200 OK", String::new(), done.as_bytes().to_vec())
        }
        ("DELETE", _) => {
            objects.remove(&key);
            ("204 No Content", String::new(), Vec::new())
        }
        _ => ("400 Bad Request", String::new(), Vec::new()),
    };
    let length = match extra.strip_prefix("x-length: ") {
        Some(length) => length.trim().to_owned(),
        None => out.len().to_string(),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\netag: \"e\"\r\nlast-modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n{extra}\r\n"
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&out)).ok()
}

/// The objects of a bucket with this prefix, folders put together.
fn listed(objects: &BTreeMap<String, Vec<u8>>, bucket: &str, prefix: &str) -> String {
    let (mut contents, mut folders) = (String::new(), Vec::new());
    for (key, bytes) in objects {
        let Some(key) = key.strip_prefix(bucket).and_then(|key| key.strip_prefix('/')) else { continue };
        let Some(rest) = key.strip_prefix(prefix) else { continue };
        match rest.split_once('/') {
            Some((folder, _)) => folders.push(format!("{prefix}{folder}/")),
            None => contents.push_str(&format!(
                "<Contents><Key>{key}</Key><LastModified>2026-11-23T10:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>{}</Size></Contents>",
                bytes.len()
            )),
        }
    }
    folders.dedup();
    for folder in folders {
        contents.push_str(&format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"));
    }
    format!("<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>")
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|_| *byte == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
