#!/bin/sh
# In namespaces of its own: what OpenRC needs of a machine that it has started, and the steps. See pawld_openrc_test.py.
#   pawld_openrc.sh FOLDER    FOLDER has pawld, pawld_client, pawld.json, the script pawld.rc and steps.sh
. "$(dirname "$0")/container.sh"
# As an administrator would: the user, the script.
grep -q '^pawl:' /etc/passwd || useradd --system --home-dir /var/lib/pawl --no-create-home pawl
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
