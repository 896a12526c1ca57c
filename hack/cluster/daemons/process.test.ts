import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { endProcess, identify, isAlive, residentMiB, sameProcess, startTicks } from './process.ts';

describe('startTicks', () => {
  it('counts from the last bracket, because a name may hold spaces and brackets', () => {
    const fields = Array.from({ length: 49 }, (_, index) => String(index + 3));
    expect(startTicks(`7 (a) b (c) ${fields.join(' ')}`)).toBe('22');
  });
});

describe('sameProcess', () => {
  const recorded = { pid: 7, startTicks: '100', bootId: 'b', exe: '/x/etcd' };
  it('accepts the same process, also when its file was deleted', () => {
    expect(sameProcess(recorded, { ...recorded, exe: '/x/etcd (deleted)' })).toBe(true);
  });
  it.each([{ pid: 8 }, { startTicks: '101' }, { bootId: 'c' }, { exe: '/bin/sh' }])('refuses one that differs in %o', (difference) => {
    expect(sameProcess(recorded, { ...recorded, ...difference })).toBe(false);
  });
  it('is false without a process', () => expect(sameProcess(recorded, undefined)).toBe(false));
});

describe('endProcess', () => {
  it('ends the recorded process, and only that one', async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const identity = (await identify(child.pid ?? 0))!;
    expect(await residentMiB(identity.pid)).toBeGreaterThan(0);
    expect(await endProcess({ ...identity, startTicks: '1' }, 100)).toBe(true); // another start time: a different process
    expect(await isAlive(identity)).toBe(true);
    expect(await endProcess(identity, 2000)).toBe(true);
    expect(await isAlive(identity)).toBe(false);
  });

  it('kills one that ignores the polite signal', async () => {
    const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); console.log("on"); setInterval(() => {}, 1000)']);
    await once(child.stdout, 'data');
    expect(await endProcess((await identify(child.pid ?? 0))!, 200)).toBe(true);
  });
});
