"""Settings of each transform as Hypothesis draws them, some of them wrong."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from tests.pipelines.connect.transforms.generating import NAMES

Settings = dict[str, str]

_TYPES: Final = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_FORMATS: Final = (
    "yyyy-MM-dd",
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "yyyyMMddHHmmss",
    "EEE, d MMM yyyy HH:mm:ss Z",
    "h:mm a, MMMM d yy",
    "HH:mm:ss.SSS",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ssX",
)
_name = st.sampled_from(NAMES)
_maybe_empty = st.sampled_from((*NAMES * 5, ""))


def _list(items: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=1, max_size=most).map(",".join)


def _with_null(settings: st.SearchStrategy[Settings]) -> st.SearchStrategy[Settings]:
    """Mostly without the key that all of these have."""
    key = "replace.null.with.default"
    extra: st.SearchStrategy[Settings] = st.sampled_from(
        ({}, {}, {}, {}, {key: "true"}, *[{key: "false"}] * 4, {key: "x"})
    )
    return st.tuples(settings, extra).map(lambda both: {**both[0], **both[1]})


def _some(**keys: st.SearchStrategy[str]) -> st.SearchStrategy[Settings]:
    """Any of these keys."""
    spelt = {key.replace("_", "."): values for key, values in keys.items()}
    return st.fixed_dictionaries({}, optional=spelt)


def _all(**keys: st.SearchStrategy[str]) -> st.SearchStrategy[Settings]:
    """All of these keys, mostly."""
    spelt = {key.replace("_", "."): values for key, values in keys.items()}
    whole = st.fixed_dictionaries(spelt)
    return st.one_of(*[whole] * 12, st.fixed_dictionaries({}, optional=spelt))


_pairs = st.tuples(_name, st.sampled_from(("a", "b", "y", "z"))).map(":".join)
_casts = st.one_of(
    _list(st.tuples(_name, st.sampled_from(_TYPES)).map(":".join)),
    _list(st.tuples(_name, st.sampled_from(_TYPES)).map(":".join)),
    _list(st.tuples(_name, st.sampled_from(_TYPES)).map(":".join)),
    st.sampled_from(_TYPES),
    st.sampled_from(_TYPES),
    st.sampled_from(("", "bytes", "a:struct", "a:b:c", "string,int8", "a:", "INT8", " a : Int16 ")),
)


def _inserted(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from((*[name, f"{name}!", f"{name}?"] * 3, "a"))


_paths = st.one_of(
    _name,
    st.lists(_name, min_size=1, max_size=3).map(".".join),
    st.sampled_from(("`d.e`", "a.`d.e`", "`d.e`.a", "`a", "`a`b`", "a.", ".", "`d\\`.e`", "none")),
)
_literals = st.one_of(
    st.sampled_from(
        (
            *(
                "1",
                "-1",
                "+7",
                "300",
                "70000",
                "5000000000",
                "12345678901234567890",
                "1.5",
                "1e400",
            ),
            *("1.0", "1e3", "0x1F", "007", ".5", "5.", "-", "+", "1e39", "1234567.891", "true"),
            *("True", "false", " true ", "null", " null", "", " ", "abc", '"abc"', "2020-01-02"),
            *("2020-13-01", "2020-01-02T03:04:05.006Z", "03:04:05.006Z", "03\\:04\\:05.006Z"),
            *("truex", "true}", "[1,2]", '["a"]', "[300,1.5]", '{"a":1}', "[1,", "{}", "[]"),
        )
    ),
    st.text("a1 -.:", max_size=6),
)
_REGEXES: Final = (
    ("(.*)", "$1"),
    ("(.*)-(.*)", "$2-$1"),
    ("[a-z]+", "new"),
    ("a|a-b", "q"),
    ("eu\\.(?<rest>.*)", "${rest}"),
    ("(\\w+)([.-].*)?", "$1_x"),
    ("o(r)(d)ers", "$12"),
    ("x*", "\\$0"),
    ("(", "x"),
    ("[a", "x"),
)

CONFIGS: Final[dict[str, st.SearchStrategy[Settings]]] = {
    "Cast": _with_null(_all(spec=_casts)),
    "DropHeaders": _all(headers=_list(_maybe_empty)),
    "ExtractField": _with_null(
        st.one_of(
            _all(field=_name),
            _all(field=_paths, field_syntax_version=st.sampled_from(("V2", "v2", "V1", "V3"))),
        )
    ),
    "Filter": st.just({}),
    "Flatten": _some(delimiter=st.sampled_from(("_", ".", "", "-x-"))),
    "HeaderFrom": _with_null(
        st.one_of(
            _all(fields=_name, headers=_name, operation=st.sampled_from(("move", "copy"))),
            _all(
                fields=_list(_name, 2),
                headers=_list(_name, 2),
                operation=st.sampled_from(("move", "copy", "x")),
            ),
        )
    ),
    "HoistField": _all(field=_name),
    "InsertField": _with_null(
        _some(
            topic_field=_inserted("to"),
            partition_field=_inserted("pa"),
            offset_field=_inserted("of"),
            timestamp_field=_inserted("ti"),
            static_field=_inserted("st"),
            static_value=st.sampled_from(("", "v", "é")),
        )
    ),
    "InsertHeader": _all(header=_name, value_literal=_literals),
    "MaskField": _with_null(
        st.one_of(
            _all(fields=_list(_name)),
            _all(
                fields=_list(_name),
                replacement=st.sampled_from(
                    ("", "5", "300", "1.5", "x", "-1e3", "1e40", "99999999999")
                ),
            ),
        )
    ),
    "RegexRouter": st.one_of(
        *[st.just({"regex": regex, "replacement": replacement}) for regex, replacement in _REGEXES],
        st.just({"regex": "x"}),
    ),
    "ReplaceField": _with_null(
        _some(
            include=_list(_maybe_empty),
            exclude=_list(_name),
            renames=st.one_of(_list(_pairs), _list(_pairs), st.sampled_from(("a", "a:", "", ":b"))),
        )
    ),
    "SetSchemaMetadata": _with_null(
        _some(
            schema_name=st.sampled_from(("New", "org.acme.Row")),
            schema_version=st.sampled_from(("1", "2", "3", "5", "7", "x")),
        )
    ),
    "TimestampConverter": _with_null(
        st.fixed_dictionaries(
            {"target.type": st.sampled_from(("string", "unix", "Date", "Time", "Timestamp"))},
            optional={
                "field": _name,
                "format": st.sampled_from((*_FORMATS, *_FORMATS, "", " ", "bbb", "'")),
                "unix.precision": st.sampled_from(
                    ("seconds", "milliseconds", "microseconds", "nanoseconds", "x")
                ),
            },
        )
    ),
    "TimestampRouter": _some(
        topic_format=st.sampled_from(("${topic}_${timestamp}", "${timestamp}", "x", "$${topic}")),
        timestamp_format=st.sampled_from((*_FORMATS, "YYYY.MM.dd", "D u k K", "yy-M-d G")),
    ),
    "ValueToKey": _with_null(_all(fields=_list(_name))),
    "predicates.HasHeaderKey": _all(name=st.one_of(_name, _name, st.just(""))),
    "predicates.RecordIsTombstone": st.just({}),
    "predicates.TopicNameMatches": _all(
        pattern=st.sampled_from(("orders", "or.*", ".*-.*", "", "(", "[a-z.]+-\\d", "x|orders"))
    ),
}
