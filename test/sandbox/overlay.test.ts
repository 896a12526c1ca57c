import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { killContainer } from './containers.ts';
import { eventually, shell, useNamespace } from './harness.ts';

const bench = useNamespace('layers', 'privileged');
let sandbox: Sandbox;
bench.share((opened) => (sandbox = opened), { layered: true });

const plant = `set -e; cd /workspace; mkdir -p src empty 'sp ace'; printf 'a\\r\\nb' > src/crlf; printf x > 'sp ace/new
line'; echo secret > private; chmod 600 private; echo '#!/bin/sh' > run.sh; chmod 755 run.sh; ln -s src/crlf link; ln -s nowhere dangling
ln private hard; git init -q nested; cd nested; git config user.email a@example.org; git config user.name a; echo 1 > f; git add f; git commit -qm one; chmod 444 f; head -c 3000000 /dev/urandom > ~/big`;

const wreck = `cd /workspace; rm -rf src nested/.git 'sp ace' empty; mkdir src; echo other > src/else; chmod 777 private; echo more >> hard; rm link; mkdir link; echo z > link/z; truncate -s 0 ~/big; mkdir -p new/deep; touch new/deep/file; mv run.sh renamed.sh; chmod 0 /workspace`;

describe('roots that are layers, in a real pod', () => {
  test('the keeper reports it, and sees the same files as commands', async () => {
    expect((await sandbox.client.info()).snapshots).toMatchObject({ engine: 'Overlay' });
    const { stdout } = await shell(sandbox, 'grep " /workspace " /proc/self/mountinfo | tail -n 1; id -u; echo seen > /workspace/seen');
    expect(stdout).toContain(' - overlay ');
    expect(stdout).toMatch(/\n0\n$/);
    expect((await sandbox.client.takeSnapshot('first')).files).toBe(1);
  });

  test('a restore brings back the tree of the snapshot, proved by the manifest hash', async () => {
    expect((await shell(sandbox, plant, { timeoutSeconds: 30 })).end.exitCode).toBe(0);
    const before = await sandbox.client.takeSnapshot('before');
    await shell(sandbox, wreck);
    const wrecked = await sandbox.client.takeSnapshot('wrecked');
    expect(wrecked.manifestDigest).not.toBe(before.manifestDigest);
    expect(await sandbox.client.restore(before.id)).toMatchObject({
      verified: true,
      manifestDigest: before.manifestDigest,
      mismatches: [],
    });
    expect((await shell(sandbox, 'cd /workspace/nested && git log --format=%s && git status --porcelain')).stdout).toBe('one\n');
    expect(await sandbox.client.restore(wrecked.id)).toMatchObject({ verified: true, manifestDigest: wrecked.manifestDigest });
    expect((await shell(sandbox, 'cat /workspace/src/else; cat /workspace/src/crlf')).stdout).toBe('other\n');
  });

  test('commands have no capability, cannot mount, and do not see the layers', async () => {
    const caps = await shell(sandbox, 'grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status; grep NoNewPrivs /proc/self/status');
    expect(caps.stdout.match(/0000000000000000/g)).toHaveLength(4);
    expect(caps.stdout).toMatch(/NoNewPrivs:\s+1/);
    const mount = await shell(
      sandbox,
      'mount -t tmpfs none /mnt; echo $?; umount /workspace; echo $?; unshare -r true; echo $?; ls /var/lib/agentfleet-layers; echo $?',
    );
    expect(mount.stdout.match(/^0$/gm)).toBeNull();
  });

  test('files left open in an old tree cannot be written to any more', async () => {
    const first = await sandbox.client.takeSnapshot();
    const held = await shell(sandbox, 'exec 3>>/workspace/held; echo one >&3; sleep 0.1; echo two >&3');
    expect(held.end.exitCode).toBe(0);
    expect((await sandbox.client.restore(first.id)).deleted).toBe(1);
    expect((await shell(sandbox, 'cat /workspace/held')).end.exitCode).toBe(1);
  });

  test('a killed keeper, and then killed tools, restart with the same tree', async () => {
    await shell(sandbox, 'mkdir /workspace/deep; echo one > /workspace/deep/file');
    const kept = await sandbox.client.takeSnapshot('kept');
    await shell(sandbox, 'echo later > /workspace/later; rm -r /workspace/deep');
    const { instance } = (await sandbox.client.info()).tools;
    await killContainer(bench.kubectl, sandbox, 'keeper');
    await eventually('the keeper is back', 60, async () => (await sandbox.client.info()).ready);
    expect((await shell(sandbox, 'cat /workspace/later; ls /workspace/deep')).stdout).toBe('later\n');
    await killContainer(bench.kubectl, sandbox, 'tools');
    await eventually('the tools are back', 60, async () => {
      const { ready, tools } = await sandbox.client.info();
      return ready && tools.instance !== instance;
    });
    expect((await shell(sandbox, 'cat /workspace/later; ls /workspace/deep')).stdout).toBe('later\n');
    expect(await sandbox.client.restore(kept.id)).toMatchObject({ verified: true, manifestDigest: kept.manifestDigest });
    expect((await shell(sandbox, 'cat /workspace/deep/file')).stdout).toBe('one\n');
  });

  test('more snapshots than layers may lie above one another', async () => {
    for (let at = 0; at < 60; at++) {
      await shell(sandbox, `echo ${at} > /workspace/n; echo ${at} > /workspace/n${at % 7}`);
      await sandbox.client.takeSnapshot(at === 30 ? 'middle' : undefined);
    }
    const last = await sandbox.client.takeSnapshot('last');
    const { stdout } = await shell(sandbox, 'grep " /workspace " /proc/self/mountinfo | tail -n 1');
    expect(stdout.split('lowerdir').length).toBeLessThan(62);
    const middle = (await sandbox.client.snapshots()).find(({ label }) => label === 'middle');
    await sandbox.client.restore(middle?.id ?? '');
    expect((await shell(sandbox, 'cat /workspace/n')).stdout).toBe('30\n');
    expect(await sandbox.client.restore(last.id)).toMatchObject({ verified: true, manifestDigest: last.manifestDigest });
    expect((await shell(sandbox, 'cat /workspace/n')).stdout).toBe('59\n');
  }, 120_000);

  test('random changes: each snapshot is restored as a command saw it, and layers report the same as a full read', async () => {
    const seen = new Map<string, string>();
    for (let round = 0; round < 24; round++) {
      const changed = await shell(sandbox, `python3 - ${round} <<'P'\n${randomChanges}\nP`, { timeoutSeconds: 60 });
      expect([changed.end.exitCode, changed.stderr]).toEqual([0, '']);
      const { id } = await sandbox.client.takeSnapshot();
      seen.set(id, await look());
      const ids = [...seen.keys()];
      if (round % 3 !== 2) continue;
      const back = ids[(round * 7) % ids.length] ?? id;
      expect(await sandbox.client.restore(back)).toMatchObject({ verified: true });
      expect(await look()).toBe(seen.get(back));
    }
    // The store would repair faults of layers, and report it.
    const said = await bench.kubectl.text(['-n', sandbox.namespace, 'logs', sandbox.name, '-c', 'keeper']);
    expect(said).toContain('the layers were switched');
    expect(said).not.toContain('layers could not be tidied');
    const { manifestDigest } = await sandbox.client.takeSnapshot();
    await killContainer(bench.kubectl, sandbox, 'keeper');
    await eventually('the keeper is back', 60, async () => (await sandbox.client.info()).ready);
    // A keeper that has just started knows nothing, and reads every file.
    expect((await sandbox.client.takeSnapshot()).manifestDigest).toBe(manifestDigest);
  }, 120_000);
});

/** The tree as a command sees it, in one hash: types, modes, times, link targets, contents, names of one file. */
async function look(): Promise<string> {
  const program = `import os, hashlib
out, first = [], {}
for d, dirs, files in os.walk("/workspace"):
    for n in sorted(dirs + files):
        p = os.path.join(d, n); s = os.lstat(p)
        what = os.readlink(p) if os.path.islink(p) else "" if os.path.isdir(p) else hashlib.sha256(open(p, "rb").read()).hexdigest()
        out.append((p, s.st_mode, s.st_mtime_ns, what))
names = {}
for p, *_ in sorted(out):
    s = os.lstat(p)
    if os.path.isfile(p) and not os.path.islink(p): names.setdefault(s.st_ino, []).append(p)
print(hashlib.sha256(repr((sorted(out), sorted(names.values()))).encode()).hexdigest())`;
  const { stdout, stderr } = await shell(sandbox, `python3 - <<'P'\n${program}\nP`, { timeoutSeconds: 60 });
  expect(stderr).toBe('');
  return stdout.trim();
}

/** Everything that layers handle specially: removed, replaced by another type, renamed, linked. */
const randomChanges = `import os, random, shutil, sys
r = random.Random(int(sys.argv[1])); base = "/workspace/tree"; os.makedirs(base, exist_ok=True)
def places():
    return [base] + [os.path.join(d, n) for d, dirs, _ in os.walk(base) for n in dirs if not os.path.islink(os.path.join(d, n))]
def anything():
    found = [os.path.join(d, n) for d, dirs, files in os.walk(base) for n in dirs + files]
    return r.choice(found) if found else None
def fresh():
    return os.path.join(r.choice(places()), "n%d" % r.randrange(12))
def gone(p):
    if os.path.isdir(p) and not os.path.islink(p): shutil.rmtree(p)
    elif os.path.lexists(p): os.remove(p)
def write():
    p = fresh(); gone(p); open(p, "w").write(str(r.random()) * r.randrange(1, 2000))
def append():
    p = anything()
    if p and os.path.isfile(p) and not os.path.islink(p): open(p, "a").write("more")
def folder():
    p = fresh(); gone(p); os.makedirs(os.path.join(p, "deep")); open(os.path.join(p, "deep", "f"), "w").write("x")
def remove():
    p = anything(); p and gone(p)
def again():
    p = r.choice(places()[1:] or [base + "/d"]); gone(p); os.makedirs(p); open(os.path.join(p, "new"), "w").write("y")
def link():
    p = fresh(); gone(p); os.symlink(r.choice(["n1", "../n2", "nowhere"]), p)
def hard():
    p, q = anything(), fresh()
    if p and os.path.isfile(p) and not os.path.islink(p) and not os.path.isdir(q) and p != q: gone(q); os.link(p, q)
def mode():
    p = anything()
    if p and not os.path.islink(p): os.chmod(p, r.choice([0o755, 0o700, 0o775]))
def move():
    p, q = anything(), fresh()
    if p and not (q + "/").startswith(p + "/") and not (p + "/").startswith(q + "/"):
        gone(q); shutil.move(p, q, copy_function=shutil.copy2)
for _ in range(30): r.choice([write, write, append, folder, remove, again, link, hard, mode, move])()`;
