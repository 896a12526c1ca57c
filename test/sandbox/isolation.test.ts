import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { podOf } from './containers.ts';
import { shell, useNamespace } from './harness.ts';

const bench = useNamespace('wall');
let sandbox: Sandbox;
bench.share((opened) => (sandbox = opened));

/** A Python program that tries one TCP connection and prints `open` or the error's name. */
function connect(host: string, port: number): string {
  return `python3 - <<'P'
import socket, errno
s = socket.socket(); s.settimeout(2)
try:
    s.connect(("${host}", ${port})); print("open")
except OSError as e: print(errno.errorcode.get(e.errno, "timeout"))
P`;
}

describe('from inside the user container', () => {
  test('the probed isolation reports the probes', async () => {
    const info = await sandbox.client.info();
    expect(info.ready).toBe(true);
    expect(info.network.state).toBe('Enforced');
    expect(info.network.targets.length).toBeGreaterThanOrEqual(2);
    expect(info.isolation).toMatchObject({ level: 'Landlock', seccomp: true, noNewPrivs: true, userNamespace: false });
    expect(Number.parseInt(info.isolation?.capEff ?? 'f', 16)).toBe(0);
  });

  test('loopback works', async () => {
    const { stdout, end } = await shell(
      sandbox,
      `cd /tmp && (python3 -m http.server 8099 --bind 127.0.0.1 >/dev/null 2>&1 &) ; for i in $(seq 100); do sleep 0.3; python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8099/").status)' 2>/dev/null && break; done`,
      { timeoutSeconds: 60 },
    );
    expect(stdout.trim()).toBe('200');
    expect(end.swept).toBeGreaterThanOrEqual(1); // the server did not outlive its command
  });

  test('no network beyond loopback: API server, kubelet, DNS, another pod, the world', async () => {
    const other = await bench.open();
    const { podIP } = (await podOf(bench.kubectl, other)).status;
    const { hostIP } = (await podOf(bench.kubectl, sandbox)).status;
    const api = await bench.kubectl.json<{ spec: { clusterIP: string } }>(['-n', 'default', 'get', 'service', 'kubernetes']);
    const dns = await bench.kubectl.json<{ spec: { clusterIP: string } }>(['-n', 'kube-system', 'get', 'service', 'kube-dns']);
    const targets: [string, number][] = [
      [api.spec.clusterIP, 443],
      [hostIP, 10250],
      [dns.spec.clusterIP, 53],
      [podIP, 7070],
      ['192.0.2.1', 80],
    ];
    for (const [host, port] of targets) {
      const { stdout } = await shell(sandbox, connect(host, port));
      expect([`${host}:${port}`, stdout.trim()]).not.toEqual([`${host}:${port}`, 'open']);
      expect(stdout.trim()).toMatch(/^(timeout|E[A-Z]+)$/);
    }
    await other.close();
  });

  test('the wall can fail: the same attempt succeeds against the keeper in the same pod, which wants a token', async () => {
    const { stdout } = await shell(sandbox, connect('127.0.0.1', 7070));
    expect(stdout.trim()).toBe('open');
    const refused = await shell(
      sandbox,
      `python3 -c 'import urllib.request as u
try: u.urlopen("http://127.0.0.1:7070/v1/info")
except Exception as e: print(e.code)'`,
    );
    expect(refused.stdout.trim()).toBe('401');
  });

  test('no name resolution over UDP', async () => {
    const { stdout } = await shell(
      sandbox,
      `python3 -c 'import socket; print(socket.gethostbyname("kubernetes.default.svc.cluster.local"))' 2>&1 | tail -1`,
      {
        timeoutSeconds: 30,
      },
    );
    expect(stdout).toMatch(/gaierror|timed out/);
  });

  test('no Kubernetes token and no variable of the container reaches a command', async () => {
    const { stdout } = await shell(sandbox, 'ls /var/run/secrets /run/secrets 2>&1; env | cut -d= -f1 | sort | tr "\\n" " "');
    expect(stdout).not.toMatch(/serviceaccount|token/i);
    expect(stdout).not.toMatch(/KUBERNETES|AGENTFLEET/);
  });

  test('no reading or writing of the store', async () => {
    const { stdout } = await shell(
      sandbox,
      'ls /var/lib/agentfleet 2>&1; touch /var/lib/agentfleet/x 2>&1; find / -xdev -name "events.log" -not -path "/proc/*" 2>/dev/null | head -3; echo done',
    );
    expect(stdout).toMatch(/No such file|cannot access/);
    expect(stdout).not.toContain('events.log');
    const hidden = await shell(sandbox, 'cat /.agentfleet/bin/runner 2>&1 >/dev/null; echo x > /.agentfleet/link/x');
    expect(hidden.stdout).toContain('Permission denied');
    expect(hidden.end.exitCode).not.toBe(0);
  });

  test('no killing of runner or keeper, no reading of their memory or environment', async () => {
    const before = (await sandbox.client.info()).tools.instance;
    const { stdout } = await shell(
      sandbox,
      'kill -9 1; cat /proc/1/environ 2>&1 | head -c 200; ls -l /proc/1/fd 2>&1 | head -2; dd if=/proc/1/mem bs=1 count=1 2>&1 | head -1; ls /proc | grep -c "^[0-9]"; pgrep -fc keeper.js; echo alive',
    );
    expect(stdout).toContain('alive');
    expect(stdout).toContain('Permission denied');
    expect(stdout).not.toContain('LINK_KEY');
    const all = await shell(sandbox, 'kill -9 -1; echo unreachable-or-not');
    expect(all.end.type).toBe('end');
    const after = await sandbox.client.info();
    expect(after.tools).toMatchObject({ connected: true, instance: before });
    expect((await shell(sandbox, 'echo again')).stdout).toBe('again\n');
  });

  test('a process of the user on the keeper socket stays mute and changes nothing', async () => {
    const before = (await sandbox.client.info()).tools.instance;
    const { stdout } = await shell(
      sandbox,
      `python3 - <<'P'
import socket, json, struct
try:
    s = socket.socket(socket.AF_UNIX); s.settimeout(6); s.connect("/.agentfleet/link/keeper.sock")
    n = struct.unpack(">II", s.recv(8)); head = json.loads(s.recv(n[0])); print(head["t"])
    h = json.dumps({"t": "hello", "v": 1, "nonce": "AAAA", "instance": "00", "mac": "00"}).encode()
    s.sendall(struct.pack(">II", len(h), 0) + h)
    print("answer", s.recv(100))
except OSError as e: print("refused", e)
P`,
    );
    expect(stdout).toMatch(/answer b''|refused/);
    expect((await sandbox.client.info()).tools).toMatchObject({ connected: true, instance: before });
  });

  test('system calls that lead out are refused', async () => {
    const { stdout } = await shell(
      sandbox,
      `unshare -U true 2>&1; mount -t tmpfs x /tmp 2>&1 | tail -1; python3 - <<'P'
import socket, errno
for family in (17, 40, 38):
    try: socket.socket(family, socket.SOCK_RAW); print("open", family)
    except OSError as e: print(errno.errorcode[e.errno])
P`,
    );
    expect(stdout).not.toContain('open');
    expect(stdout).toMatch(/not permitted|denied/i);
  });
});

describe('other pods', () => {
  test('a user image without libc, shell and user database runs as well', async () => {
    const { inject } = await import('vitest');
    const foreign = await bench.open({ toolsImage: inject('environment').images['tools-busybox'] ?? '' });
    const { stdout, stderr, end } = await shell(foreign, 'id -u; echo $HOME; ls /');
    expect([end.exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^10001\n\/home\/agent\n/);
    expect((await foreign.client.info()).isolation?.level).toBe('Landlock');
    await foreign.close();
  });

  test('hostUsers: false is seen as a user namespace', async () => {
    const mapped = await bench.open({ hostUsers: false });
    expect((await mapped.client.info()).isolation).toMatchObject({ level: 'UserNamespace', userNamespace: true });
    expect((await shell(mapped, 'echo ok > /workspace/x && cat /workspace/x')).stdout).toBe('ok\n');
    await mapped.close();
  });
});
