import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { containerOf, podOf } from './containers.ts';
import { eventually, shell, useNamespace } from './harness.ts';

const bench = useNamespace('escape');
let sandbox: Sandbox;
bench.share((opened) => (sandbox = opened));

/** Runs a Python program that may call `name(f)`: returns the errno's name, `timeout`, or the result of `f`. */
async function python(program: string, timeoutSeconds = 30): Promise<string[]> {
  const prelude = `import ctypes, errno, os, socket, struct, time
def name(f):
    try: return f()
    except OSError as e: return errno.errorcode.get(e.errno, "timeout")
`;
  const { stdout, stderr, end } = await shell(sandbox, 'exec python3 -', { stdin: prelude + program, timeoutSeconds });
  expect([end.exitCode, stderr]).toEqual([0, '']);
  return stdout.trim().split('\n');
}

describe('a way out', () => {
  test('no socket that NetworkPolicy may not see: IPv6, ICMP, raw, SCTP, multipath', async () => {
    const tried = await python(`
for family in (socket.AF_INET, socket.AF_INET6):
    for kind, protocol in ((1, 0), (2, 0), (2, 1), (2, 58), (3, 1), (3, 255), (1, 132), (2, 136), (1, 262), (10, 0)):
        print(name(lambda: "open" if socket.socket(family, kind, protocol) else ""))
`);
    expect(tried.slice(0, 2)).toEqual(['open', 'open']); // TCP and UDP over IPv4
    expect(tried.slice(2, 10).filter((word) => word === 'open')).toEqual([]);
    expect(new Set(tried.slice(10))).toEqual(new Set(['EAFNOSUPPORT']));
  });

  test('nothing answers over UDP: cluster DNS, node, gateway, metadata, broadcast, multicast', async () => {
    const { podIP, hostIP } = (await podOf(bench.kubectl, sandbox)).status;
    const dns = await bench.kubectl.json<{ spec: { clusterIP: string } }>(['-n', 'kube-system', 'get', 'service', 'kube-dns']);
    const gateway = podIP.replace(/\d+$/, '1');
    const targets = [
      dns.spec.clusterIP,
      hostIP,
      gateway,
      '169.254.169.254',
      '255.255.255.255',
      podIP.replace(/\d+$/, '255'),
      '224.0.0.251',
    ];
    const answers = await python(`
query = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x0akubernetes\\x07default\\x03svc\\x07cluster\\x05local\\0\\0\\x01\\0\\x01"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for host in ${JSON.stringify(targets)}: name(lambda: s.sendto(query, (host, 53)))
print(name(lambda: "answer %r" % (s.recvfrom(512),)))
`);
    expect(answers[0]).toMatch(/^(timeout|E[A-Z]+)$/);
  });

  test('nothing takes a TCP connection: other ports of the node and its gateway', async () => {
    const { podIP, hostIP } = (await podOf(bench.kubectl, sandbox)).status;
    const tried = await python(`
import select
for host in (${JSON.stringify(hostIP)}, ${JSON.stringify(podIP.replace(/\d+$/, '1'))}):
    for port in (22, 2379, 6443, 8080, 10248, 10250, 10256):
        s = socket.socket(); s.setblocking(False); s.connect_ex((host, port))
        _, w, _ = select.select([], [s], [], 0.5)
        print("open" if w and s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 else "closed")
`);
    expect(new Set(tried)).toEqual(new Set(['closed']));
  });

  test('no file of the container that the node holds can be written', async () => {
    const tried = await python(`
for path in ("/dev/termination-log", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/proc/self/oom_score_adj", "/proc/sys/kernel/core_pattern", "/sys/fs/cgroup/x"):
    print(name(lambda: "open" if os.open(path, os.O_WRONLY | os.O_CREAT) else ""))
`);
    expect(tried.filter((word) => word === 'open')).toEqual([]);
    expect(tried).toHaveLength(7);
  });
});

describe('leftovers', () => {
  test('no shared memory, semaphore or queue outlives its command', async () => {
    await python(`
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(libc.shmget(0x5151, 64 << 20, 0o1666), None, 0)
ctypes.memset(at, 1, 64 << 20)
libc.semget(0x5151, 3, 0o1666); libc.msgget(0x5151, 0o1666)
librt = ctypes.CDLL("librt.so.1"); librt.mq_open(b"/left", 0o102, 0o600, None)
`);
    const { stdout } = await shell(sandbox, 'cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | grep -vc key; ls /dev/mqueue');
    expect(stdout).toBe('0\n');
  });

  test('no process: cloned to the parent, subreaper, stopped, many threads, zombies', async () => {
    const { end } = await shell(
      sandbox,
      `exec python3 - <<'P'
import ctypes, os, signal, threading, time
libc = ctypes.CDLL(None); libc.prctl(36, 1, 0, 0, 0)
for _ in range(300): threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
clone = 220 if os.uname().machine == "aarch64" else 56
for flags in (0x8000 | 17, 17, 0):  # CLONE_PARENT, SIGCHLD, and no signal at its end
    if libc.syscall(clone, flags, 0, 0, 0, 0) == 0:
        os.setsid() if flags != 0x8011 else None
        if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(300)
for _ in range(50):
    if os.fork() == 0: os._exit(0)
os._exit(0)
P`,
    );
    expect(end.exitCode).toBe(0);
    expect(end.swept).toBeGreaterThanOrEqual(3);
    expect((await shell(sandbox, 'cat /proc/[0-9]*/comm')).stdout).not.toContain('python');
  });
});

describe('the keeper', () => {
  test('keeps room for workers however many connections come from inside, whatever their address', async () => {
    const held = await python(`
held = []
for n in range(200):
    s = socket.socket(); s.settimeout(1); s.bind(("127.0.%d.%d" % (n % 7, 2 + n), 0))
    if name(lambda: s.connect(("127.0.0.1", 7070)) or "open") == "open": held.append(s)
time.sleep(0.5)
alive = 0
for s in held:
    s.setblocking(False)
    if name(lambda: s.recv(1)) == "EAGAIN": alive += 1
print(alive)
`);
    expect(Number(held[0])).toBeLessThanOrEqual(32);
    await eventually('the keeper answers', 5, async () => (await sandbox.client.info()).ready);
  });

  test('captures and restores the largest tree that it lets in, over another one, in its own memory', async () => {
    const paths = process.env['AGENTFLEET_FULL'] === '1' ? 145_000 : 8000;
    const grow = (letter: string): Promise<unknown> =>
      shell(
        sandbox,
        `exec python3 - <<'P'
import os, shutil
shutil.rmtree("/workspace/tree", ignore_errors=True)
for d in range(10):
    os.makedirs("/workspace/tree/%d" % d)
    for n in range(${paths / 10}): os.close(os.open("/workspace/tree/%d/%s-%d" % (d, "${letter}" * 60, n), os.O_CREAT))
P`,
        { timeoutSeconds: 60 },
      );
    await grow('a');
    const first = await sandbox.client.takeSnapshot();
    await grow('b');
    const second = await sandbox.client.takeSnapshot();
    expect(await sandbox.client.restore(first.id)).toMatchObject({ verified: true });
    expect(await sandbox.client.restore(second.id)).toMatchObject({ verified: true });
    expect((await containerOf(bench.kubectl, sandbox, 'keeper')).restartCount).toBe(0);
  });

  test('survives a tree of countless, endless and unnamable paths, and undoes it', async () => {
    const small = await bench.open({ keeperEnv: { AGENTFLEET_WORKSPACE_LIMIT_ENTRIES: '3000' } });
    await shell(small, 'mkdir -p /workspace/src; echo kept > /workspace/src/file; touch -d 2400-01-01 /workspace/src/late');
    const first = await small.client.takeSnapshot();
    const grown = await shell(
      small,
      `exec python3 - <<'P'
import os
os.chdir("/workspace")
for n in range(5000): os.close(os.open("n%d" % n, os.O_CREAT))
os.truncate("src/file", 1 << 43)
for _ in range(40): os.mkdir("d" * 250); os.chdir("d" * 250)
os.remove("/workspace/src/late")
P`,
    );
    // Whether the program ends, or is killed, depends on its speed.
    expect([grown.end.killed ?? grown.end.exitCode, grown.stderr]).toEqual([expect.toBeOneOf([0, 'QuotaExceeded']), '']);
    await expect(small.client.takeSnapshot()).rejects.toMatchObject({ status: 507, code: 'AF_QUOTA_EXCEEDED' });
    await expect(shell(small, 'true')).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    expect(await small.client.restore(first.id)).toMatchObject({ verified: true, manifestDigest: first.manifestDigest });
    expect((await shell(small, 'ls /workspace; cat /workspace/src/file')).stdout).toBe('src\nkept\n');
    expect((await containerOf(bench.kubectl, small, 'keeper')).restartCount).toBe(0);
    expect((await small.client.audit()).ok).toBe(true);
    await small.close();
  });
});
