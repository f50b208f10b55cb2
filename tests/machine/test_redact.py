import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentroom_machine.daemon.redact import HOLD, Redactor, Stream, secret_values

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+abc/def==\nxyz\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "x" * 30,
    "glpat-" + "q" * 20,
    "xoxb-1234567890-abcdef",
    "sk-ant-api03-" + "z" * 30,
    "sk-" + "k" * 40,
    "sk_live_" + "4" * 24,
    "AIza" + "s" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
    "arm_" + "t" * 43,
    PEM,
]
OWN = "correct horse battery 9"


@pytest.mark.parametrize("secret", SECRETS)
def test_a_well_known_token_shape_does_not_leave(secret: str) -> None:
    said = Redactor()(f"before {secret} after")
    assert secret not in said
    assert said.startswith("before [redacted")
    assert said.endswith("after")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("authorization=Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ('{"password": "hunter2xyz"}', "hunter2xyz"),
        ("DB_PASSWORD=hunter2xyz", "hunter2xyz"),
        ("postgres://alice:s3cretpw@db/x", "s3cretpw"),
        ("x-api-key: 12345abcde", "12345abcde"),
    ],
)
def test_a_named_secret_does_not_leave(text: str, hidden: str) -> None:
    assert hidden not in Redactor()(text)


@pytest.mark.parametrize(
    "text",
    ["ls -la src", "task-runner is done", "the password is wrong", "http://localhost:8000/a@b", "a skeleton key"],
)
def test_plain_words_stay(text: str) -> None:
    assert Redactor()(text) == text


def test_values_of_secret_looking_variables_are_known() -> None:
    environ = {
        "MY_TOKEN": "abcdefgh1",
        "PATH": "/usr/bin:/bin",
        "DATABASE_URL": "postgres://u:pw12@h/d",
        "AUTH_TYPE": "password",
    }
    assert set(secret_values(environ)) == {"abcdefgh1", "pw12"}
    assert "abcdefgh1" not in Redactor(secret_values(environ))("x=abcdefgh1;")


def test_the_folder_that_a_shell_stands_in_is_no_secret() -> None:
    assert list(secret_values({"PWD": "/srv/shop", "OLDPWD": "/srv/kitchen"})) == []


def test_nul_and_lone_surrogates_become_valid_text() -> None:
    assert Redactor()("a\x00b\ud800c") == "a\ufffdb\ufffdc"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [*SECRETS, OWN, "Authorization: Bearer ", "password = ", "word ", "\n", "-----BEGIN ", "é🙂"]
            ),
            st.text(alphabet="ab:= \n-", max_size=8),
        ),
        max_size=8,
    ),
    st.data(),
)
def test_pieces_say_what_the_whole_would_say(parts: list[str], data: st.DataObject) -> None:
    whole, redact = "".join(parts), Redactor([OWN])
    stream, said, at = Stream(redact), "", 0
    while at < len(whole):
        step = data.draw(st.integers(1, 40))
        stream.feed(whole[at : at + step])
        said += stream.take()
        at += step
    assert said + stream.take(final=True) == redact(whole)


def test_a_secret_across_two_pieces_is_held_back() -> None:
    stream = Stream(Redactor())
    stream.feed("key ghp_" + "a" * 10)
    assert stream.take() == "key "
    stream.feed("b" * 30 + " end")
    assert "aaa" not in stream.take(final=True)


@pytest.mark.parametrize("secret", ["eyJhbGciOiJI." + "x" * (2 * HOLD), "-----BEGIN PRIVATE KEY-----\n" + "A\n" * HOLD])
def test_a_secret_longer_than_the_buffer_is_swallowed(secret: str) -> None:
    stream, said = Stream(Redactor()), ""
    for at in range(0, len(secret), 1000):
        stream.feed(secret[at : at + 1000])
        said += stream.take()
    stream.feed("-----END PRIVATE KEY----- done" if "BEGIN" in secret else " done")
    said += stream.take(final=True)
    assert said.endswith(" done")
    assert len(said) < 60


def test_a_long_line_without_spaces_still_flows() -> None:
    stream, line = Stream(Redactor()), "0123456789" * 5000
    said = ""
    for at in range(0, len(line), 1000):
        stream.feed(line[at : at + 1000])
        said += stream.take()
        assert len(line[: at + 1000]) - len(said) <= HOLD + 1000
    assert said + stream.take(final=True) == line
