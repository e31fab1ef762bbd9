//! The text format that Prometheus reads, version 0.0.4.

use std::fmt::Write as _;

use verso_session::metrics::{DATABASE_METRICS, Figure, Metric, MetricKind, SERVER_METRICS, Sample};

/// What the answer says it is.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Samples of the server, then those of each database with its name. All samples of one name stand together, as the format
/// wants it.
pub fn render(server: &[Sample], databases: &[(String, Vec<Sample>)]) -> String {
    let mut out = String::new();
    for metric in SERVER_METRICS {
        let samples = server.iter().map(|sample| (None, sample));
        put(&mut out, metric, samples);
    }
    for metric in DATABASE_METRICS {
        let samples = databases
            .iter()
            .flat_map(|(name, samples)| samples.iter().map(move |sample| (Some(name.as_str()), sample)));
        put(&mut out, metric, samples);
    }
    out
}

fn put<'s>(
    out: &mut String,
    metric: &'static Metric,
    samples: impl Iterator<Item = (Option<&'s str>, &'s Sample)>,
) {
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    let mut is_first = true;
    for (database, sample) in samples.filter(|(_, sample)| std::ptr::eq(sample.metric, metric)) {
        if std::mem::take(&mut is_first) {
            let _ = write!(out, "# HELP {} {}\n# TYPE {} {kind}\n", metric.name, metric.help, metric.name);
        }
        let labels: Vec<(&str, &str)> =
            database.map(|name| ("database", name)).into_iter().chain(sample.label).collect();
        match &sample.figure {
            Figure::Count(count) => line(out, metric.name, "", &labels, None, count),
            Figure::Real(real) => line(out, metric.name, "", &labels, None, real),
            Figure::Histogram(buckets, sum, count) => {
                for (bound, at_most) in buckets {
                    line(out, metric.name, "_bucket", &labels, Some(&bound.to_string()), at_most);
                }
                line(out, metric.name, "_bucket", &labels, Some("+Inf"), count);
                line(out, metric.name, "_sum", &labels, None, sum);
                line(out, metric.name, "_count", &labels, None, count);
            }
        }
    }
}

fn line(
    out: &mut String,
    name: &str,
    suffix: &str,
    labels: &[(&str, &str)],
    bound: Option<&str>,
    value: &dyn std::fmt::Display,
) {
    out.push_str(name);
    out.push_str(suffix);
    let labels = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
    let mut opened = false;
    for (label, value) in labels {
        out.push(if std::mem::replace(&mut opened, true) { ',' } else { '{' });
        let _ = write!(out, "{label}=\"");
        for c in value.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    if opened {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, figure: Figure) -> Sample {
        let metric = DATABASE_METRICS.iter().find(|metric| metric.name == name).unwrap();
        Sample { metric, label: None, figure }
    }

    #[test]
    fn samples_of_a_name_stand_together_and_labels_are_escaped() {
        let of = |count| {
            vec![
                sample("verso_commits_total", Figure::Count(count)),
                sample("verso_rollbacks_total", Figure::Count(0)),
            ]
        };
        let text = render(&[], &[("a".to_owned(), of(1)), ("b\"\\\nc".to_owned(), of(2))]);
        let expected = "# HELP verso_commits_total Transactions committed.\n\
            # TYPE verso_commits_total counter\n\
            verso_commits_total{database=\"a\"} 1\n\
            verso_commits_total{database=\"b\\\"\\\\\\nc\"} 2\n\
            # HELP verso_rollbacks_total Transactions rolled back.\n";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn a_histogram_ends_with_the_bucket_that_holds_all() {
        let figure = Figure::Histogram(vec![(0.001, 1), (0.002, 3)], 0.5, 4);
        let text = render(&[], &[("a".to_owned(), vec![sample("verso_wal_fsync_seconds", figure)])]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "# TYPE verso_wal_fsync_seconds histogram",
                "verso_wal_fsync_seconds_bucket{database=\"a\",le=\"0.001\"} 1",
                "verso_wal_fsync_seconds_bucket{database=\"a\",le=\"0.002\"} 3",
                "verso_wal_fsync_seconds_bucket{database=\"a\",le=\"+Inf\"} 4",
                "verso_wal_fsync_seconds_sum{database=\"a\"} 0.5",
                "verso_wal_fsync_seconds_count{database=\"a\"} 4",
            ]
        );
    }
}
