#!/usr/bin/env python3
"""The bill of materials that packaging/sbom.py writes has what SPDX 2.3 requires and is that of the packages, byte for byte.

usage: sbom_test.py PROJECT BUILD SCRATCH      packages made here of what BUILD has
       sbom_test.py --check FILE PACKAGE...    one that packaging/debs has written
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ID = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
RELATIONS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "DYNAMIC_LINK", "STATIC_LINK"}


def digests(element):
    return {one["algorithm"]: one["checksumValue"] for one in element["checksums"]}


def problems_of_form(document):
    """What the specification requires of every element."""
    for field in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
        if not document.get(field):
            yield f"the document has no {field}"
    if (document["spdxVersion"], document["dataLicense"], document["SPDXID"]) != ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"):
        yield "the document is not one of SPDX 2.3"
    if not re.fullmatch(r"https?://[^#\s]+", document["documentNamespace"]):
        yield "documentNamespace is no URI"
    created = document["creationInfo"]
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created["created"]):
        yield "creationInfo.created is no time"
    if not created["creators"] or not all(re.match(r"(Tool|Organization|Person): \S", one) for one in created["creators"]):
        yield "creationInfo.creators names nothing"
    elements = [*document["packages"], *document["files"]]
    ids = [element["SPDXID"] for element in elements]
    if len(ids) != len(set(ids)) or not all(ID.fullmatch(one) for one in ids):
        yield "an SPDXID is no id, or there twice"
    for package in document["packages"]:
        if not package["name"] or not package["downloadLocation"]:
            yield f"{package['SPDXID']} has no name or no downloadLocation"
        if package["filesAnalyzed"] != ("packageVerificationCode" in package):
            yield f"{package['SPDXID']}: filesAnalyzed and packageVerificationCode disagree"
    for file in document["files"]:
        if not file["fileName"].startswith("./") or not re.fullmatch(r"[0-9a-f]{40}", digests(file).get("SHA1", "")):
            yield f"{file['SPDXID']} has no relative name or no SHA1"
    known = {*ids, "SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        if not {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known or relation["relationshipType"] not in RELATIONS:
            yield f"{relation} relates what is not there"


def related(document, ident, kind):
    return [one["relatedSpdxElement"] for one in document["relationships"]
            if one["spdxElementId"] == ident and one["relationshipType"] == kind]


def problems_of_package(document, deb, folder):
    """Files, checksums and libraries against what dpkg unpacks."""
    elements = {one["SPDXID"]: one for one in [*document["packages"], *document["files"]]}
    package = next((one for one in document["packages"] if one.get("packageFileName") == deb.name), None)
    if package is None:
        yield f"{deb.name} is not described"
        return
    if digests(package)["SHA256"] != hashlib.sha256(deb.read_bytes()).hexdigest():
        yield f"{deb.name}: its checksum"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-x", deb, folder], check=True)
    there = {"./" + path.relative_to(folder).as_posix(): path for path in folder.rglob("*")
             if path.is_file() and not path.is_symlink()}
    listed = {elements[one]["fileName"]: elements[one] for one in related(document, package["SPDXID"], "CONTAINS")}
    if set(there) != set(listed):
        yield f"{deb.name}: files {sorted(set(there) ^ set(listed))}"
    sums = []
    for name in sorted(set(there) & set(listed)):
        data = there[name].read_bytes()
        sums.append(hashlib.sha1(data).hexdigest())
        if digests(listed[name]) != {"SHA1": sums[-1], "SHA256": hashlib.sha256(data).hexdigest()}:
            yield f"{deb.name}: the checksums of {name}"
        if data.startswith(b"\x7fELF"):
            dynamic = subprocess.run(["readelf", "-d", there[name]], check=True, stdout=subprocess.PIPE, text=True).stdout
            loads = related(document, listed[name]["SPDXID"], "DYNAMIC_LINK")
            if len(loads) != len(re.findall(r"\(NEEDED\)", dynamic)):
                yield f"{deb.name}: what {name} loads"
    code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
    if package["packageVerificationCode"]["packageVerificationCodeValue"] != code:
        yield f"{deb.name}: its verification code"
    depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {elements[one]["name"] for one in related(document, package["SPDXID"], "DEPENDS_ON")}
    if names != set(re.findall(r"(?:^|, )([a-z0-9][a-z0-9+.-]+)", depends)):
        yield f"{deb.name} depends on {sorted(names)}, and says {depends}"


def check(file, debs, scratch):
    document = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    found = list(problems_of_form(document))
    for deb in debs:
        found += problems_of_package(document, pathlib.Path(deb), scratch / "x")
    return document, found


def make_deb(scratch, name, files, depends):
    root = scratch / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(f"Package: {name}\nVersion: 1.2\nArchitecture: all\nMaintainer: Ann <ann@example.org>\n"
                                         f"Depends: {depends}\nDescription: a test\n")
    for path, source in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / path)
    deb = scratch / f"{name}_1.2_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, deb], check=True, stdout=subprocess.DEVNULL)
    return deb


def main(project, build, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    library = next(path for path in build.glob("libpawl.so.*.*") if path.is_file() and not path.is_symlink())
    debs = [make_deb(scratch, "lib-test", {f"usr/lib/{library.name}": library, "usr/share/doc/LICENSE": project / "LICENSE"},
                     "libc6 (>= 2.34), libsqlite3-0 (>= 3.36.0)"),
            make_deb(scratch, "tools-test", {"usr/bin/pawl": build / "src/apps/pawl/pawl"}, "libc6, libstdc++6 (>= 11)")]
    out = scratch / "pawl_1.2_all.spdx.json"
    subprocess.run([sys.executable, "-B", project / "packaging/sbom.py", build, out, *debs], check=True)
    document, found = check(out, debs, scratch)
    names = {one["SPDXID"]: one["name"] for one in document["packages"]}
    parts = {file["fileName"]: sorted(names[one] for one in related(document, file["SPDXID"], "STATIC_LINK"))
             for file in document["files"]}
    wanted = {f"./usr/lib/{library.name}": ["cJSON", "libmd"], "./usr/share/doc/LICENSE": [], "./usr/bin/pawl": ["CLI11", "cJSON", "libmd"]}
    if parts != wanted:
        found.append(f"compiled in: {parts}")
    versions = [one["versionInfo"] for one in document["packages"] if one["name"] in ("cJSON", "CLI11", "libmd")]
    if len(versions) != 3 or not all(re.fullmatch(r"\d+\.\d+\.\d+", one) for one in versions):
        found.append(f"versions of what is compiled in: {versions}")
    return found


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        deb_paths = [pathlib.Path(path).resolve() for path in sys.argv[3:]]
        with tempfile.TemporaryDirectory() as folder:
            problems = check(sys.argv[2], deb_paths, pathlib.Path(folder))[1]
    else:
        problems = main(*(pathlib.Path(path).resolve() for path in sys.argv[1:4]))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
