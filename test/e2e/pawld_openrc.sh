#!/bin/sh
# In namespaces of its own: what OpenRC needs of a machine that it has started, and the steps. See pawld_openrc_test.py.
#   pawld_openrc.sh FOLDER    FOLDER has pawld, pawld_client, pawld.json, the script pawld.rc and steps.sh
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
mkdir /mnt/opt && mount --bind /mnt/opt /opt
mkdir /opt/test && mount --bind "$1" /opt/test
cp /opt/test/pawld /opt/pawld && chmod 755 /opt /opt/pawld
for folder in /run /tmp /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs $folder; done
# As an administrator would: the user, the configuration, the script.
grep -q '^pawl:' /etc/passwd || useradd --system --home-dir /var/lib/pawl --no-create-home pawl
mkdir -p /etc/pawl && cp /opt/test/pawld.json /etc/pawl/
rm -f /etc/init.d/* /etc/runlevels/*/*
sed 's|^command="/usr/bin/|command="/opt/|' /opt/test/pawld.rc > /etc/init.d/pawld
chmod 755 /etc/init.d/pawld
# A machine that is up: what the script needs has been started, and there is a runlevel.
printf '#!/sbin/openrc-run\nstart() { return 0; }\n' > /etc/init.d/localmount
chmod 755 /etc/init.d/localmount
for folder in daemons exclusive failed hotplugged inactive options scheduled started starting stopping tmp wasinactive; do
  mkdir -p /run/openrc/$folder
done
echo default > /run/openrc/softlevel
mkdir -p /etc/conf.d
exec /bin/sh /opt/test/steps.sh
