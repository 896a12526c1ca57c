import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { measureUsage } from './quota.ts';

const mebibyte = 1024 * 1024;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'quota-'));
  await mkdir(join(dir, 'a', 'b'), { recursive: true });
  await writeFile(join(dir, 'a', 'b', 'file'), Buffer.alloc(mebibyte, 1));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the measured usage', () => {
  it('is what the disk holds, hard links once, links not followed', async () => {
    await link(join(dir, 'a', 'b', 'file'), join(dir, 'again'));
    await symlink('/', join(dir, 'everything'));
    const { bytes, unreadable } = await measureUsage([dir], Number.MAX_SAFE_INTEGER);
    expect(bytes).toBeGreaterThanOrEqual(mebibyte);
    expect(bytes).toBeLessThan(mebibyte + 65_536);
    expect(unreadable).toBe(0);
  });

  it('stops at the limit, and can be stopped', async () => {
    expect((await measureUsage([dir], 4096)).bytes).toBeGreaterThan(4096);
    await expect(measureUsage([dir], 1e9, AbortSignal.abort())).rejects.toThrow('abort');
  });

  it('of a folder that is not there is nothing', async () => {
    expect(await measureUsage([join(dir, 'none')], 1e9)).toEqual({ bytes: 0, unreadable: 0 });
  });
});
