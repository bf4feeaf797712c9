#!/bin/sh
# The first process of a container of its own: sets the place up and becomes systemd. See pawld_systemd_test.py.
#   pawld_systemd.sh FOLDER    FOLDER has pawld, pawld_client, pawld.json, pawld.service, pawl.sysusers and steps.sh
. "$(dirname "$0")/container.sh"
systemd-sysusers "$1/pawl.sysusers"
mkdir -p /run/lock /run/systemd/system
umount -R -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
units=/run/systemd/system
sed 's|^ExecStart=/usr/bin/|ExecStart=/opt/|; s|^WatchdogSec=.*|WatchdogSec=2s|' /opt/test/pawld.service > $units/pawld.service
# What a unit under test needs of the system, and nothing else of this machine's.
printf '[Unit]\nWants=steps.service\n' > $units/test.target
printf '[Unit]\nAfter=pawld.service\n[Service]\nType=oneshot\nExecStart=/bin/sh /opt/test/steps.sh\n' > $units/steps.service
export container=test
exec /lib/systemd/systemd --system --unit=test.target --log-target=console --show-status=no
