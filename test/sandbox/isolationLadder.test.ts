import { beforeAll, describe, expect, test } from 'vitest';
import { isolationLevels } from '@agentfleet/protocol/keeper';
import { newExecId } from '@agentfleet/keeper/client';
import { up } from '../../hack/cluster/index.ts';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { shell, useNamespace } from './harness.ts';

const bench = useNamespace('ladder');

async function levelOf(sandbox: Sandbox): Promise<string | undefined> {
  return (await sandbox.client.info()).isolation?.level;
}

describe('the ladder, climbed in real pods', () => {
  test('user namespace: the sandbox has no rights on the node', async () => {
    const sandbox = await bench.open({ hostUsers: false });
    const { isolation } = await sandbox.client.info();
    expect(isolation).toMatchObject({ level: 'UserNamespace', userNamespace: true, guestKernel: null });
    // The uid of the sandbox is no uid of the node: the map does not begin at itself.
    const { stdout } = await shell(sandbox, 'cat /proc/self/uid_map');
    const [inside, outside] = stdout.trim().split(/\s+/).map(Number);
    expect(inside).toBe(0);
    expect(outside).toBeGreaterThanOrEqual(65_536);
    await sandbox.close();
  });

  test('no TCP at all for a command without network, by the filter and behind it', async () => {
    const sandbox = await bench.open();
    expect(await levelOf(sandbox)).toBe('Landlock');
    const { stdout } = await shell(sandbox, `python3 -c 'import socket; socket.socket()' 2>&1 | tail -1`, { network: 'None' });
    expect(stdout).toMatch(/PermissionError/);
    await sandbox.close();
  });
});

describe('with gVisor', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    await up({ tier: 'node', gvisor: true });
    sandbox = await bench.open({ runtimeClassName: 'gvisor', direct: true });
  });

  test("the level is published from inside, by a kernel that is not the node's", async () => {
    const info = await sandbox.client.info();
    expect(info).toMatchObject({ ready: true, network: { state: 'Enforced' } });
    expect(info.isolation).toMatchObject({ level: 'RuntimeClass', runtimeClass: 'gvisor', guestKernel: 'gVisor', seccomp: true });
    expect(isolationLevels.at(-1)).toBe(info.isolation?.level);
    expect((await shell(sandbox, 'cat /proc/version')).stdout).toContain('gvisor');
  });

  test('commands run, end with all that they started, and are undone', async () => {
    const before = await sandbox.client.takeSnapshot();
    const { stdout, end } = await shell(
      sandbox,
      'mkdir -p a/b && echo one > a/b/f && ln -s b a/l && (sleep 60 & setsid sleep 60 &) && cat a/l/f',
    );
    expect([stdout, end.exitCode]).toEqual(['one\n', 0]);
    expect((await shell(sandbox, 'pgrep -c sleep')).stdout.trim()).toBe('0');
    const report = await sandbox.client.restore(before.id);
    expect(report).toMatchObject({ verified: true, manifestDigest: before.manifestDigest });
    expect((await shell(sandbox, 'ls -A /workspace')).stdout).toBe('');
  });

  test('calls that the filter refuses are refused here as well', async () => {
    const { stdout } = await shell(
      sandbox,
      `unshare -U true 2>&1; python3 -c 'import socket; socket.socket(socket.AF_INET6)' 2>&1 | tail -1`,
    );
    expect(stdout).toMatch(/not permitted|denied/i);
    expect(stdout).toMatch(/not supported/i);
  });

  test('a time-out ends a command', async () => {
    const { end } = await sandbox.client.run({ execId: newExecId(), tool: 'Shell', command: 'sleep 60', timeoutSeconds: 1 });
    expect(end).toMatchObject({ timedOut: true });
  });
});
