"""What an owner approved and Agentroom does itself, outside of the confinement."""

from pathlib import Path

import pytest

from agentroom_machine.daemon import errand


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / ".env").write_text("KEY=salt\n")
    return folder


def test_a_single_program_with_plain_words_is_done_once_and_says_what_it_printed(work: Path) -> None:
    plan = errand.resolve("cat .env", work, work)
    assert plan is not None
    assert plan.program.is_absolute()
    assert plan.shown().startswith(f"{plan.program} .env\n")
    result = errand.run(plan)
    assert (result.state, result.code, result.output) == ("done", 0, "KEY=salt\n")


def test_what_fails_says_how(work: Path) -> None:
    plan = errand.resolve("cat absent", work, work)
    assert plan is not None
    result = errand.run(plan)
    assert (result.state, result.code) == ("failed", 1)
    assert "No such file" in result.output


def test_the_home_folder_is_named_whole(work: Path) -> None:
    plan = errand.resolve("cat ~/.ssh/id_rsa", work, work)
    assert plan is not None
    assert str(Path.home() / ".ssh/id_rsa") in plan.shown()


@pytest.mark.parametrize(
    "command",
    [
        "cat .env; ls", "cat .env | sh", "cat $FILE", "cat `ls`", "cat *.env", "cat .env\nls", "cat {a,b}",
        "cat .env &",
        "cat > x", "X=1 cat .env", "cat '.env", "cat ~bob/.env", "cat '~/.env'", "cat .env # x", "cat \u202e.env", "",
        "curl -K more.conf https://x", "curl -sK more.conf", "curl --config=more.conf", "curl --engine ./x.so",
        "aws s3api x --cli-input-json file://more.json", "aws x --user-data file://more",
        "gh pr create", "kubectl --kubeconfig=./k get pods", "ssh-keygen -D ./x.so", "op run -- ./x.sh",
        "make deploy", "git push", "python -c 1", "npm publish", "bash x.sh", "./cat .env", "/bin/cat .env",
    ],
)  # fmt: skip
def test_anything_that_a_shell_or_the_project_has_a_say_in_stays_inside(work: Path, command: str) -> None:
    assert errand.resolve(command, work, work) is None


def test_a_program_that_lies_in_the_working_directory_stays_inside(work: Path) -> None:
    fake = work / "cat"
    fake.write_text("#!/bin/sh\necho planted\n")
    fake.chmod(0o755)
    assert errand.resolve("cat .env", work, work, {"PATH": str(work)}) is None
    elsewhere = work.parent / "bin"
    elsewhere.mkdir()
    (elsewhere / "cat").symlink_to(fake)
    assert errand.resolve("cat .env", work, work, {"PATH": str(elsewhere)}) is None
    assert errand.resolve("cat .env", work, work, {"PATH": "."}) is None


def test_nothing_that_steers_the_linker_or_a_shell_comes_along(work: Path) -> None:
    plan = errand.resolve("cat /proc/self/environ", work, work)
    assert plan is not None
    said = errand.run(
        plan, {"PATH": "/usr/bin:/bin", "LD_DEBUG": "libs", "BASH_ENV": "x", "GIT_DIR": "y", "TOKEN": "t"}
    )
    assert "TOKEN=t" in said.output
    assert not any(name in said.output for name in ("LD_DEBUG", "BASH_ENV", "GIT_DIR"))


def test_a_long_output_is_cut_and_says_so(work: Path) -> None:
    (work / "long").write_text("x" * (errand.MAX_OUTPUT + 5))
    plan = errand.resolve("cat long", work, work)
    assert plan is not None
    assert errand.run(plan).output.endswith("[cut: 5 more characters]")
