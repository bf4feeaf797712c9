#!/bin/sh
# The first process of a container of its own: sets the place up and becomes systemd. See pawld_systemd_test.py.
#   pawld_systemd.sh FOLDER    FOLDER has pawld, pawld_client, pawld.json, pawld.service, pawl.sysusers and steps.sh
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
mkdir /mnt/opt && mount --bind /mnt/opt /opt
mkdir /opt/test && mount --bind "$1" /opt/test
mkdir -p /etc/pawl && cp "$1/pawld.json" /etc/pawl/
cp "$1/pawld" /opt/pawld && chmod 755 /opt /opt/pawld
systemd-sysusers "$1/pawl.sysusers"
for folder in /run /tmp /var/lib /var/log; do mount -t tmpfs tmpfs $folder; done
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
