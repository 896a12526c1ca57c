import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listFiles, readLines } from '../index.ts';

let dir: string;
let root: string;
let file: string;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'look-')));
  root = join(dir, 'workspace');
  file = join(root, 'b');
  await mkdir(join(root, 'a', 'deep'), { recursive: true });
  await writeFile(file, 'one\r\ntwo\nthree', { mode: 0o640 });
  await writeFile(join(root, 'a', 'deep', 'x'), '');
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const list = (query: { path?: string; depth?: string; limit?: string } = {}) => listFiles([root], { path: root, ...query });
const names = async (query: Parameters<typeof list>[0]) => (await list(query)).entries.map(({ path }) => path);

describe('a list', () => {
  it('has the entries of a folder, links as links, and any name', async () => {
    await symlink('/etc', join(root, 'link'));
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0x0a, 0x25])]), 'x');
    expect(await list()).toEqual({
      path: root,
      entries: [
        { path: 'a', kind: 'folder', bytes: 0, mode: 0o755 },
        { path: 'b', kind: 'file', bytes: 14, mode: 0o640 },
        { path: 'f%FF%0A%25', kind: 'file', bytes: 1, mode: 0o644 },
        { path: 'link', kind: 'link', bytes: 0, mode: 0o777, target: '/etc' },
      ],
      truncated: false,
      unreadable: 0,
    });
  });

  it('stops at the requested depth and length, and never follows a link', async () => {
    await symlink('..', join(root, 'a', 'up'));
    expect(await names({ depth: '2' })).toEqual(['a', 'b', 'a/deep', 'a/up']);
    expect(await names({ depth: '99' })).toEqual(['a', 'b', 'a/deep', 'a/up', 'a/deep/x']);
    expect(await list({ depth: '99', limit: '3' })).toMatchObject({ truncated: true, entries: [{}, {}, {}] });
    expect(await list({ depth: '99', limit: '5' })).toMatchObject({ truncated: false });
  });

  it('is refused outside of the roots, of a file, and of a missing folder', async () => {
    await symlink('/etc', join(root, 'etc'));
    await expect(list({ path: '/' })).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(list({ path: join(root, 'etc') })).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(list({ path: file })).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
    await expect(list({ path: join(root, 'none') })).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
  });
});

describe('lines', () => {
  const lines = (from?: string, to?: string) =>
    readLines([root], { path: file, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) });

  it('are whole, with their ends, and with the hash that an edit needs', async () => {
    const sha256 = createHash('sha256').update('one\r\ntwo\nthree').digest('hex');
    expect(await lines()).toEqual({ path: file, from: 1, to: 3, lines: 3, sha256, text: 'one\r\ntwo\nthree', truncated: false });
    expect(await lines('2', '2')).toMatchObject({ from: 2, to: 2, lines: 3, text: 'two\n' });
    expect(await lines('2')).toMatchObject({ to: 3, text: 'two\nthree' });
    expect(await lines('3', '9')).toMatchObject({ to: 3, text: 'three', truncated: false });
    expect(await lines('4')).toMatchObject({ from: 4, to: 3, text: '', truncated: false });
    await expect(lines('3', '2')).rejects.toMatchObject({ code: 'AF_INVALID' });
  });

  it('that are too many at once are cut between two, and the cut is reported', async () => {
    await writeFile(file, `${'x'.repeat(1023)}\n`.repeat(2000));
    const answer = await lines('10');
    expect(answer).toMatchObject({ from: 10, to: 1033, lines: 2000, truncated: true });
    expect(answer.text).toHaveLength(1024 * 1024);
    await writeFile(file, 'x'.repeat(2 * 1024 * 1024));
    expect(await lines()).toMatchObject({ to: 0, lines: 1, text: '', truncated: true });
  });

  it('of no text are refused', async () => {
    await writeFile(file, Buffer.from([0x61, 0xff]));
    await expect(lines()).rejects.toMatchObject({ code: 'AF_FILE_BINARY' });
    await writeFile(file, 'a\0b');
    await expect(lines()).rejects.toMatchObject({ code: 'AF_FILE_BINARY' });
    await writeFile(file, '');
    expect(await lines()).toMatchObject({ to: 0, lines: 0, text: '' });
  });
});
