#!/bin/sh
# The first process of a machine of its own: makes the folder its root and becomes systemd. See first_day_test.py.
#   first_day_boot.sh ROOT ARCHIVES    ARCHIVES is where packages from Debian are kept for the next time
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount --bind "$2" var/cache/apt/archives
mount -t proc proc proc
# What the kernel has for all is none of this machine's business.
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  : >dev/$device
  mount --bind /dev/$device dev/$device
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for folder in dev/shm run tmp; do mount -t tmpfs tmpfs $folder; done
chmod 1777 dev/shm tmp
mount --bind mnt mnt
pivot_root . mnt
cd /
umount -l mnt
exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --log-target=console --show-status=no
