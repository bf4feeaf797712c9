# Put this file and nothing else of this folder into a layer, as recipes-support/pawl/pawl_VERSION.bb.
SUMMARY = "Durable execution for small machines"
DESCRIPTION = "Pawl keeps workflows running across crashes and power loss on small devices, in one SQLite file and without a server."
SECTION = "libs"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=6a9c855cbdbacddc88a268957c664f6f \
                    file://cjson/LICENSE;md5=218947f77e8cb8e2fa02918dc41c50d0"

# PAWL_REPOSITORY is where your copy of Pawl is; SRCREV is the commit of the release.
PAWL_REPOSITORY ?= "git:///srv/git/pawl.git;protocol=file"
SRCREV ?= "${AUTOREV}"
SRC_URI = "${PAWL_REPOSITORY};branch=main \
           https://github.com/DaveGamble/cJSON/archive/refs/tags/v1.7.18.tar.gz;name=cjson;subdir=cjson-source"
SRC_URI[cjson.sha256sum] = "3aa806844a03442c00769b83e99970be70fbef03735ff898f4811dd03b9f5ee5"
S = "${WORKDIR}/git"

DEPENDS = "sqlite3"
inherit cmake pkgconfig

# Compiled from its source, so that no network is needed while building.
EXTRA_OECMAKE = "-DPAWL_BUILD_TESTS=OFF -DPAWL_BUILD_EXAMPLES=OFF -DPAWL_FETCH_CJSON=OFF \
                 -DPAWL_CJSON_DIR=${WORKDIR}/cjson-source/cJSON-1.7.18 -DPAWL_ENDPOINT=OFF"

do_copy_licence() {
    mkdir -p ${S}/cjson
    cp ${WORKDIR}/cjson-source/cJSON-1.7.18/LICENSE ${S}/cjson/LICENSE
}
addtask copy_licence after do_unpack before do_populate_lic

# libpawl and what is linked with it, tools alone, and the pages.
PACKAGES =+ "${PN}-tools"
FILES:${PN}-tools = "${bindir}"
FILES:${PN}-staticdev += "${libdir}/libpawl_testing.a"

BBCLASSEXTEND = "native nativesdk"
