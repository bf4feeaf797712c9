#!/usr/bin/env python3
"""libpawl.so and the shared libraries beside it export what a public header declares, all of it, and nothing else.

usage: exports_test.py PROJECT NM LIBRARY CLANG++ ARCHIVE-OR-LIBRARY... [-HEADER...]

clang reads all public headers and names each function as the linker does. What headers declare and do not define must be in the
library, or in one of the archives and libraries that are linked beside it. -HEADER: that of one which is not built here. A
change of the soname is a matter of docs/releases.md.
"""
import json
import pathlib
import re
import subprocess
import sys


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def documents(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        document, end = decoder.raw_decode(text, at)
        yield document
        at = end
        while at < len(text) and text[at].isspace():
            at += 1


class Headers:
    """What the public headers declare: linker's names of functions, of those without a body, and names of all things."""

    def __init__(self, project, clang, left_out):
        include = project / "include"
        headers = sorted(path for path in [*include.glob("pawl/*.hpp"), *include.glob("pawl/*.h")] if path.name not in left_out)
        text = "".join(f"#include <{path.relative_to(include)}>\n" for path in headers)
        dump = output(clang, "-std=c++17", f"-I{include}", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-Xclang",
                      "-ast-dump-filter=pawl", "-x", "c++", "-", input=text)
        self.functions, self.without_body, self.names, self.templates = set(), {}, set(), 0
        for document in documents(dump):
            self.read(document, in_template=False)

    def read(self, root, in_template):
        todo = [(root, in_template)]
        while todo:
            node, in_template = todo.pop()
            kind = node.get("kind", "")
            if node.get("name"):
                self.names.add(node["name"])
            mangled = node.get("mangledName", "")
            if mangled and kind in ("FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl", "VarDecl"):
                name = canonical(mangled)
                self.functions.add(name)
                has_body = kind == "VarDecl" or any(inner.get("kind") == "CompoundStmt" for inner in node.get("inner", []))
                if has_body:
                    self.without_body[name] = False
                elif not (in_template or node.get("pure") or node.get("explicitlyDeleted") or node.get("isImplicit")
                          or node.get("explicitlyDefaulted")):
                    self.without_body.setdefault(name, True)
            inside = in_template or kind in ("ClassTemplateDecl", "FunctionTemplateDecl", "ClassTemplatePartialSpecializationDecl")
            # A friend may be anything; what else declares it decides.
            if kind != "FriendDecl" and not kind.endswith("Stmt"):
                todo += [(inner, inside) for inner in node.get("inner", [])]


def canonical(mangled):
    """One name for the constructors, and one for the destructors, that a compiler makes of one."""
    return re.sub(r"D[012]E(?=v?$)", "D1E", re.sub(r"C[123]E", "C1E", mangled))


def exported(nm, *flags_and_file):
    for line in output(nm, "--defined-only", *flags_and_file).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] != "A":
            yield fields[2].split("@")[0]


def demangled(names):
    return dict(zip(names, output("c++filt", input="\n".join(names) + "\n").splitlines()))


def is_declared(name, people_name, headers):
    if canonical(name) in headers.functions:
        return True
    thing = re.fullmatch(r"(?:vtable|typeinfo|typeinfo name) for pawl::(.*)", people_name)
    if thing:
        return thing[1].split("::")[-1] in headers.names
    path, rest = path_of(name)  # an instance of a template
    return rest.startswith("I") and all(part in headers.names for part in path)


def path_of(mangled):
    """["pawl", "to_json"] and the rest, of _ZN4pawl7to_jsonI..: a name is its length and itself."""
    rest = re.sub(r"^_ZN?K?", "", mangled)
    path = []
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        path.append(rest[length.end():end])
        rest = rest[end:]
    return path, rest


def main(project, nm, library, clang, *others):
    left_out = {word[1:] for word in others if word.startswith("-")}
    beside = [word for word in others if ".so" in pathlib.Path(word).name]
    archives = [word for word in others if not word.startswith("-") and word not in beside]
    headers = Headers(pathlib.Path(project), clang, left_out)
    of_each = {name: set(exported(nm, "--dynamic", name)) for name in (library, *beside)}
    shared = set().union(*of_each.values())
    names = demangled(sorted(shared))
    problems = [f"exported, and no public header declares it: {names[name]}"
                for name in sorted(shared) if not is_declared(name, names[name], headers)]
    problems += [f"exports nothing: {name}" for name, symbols in of_each.items() if not symbols]
    problems += [f"exported by two libraries: {name}" for name in sorted(shared) if sum(name in one for one in of_each.values()) > 1]
    problems += [f"of cJSON: {name}" for name in sorted(shared) if "cjson" in name.lower()]
    offered = {canonical(name) for name in [*shared, *exported(nm, "--extern-only", *archives)]}
    wanted = [name for name, without in headers.without_body.items() if without]
    lacking = demangled([name for name in sorted(wanted) if name not in offered]) if wanted else {}
    problems += [f"declared, and in neither library: {name}" for name in lacking.values()]
    print("\n".join(problems))
    print(f"{len(shared)} symbols, {len(wanted)} functions without a body in headers, {len(problems)} problems")
    return 1 if problems or len(shared) < 200 or len(wanted) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
