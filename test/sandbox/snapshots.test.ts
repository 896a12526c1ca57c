import { describe, expect, test } from 'vitest';
import { buffer } from 'node:stream/consumers';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { killContainer } from './containers.ts';
import { eventually, shell, useNamespace } from './harness.ts';

const bench = useNamespace('undo');
let sandbox: Sandbox;
bench.share(async (opened) => {
  sandbox = opened;
  expect((await shell(sandbox, plant, { timeoutSeconds: 30 })).end.exitCode).toBe(0);
});

/** Makes a tree with state that is easily lost: modes, links, empty folders, strange names, a nested repository. */
const plant = `set -e; cd /workspace; mkdir -p src empty 'sp ace'; printf 'a\\r\\nb' > src/crlf; printf x > 'sp ace/new
line'; echo secret > private; chmod 600 private; echo '#!/bin/sh' > run.sh; chmod 755 run.sh; ln -s src/crlf link; ln -s nowhere dangling
ln private hard; git init -q nested; cd nested; git config user.email a@example.org; git config user.name a; echo 1 > f; git add f; git commit -qm one; chmod 444 f; head -c 3000000 /dev/urandom > ~/big`;

const wreck = `cd /workspace; rm -rf src nested/.git 'sp ace' empty; mkdir src; echo other > src/else; chmod 777 private; echo more >> hard; rm link; mkdir link; echo z > link/z; truncate -s 0 ~/big; mkdir -p new/deep; touch new/deep/file; mv run.sh renamed.sh`;

/** Unpacks a revert bundle from standard input (base64) and runs a command beside it. */
function withBundle(sandbox: Sandbox, bundle: Buffer, command: string) {
  const unpack = 'rm -rf /tmp/bundle && mkdir /tmp/bundle && base64 -d | tar -x -C /tmp/bundle && cd /tmp/bundle && ';
  return shell(sandbox, unpack + command, { stdin: bundle.toString('base64'), timeoutSeconds: 60 });
}

describe('undo in a real pod', () => {
  test('a restore brings back the tree of the snapshot, proved by the manifest hash', async () => {
    const before = await sandbox.client.takeSnapshot('before');
    expect((await shell(sandbox, wreck)).end.type).toBe('end');
    expect((await sandbox.client.takeSnapshot('wrecked')).manifestDigest).not.toBe(before.manifestDigest);
    const report = await sandbox.client.restore(before.id);
    expect(report).toMatchObject({ verified: true, manifestDigest: before.manifestDigest, mismatches: [] });
    expect((await shell(sandbox, 'cd /workspace/nested && git log --format=%s && git status --porcelain')).stdout).toBe('one\n');
  });

  test('the revert script does the same without the keeper, and the redo script applies the change again', async () => {
    const before = await sandbox.client.takeSnapshot('a');
    await shell(sandbox, 'cd /workspace; rm -r src; echo new > fresh; chmod 640 run.sh; echo more >> private; ln -sfn elsewhere link');
    const after = await sandbox.client.takeSnapshot('b');
    const bundle = await buffer(await sandbox.client.revertBundle(before.id, after.id));
    const dry = await withBundle(sandbox, bundle, 'sh revert.sh --dry-run');
    expect(dry.end.exitCode).toBe(0);
    expect(dry.stdout).toContain('fresh');
    const reverted = await withBundle(sandbox, bundle, 'sh revert.sh');
    expect([reverted.end.exitCode, reverted.stderr]).toEqual([0, '']);
    expect((await sandbox.client.takeSnapshot()).manifestDigest).toBe(before.manifestDigest);
    expect((await withBundle(sandbox, bundle, 'sh redo.sh')).end.exitCode).toBe(0);
    expect((await sandbox.client.takeSnapshot()).manifestDigest).toBe(after.manifestDigest);
    await shell(sandbox, 'echo conflict >> /workspace/fresh');
    const guarded = await withBundle(sandbox, bundle, 'sh revert.sh');
    expect(guarded.end.exitCode).toBe(3);
    expect((await shell(sandbox, 'cat /workspace/fresh')).stdout).toBe('new\nconflict\n');
  });

  test('the diff names each change and carries a patch', async () => {
    const from = await sandbox.client.takeSnapshot();
    await shell(sandbox, 'printf "one\\ntwo\\n" > /workspace/text; rm /workspace/private');
    const { entries, unified } = await sandbox.client.diff(from.id);
    expect(entries).toEqual(expect.arrayContaining([expect.objectContaining({ path: 'workspace/text', op: 'A' })]));
    expect(entries).toEqual(expect.arrayContaining([expect.objectContaining({ path: 'workspace/private', op: 'D' })]));
    expect(unified).toContain('+two');
  });

  test('an unknown snapshot is 404', async () => {
    await expect(sandbox.client.restore('s9999')).rejects.toMatchObject({ status: 404, code: 'AF_SNAPSHOT_UNKNOWN' });
  });

  test('a killed keeper restarts with its log, epoch and snapshots, and reports what it missed', async () => {
    const client = sandbox.clientWith({ epoch: 3 });
    const kept = await client.takeSnapshot('kept');
    const execId = '01J00000000000000000000000';
    const running = client.run({ execId, tool: 'Shell', command: 'sleep 45', timeoutSeconds: 60 }).catch((error: Error) => error);
    await eventually('the command runs', 5, async () => (await client.info()).running === execId);
    await killContainer(bench.kubectl, sandbox, 'keeper');
    expect(await running).toBeInstanceOf(Error);
    await eventually('the keeper is back', 60, async () => (await client.info()).ready);
    const events = [];
    for await (const event of client.follow(execId)) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'end', interrupted: 'KeeperRestarted' });
    expect((await client.audit()).ok).toBe(true);
    expect((await client.info()).epoch).toBe(3);
    await expect(sandbox.client.takeSnapshot()).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    expect(await client.restore(kept.id)).toMatchObject({ verified: true });
    expect((await client.run({ execId: '01J00000000000000000000001', tool: 'Shell', command: 'echo on' })).stdout).toBe('on\n');
  });
});

describe('a full disk', () => {
  test('a full store refuses the snapshot and keeps the earlier ones', async () => {
    const small = await bench.open({ memoryBacked: ['store'], storeBytes: 24 << 20 });
    await small.client.writeFile('/workspace/a', 'a');
    const first = await small.client.takeSnapshot();
    await shell(small, 'head -c 60000000 /dev/urandom > /workspace/big');
    await expect(small.client.takeSnapshot()).rejects.toMatchObject({ status: 507, code: 'AF_STORE_FULL' });
    await shell(small, 'rm /workspace/big; echo b > /workspace/a');
    expect(await small.client.restore(first.id)).toMatchObject({ verified: true, manifestDigest: first.manifestDigest });
    expect((await small.client.audit()).ok).toBe(true);
    await small.close();
  });

  test('a full workspace fails the command alone; a restore still works', async () => {
    const small = await bench.open({ memoryBacked: ['workspace'], workspaceBytes: 32 << 20 });
    await small.client.writeFile('/workspace/a', 'a');
    const first = await small.client.takeSnapshot();
    const { end, stderr } = await shell(small, 'head -c 60000000 /dev/zero > /workspace/big');
    expect(end.exitCode).not.toBe(0);
    expect(stderr).toContain('No space left');
    expect(await small.client.restore(first.id)).toMatchObject({ verified: true });
    await small.close();
  });

  test('a workspace over its limit ends the command; deleting or restoring lets the next one in', async () => {
    const small = await bench.open({ workspaceBytes: 16 << 20 });
    const first = await small.client.takeSnapshot();
    const { end } = await shell(small, 'head -c 40000000 /dev/zero > /workspace/big; sleep 30', { timeoutSeconds: 60 });
    expect(end.killed).toBe('QuotaExceeded');
    await expect(shell(small, 'true')).rejects.toMatchObject({ status: 507, code: 'AF_QUOTA_EXCEEDED' });
    expect(await small.client.restore(first.id)).toMatchObject({ verified: true });
    expect((await shell(small, 'echo again')).stdout).toBe('again\n');
    await small.close();
  });
});
