import { createLog } from '@agentfleet/protocol/log';
import { link, mkdir, mkdtemp, open, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { measureUsage, Quota, unlimited } from './quota.ts';

const mebibyte = 1024 * 1024;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'quota-'));
  await mkdir(join(dir, 'a', 'b'), { recursive: true });
  await writeFile(join(dir, 'a', 'b', 'file'), Buffer.alloc(mebibyte, 1));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the measured usage', () => {
  it('is the usage of the disk: hard links once, links not followed', async () => {
    await link(join(dir, 'a', 'b', 'file'), join(dir, 'again'));
    await symlink('/', join(dir, 'everything'));
    const { bytes } = await measureUsage([dir], unlimited);
    expect(bytes).toBeGreaterThanOrEqual(mebibyte);
    expect(bytes).toBeLessThan(mebibyte + 65_536);
  });

  it('counts folders and files whose names are not text', async () => {
    const plain = await measureUsage([dir], unlimited);
    const folder = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff, 0xfe, 0xe9])]);
    await mkdir(folder);
    await writeFile(Buffer.concat([folder, Buffer.from('/'), Buffer.from([0xc3, 0x28])]), Buffer.alloc(mebibyte, 1));
    await writeFile(join(dir, 'größe'), Buffer.alloc(mebibyte, 1));
    const { bytes, entries } = await measureUsage([dir], unlimited);
    expect(bytes - plain.bytes).toBeGreaterThanOrEqual(2 * mebibyte);
    expect(entries - plain.entries).toBe(3);
  });

  it('stops at the limit, and can be stopped', async () => {
    expect((await measureUsage([dir], { ...unlimited, bytes: 4096 })).bytes).toBeGreaterThan(4096);
    await expect(measureUsage([dir], unlimited, AbortSignal.abort())).rejects.toThrow('abort');
  });

  it('of a folder that is not there is nothing', async () => {
    expect(await measureUsage([join(dir, 'none')], unlimited)).toEqual({ bytes: 0, diskBytes: 0, entries: 0 });
  });
});

describe('the quota', () => {
  const refusal = (entries = 100): Promise<unknown> => {
    const logger = createLog('error', () => undefined, Date.now);
    const quota = new Quota({ roots: [dir], scratch: [] }, { bytes: 8 * mebibyte, entries }, systemClock, logger);
    return quota.measure().then(() => quota.assertWithin());
  };

  it('admits a command within it', async () => {
    await expect(refusal()).resolves.toBeUndefined();
  });

  it('counts the holes of a sparse file: a snapshot would read and keep them', async () => {
    await truncate(join(dir, 'a', 'b', 'file'), 2 ** 42);
    await expect(refusal()).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
  });

  it('counts paths: empty files fill no disk and all memory', async () => {
    await Promise.all(Array.from({ length: 101 }, (_, n) => writeFile(join(dir, 'a', `${n}`), '')));
    await expect(refusal()).rejects.toThrow('more than 100 paths');
  });

  it('is over when a path is longer than the system allows, whatever hides below', async () => {
    let handle = await open(dir);
    for (let depth = 0; depth < 20; depth++) {
      const next = `/proc/self/fd/${handle.fd}/${'d'.repeat(250)}`;
      await mkdir(next);
      const below = await open(next);
      await handle.close();
      handle = below;
    }
    await handle.close();
    try {
      await expect(refusal(1000)).rejects.toThrow('longer than the system allows');
    } finally {
      await promisify(execFile)('rm', ['-rf', dir]); // by file descriptors: paths do not reach it
    }
  });
});
