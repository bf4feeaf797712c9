# Sourced by the first process of a container, with the test's folder as $1: an /etc and an /opt of its own, the folder at /opt/test.
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
mkdir /mnt/opt && mount --bind /mnt/opt /opt
mkdir /opt/test && mount --bind "$1" /opt/test
mkdir -p /etc/pawl && cp /opt/test/pawld.json /etc/pawl/
cp /opt/test/pawld /opt/pawld && chmod 755 /opt /opt/pawld
for folder in /run /tmp /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs $folder; done
