"""The entries of mutations.toml."""
import dataclasses
import pathlib
import re
import tomllib


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    page: str      # the page of the claim
    row: str       # a text that this row of the page has, and no other one
    file: str      # the source that has the rule
    out: str       # stands there once
    into: str      # stands there instead: the rule is gone
    program: str   # has the test
    test: str      # the row names it

    def sources_of_tests(self, project):
        """The files that define it, or a part of its suite."""
        suite = self.test.split(".")[0]
        define = re.compile(rf"\b(?:TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\((?:\w+,\s*)?{suite}\b")
        return [path for path in (project / "test").rglob("*.cpp") if define.search(path.read_text(encoding="utf-8"))]


def read(project):
    text = (pathlib.Path(project) / "test" / "mutation" / "mutations.toml").read_text(encoding="utf-8")
    return [Mutation(name, entry["page"], entry["row"], entry["file"], entry["out"], entry["in"], entry["program"], entry["test"])
            for name, entry in tomllib.loads(text).items()]


def by_program(every):
    """(program, its entries), programs in the order of their first entries."""
    groups = {}
    for mutation in every:
        groups.setdefault(mutation.program, []).append(mutation)
    return groups.items()
