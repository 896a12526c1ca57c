/**
 * Shell programs that `unshare` runs. They make a root of its own for one sandbox, with keeper and runner in it. Nothing of this machine
 * is in that root but system folders (read only) and those that `BINDS` names by a line each, so that no pack, no hidden check and
 * nobody's home can be read from there.
 *
 * `AREA` is the folder of the sandbox on this machine; `ACCOUNT` the uid of keeper and runner, or empty: as we are.
 */
const drop = String.raw`
root="$AREA/root"
drop() {
  [ -n "$ACCOUNT" ] || exec chroot "$root" "$@"
  exec chroot "$root" setpriv --reuid "$ACCOUNT" --regid "$ACCOUNT" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
}
`;

/**
 * Makes the root, starts the keeper, and the runner as often as it ends: a restart is a fresh container, as in a pod. It is PID 1 of its
 * namespace, so that all ends with the keeper.
 */
export const superviseScript = String.raw`${drop}
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=64m none "$root"
cd "$root"
mkdir -p proc dev/shm dev/mqueue tmp opt/agentfleet workspace home/agent .agentfleet/link .agentfleet/bin var/lib/agentfleet etc/agentfleet
for name in usr bin sbin lib lib64 lib32; do
  if [ -L "/$name" ]; then cp -d "/$name" "$name"
  elif [ -d "/$name" ]; then mkdir "$name" && mount --bind -o ro "/$name" "$name"; fi
done
for name in passwd group nsswitch.conf localtime ld.so.cache alternatives ssl; do
  if [ -d "/etc/$name" ]; then mkdir "etc/$name" && mount --bind -o ro "/etc/$name" "etc/$name"
  elif [ -f "/etc/$name" ]; then cp "/etc/$name" "etc/$name"; fi
done
printf '%s\n' "$BINDS" | while IFS= read -r folder; do
  if [ -n "$folder" ]; then mkdir -p "./$folder" && mount --bind -o ro "$folder" "./$folder"; fi
done
for name in null zero full random urandom tty; do : > "dev/$name" && mount --bind "/dev/$name" "dev/$name"; done
ln -s /proc/self/fd dev/fd
mount -t proc proc proc
for pair in workspace:workspace home:home/agent link:.agentfleet/link store:var/lib/agentfleet; do
  mount --bind "$AREA/${'$'}{pair%%:*}" "${'$'}{pair#*:}"
done
mount --bind -o ro "$BIN" .agentfleet/bin
mount --bind -o ro "$KEEPER" opt/agentfleet
mount --bind -o ro "$AREA/jwks" etc/agentfleet
mount -o remount,ro none "$root"
( drop "$NODE" --liftoff-only --disable-warning=ExperimentalWarning --max-semi-space-size=2 /opt/agentfleet/keeper.js ) &
keeper=$!
while :; do
  AGENTFLEET_LINK=/.agentfleet/link/keeper.sock unshare --mount --pid --net --ipc --fork --kill-child=SIGKILL sh -euc "$TOOLS" || sleep 0.05
done &
wait "$keeper"
`;

/** Around what works on the tree: nothing of the keeper's store and program, and folders for what is temporary of its own. */
const walls = String.raw`${drop}
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=1m none "$root/var/lib"
mount -t tmpfs -o mode=755,size=1m none "$root/opt/agentfleet"
mount -t tmpfs -o mode=1777,size=512m none "$root/tmp"
mount -t tmpfs -o mode=1777,size=64m none "$root/dev/shm"
mount -t proc proc "$root/proc"
`;

/** The runner: PID 1 of a namespace of its own, without a network but the loopback that a pod has too. */
export const toolsScript = String.raw`${walls}
ip link set lo up 2>&- || python3 -c "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh14x', b'lo', 65))"
drop /.agentfleet/bin/runner serve
`;

/** A program beside the runner, on the same tree, with the network of this machine: an agent that is no part of the fleet. */
export const besideScript = String.raw`${walls}
drop env -u AREA -u ACCOUNT sh -c 'cd /workspace && exec "$@"' sh "$@"
`;
