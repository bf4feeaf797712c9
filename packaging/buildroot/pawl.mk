################################################################################
#
# pawl
#
################################################################################

PAWL_VERSION = 0.1.0
# PAWL_SITE is where your copy of Pawl is.
PAWL_SITE ?= /srv/git/pawl.git
PAWL_SITE_METHOD ?= git
PAWL_LICENSE = MIT
PAWL_LICENSE_FILES = LICENSE
PAWL_INSTALL_STAGING = YES
PAWL_DEPENDENCIES = sqlite

# cJSON is inside the library; package/cjson has a shared library, so its source is taken as a download of our own.
PAWL_CJSON_VERSION = 1.7.18
PAWL_EXTRA_DOWNLOADS = https://github.com/DaveGamble/cJSON/archive/refs/tags/v$(PAWL_CJSON_VERSION)/cjson-$(PAWL_CJSON_VERSION).tar.gz

define PAWL_EXTRACT_CJSON
	mkdir -p $(@D)/cjson
	$(TAR) --strip-components=1 -C $(@D)/cjson -xf $(PAWL_DL_DIR)/cjson-$(PAWL_CJSON_VERSION).tar.gz
endef
PAWL_POST_EXTRACT_HOOKS += PAWL_EXTRACT_CJSON

PAWL_CONF_OPTS = \
	-DPAWL_BUILD_TESTS=OFF \
	-DPAWL_BUILD_EXAMPLES=OFF \
	-DPAWL_FETCH_CJSON=OFF \
	-DPAWL_ENDPOINT=OFF \
	-DPAWL_CJSON_DIR=$(@D)/cjson \
	-DPAWL_BUILD_SHARED=$(if $(BR2_STATIC_LIBS),OFF,ON) \
	-DPAWL_BUILD_TOOLS=$(if $(BR2_PACKAGE_PAWL_TOOLS),ON,OFF)

$(eval $(cmake-package))
