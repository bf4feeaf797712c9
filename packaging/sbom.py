#!/usr/bin/env python3
"""Says what Debian packages of Pawl are made of, as SPDX 2.3 in JSON. packaging/debs calls it for what it has built.

usage: sbom.py BUILD OUT.spdx.json PACKAGE.deb...

What is in a package comes from the package, which libraries a program loads from its ELF header, what dpkg installs beside it from
its control file, and whose code is compiled in from the graph of the build (ninja): a source or header of others that a file was
really made of.
"""
import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

# Code of others that is compiled in: the header by which the graph shows it, its name, its licence, where its version stands.
COMPILED_IN = (
    (r"(^|/)cJSON\.h$", "cJSON", "MIT",
     "cJSON.h", r"#define CJSON_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)"),
    (r"(^|/)sha2\.h$", "libmd", "BSD-3-Clause",
     "../.dist-version", r"\d+"),
    (r"(^|/)CLI/CLI\.hpp$", "CLI11", "BSD-3-Clause",
     "Version.hpp", r"#define CLI11_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)"),
)


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def spdx_id(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


class Graph:
    """What ninja made a file of."""

    def __init__(self, build):
        self.build = build
        self.outputs = collections.defaultdict(list)  # name of a file -> paths
        for line in run("ninja", "-C", build, "--quiet", "-t", "targets", "all").splitlines():
            path, _, rule = line.rpartition(": ")
            if rule != "phony":
                self.outputs[os.path.basename(path)].append(path)
        self.headers = collections.defaultdict(list)
        output = None
        for line in run("ninja", "-C", build, "--quiet", "-t", "deps").splitlines():
            if line.startswith("    "):
                self.headers[output].append(line.strip())
            elif line:
                output = line.split(": #deps")[0]

    def inputs(self, output):
        """Of objects and archives alone: what is in a shared library is not in what loads it."""
        seen, left = {output}, [output]
        while left:
            listed = run("ninja", "-C", self.build, "--quiet", "-t", "query", *left)
            # "|| x" is only made before it, and what it is an input of comes behind "outputs:".
            inputs = re.findall(r"^    (?:\| )?([^|\s].*)$", re.sub(r"^  outputs:\n(?:    .*\n)*", "", listed, flags=re.M), re.M)
            left = sorted({one for one in inputs if one.endswith((".o", ".a"))} - seen)
            seen.update(inputs)
        return seen.union(*(self.headers[one] for one in seen))

    def compiled_in(self, name):
        found = {}
        for output in self.outputs[name]:
            inputs = self.inputs(output)
            for pattern, title, licence, header, version in COMPILED_IN:
                at = next((path for path in inputs if re.search(pattern, path)), None)
                if at is not None:
                    text = (self.build / at).resolve().parent.joinpath(header).read_text(encoding="utf-8")
                    found[title] = (".".join(re.findall(version, text)[:3]), licence)
        return found


class Document:
    def __init__(self, name, version):
        self.packages, self.files, self.relations = {}, [], []
        self.name, self.version = name, version

    def relate(self, one, kind, other):
        relation = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if relation not in self.relations:
            self.relations.append(relation)

    def add_package(self, ident, name, **more):
        self.packages.setdefault(ident, {
            "SPDXID": ident, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more})
        return ident

    def text(self):
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        made = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else \
            datetime.datetime.now(datetime.timezone.utc)
        body = {"packages": list(self.packages.values()), "files": self.files, "relationships": self.relations}
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": self.name,
            "documentNamespace": f"https://spdx.org/spdxdocs/{self.name}-{digest}",
            "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": [f"Tool: pawl-sbom-{self.version}", "Organization: Pawl authors"]},
            **body}, indent=1) + "\n"


def elf_words(data):
    """(its soname or None, the sonames that it loads)"""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        dynamic = run("readelf", "-d", file.name)
    own = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    return own and own[1], re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)


def files_of(package):
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as stream:
        with tarfile.open(fileobj=stream.stdout, mode="r|") as archive:
            for member in archive:
                if member.isreg():
                    yield member.name, archive.extractfile(member).read()
    if stream.returncode != 0:
        raise RuntimeError(f"{package} cannot be read")


def add_deb(document, graph, package, links):
    fields = dict(re.findall(r"^([\w-]+): (.*)$", run("dpkg-deb", "-f", package), re.M))
    ident = spdx_id("Package", fields["Package"])
    digests = []
    for name, data in files_of(package):
        path = "./" + name.removeprefix("./")
        file = spdx_id("File", fields["Package"], hashlib.sha256(path.encode()).hexdigest()[:16])
        sha1 = hashlib.sha1(data).hexdigest()
        digests.append(sha1)
        document.files.append({
            "SPDXID": file, "fileName": path, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": "SHA1", "checksumValue": sha1},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]})
        document.relate(ident, "CONTAINS", file)
        if data.startswith((b"\x7fELF", b"!<arch>\n")):
            for title, (version, licence) in graph.compiled_in(os.path.basename(name)).items():
                part = document.add_package(spdx_id("Part", title), title, versionInfo=version, licenseDeclared=licence)
                document.relate(file, "STATIC_LINK", part)
        if data.startswith(b"\x7fELF"):
            links[file] = elf_words(data)
    data = pathlib.Path(package).read_bytes()
    code = hashlib.sha1("".join(sorted(digests)).encode()).hexdigest()
    document.add_package(
        ident, fields["Package"], versionInfo=fields["Version"], packageFileName=os.path.basename(package),
        supplier="Organization: Pawl authors", licenseDeclared="MIT", filesAnalyzed=True,
        packageVerificationCode={"packageVerificationCodeValue": code},
        checksums=[{"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}])
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", ident)
    return ident, fields.get("Depends", "")


def main(build, out, packages):
    graph = Graph(pathlib.Path(build).resolve())
    fields = run("dpkg-deb", "-f", packages[0], "Version").strip()
    document = Document(pathlib.Path(out).name.removesuffix(".spdx.json"), fields)
    links = {}  # file -> what its header says
    depends = [add_deb(document, graph, package, links) for package in packages]
    for ident, listed in depends:
        for name, constraint in re.findall(r"([a-z0-9][a-z0-9+.-]+)(?: \(([^)]*)\))?", listed):
            other = spdx_id("Package", name)
            if other not in document.packages:
                document.add_package(other, name, comment=f"Debian's, {constraint}" if constraint else "Debian's", externalRefs=[{
                    "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                    "referenceLocator": f"pkg:deb/debian/{name.replace('+', '%2B')}"}])
            document.relate(ident, "DEPENDS_ON", other)
    own = {soname: file for file, (soname, _) in links.items() if soname}
    for file, (_, needed) in links.items():
        for soname in needed:
            other = own.get(soname) or document.add_package(spdx_id("Library", soname), soname, comment="loaded at the start")
            document.relate(file, "DYNAMIC_LINK", other)
    pathlib.Path(out).write_text(document.text(), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
