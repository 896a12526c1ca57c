import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile as put } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { editBounds, type ReplaceRequest } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeeperError } from '../base/failure.ts';
import { replaceInFile, StagedFiles } from './index.ts';
import { occurrences } from './replace.ts';

let dir: string;
let root: string;
let file: string;
let options: Parameters<typeof replaceInFile>[2];

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'replace-')));
  root = join(dir, 'workspace');
  file = join(root, 'file');
  await mkdir(root);
  await put(file, 'one\r\ntwo\ntwo\nthree');
  const staged = await StagedFiles.open(join(dir, 'writes'), randomBytes);
  options = { staged, beforeCommit: () => undefined, checkSyntax: () => Promise.resolve('Skipped' as const) };
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const replace = (edit: Partial<ReplaceRequest>, more: Partial<typeof options> = {}) =>
  replaceInFile([root], { path: file, old: 'x', new: 'y', ...edit }, { ...options, ...more });
const content = async (): Promise<string> => readFile(file, 'latin1');
const sha = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

describe('a replacement', () => {
  it('changes the one place and keeps bytes, line ends and mode around it', async () => {
    const before = Buffer.from([0xff, 0x0d, 0x0a, 0x00, 0x61, 0xfe]);
    await put(file, before);
    await chmod(file, 0o751);
    const answer = await replace({ old: 'a', new: 'ü' });
    const after = Buffer.from([0xff, 0x0d, 0x0a, 0x00, 0xc3, 0xbc, 0xfe]);
    expect(answer).toEqual({
      path: file,
      bytes: 7,
      created: false,
      syntax: 'Skipped',
      sha256: sha(after),
      previousSha256: sha(before),
      line: 2,
    });
    expect(await readFile(file)).toEqual(after);
    expect((await stat(file)).mode & 0o777).toBe(0o751);
    expect(await readdir(root)).toEqual(['file']);
  });

  it.each<[string, string, RegExp]>([
    ['nothing', 'four', /occurs 0 times in .*file$/],
    ['two places', 'two\n', /occurs 2 times in .*file, from lines 2, 3$/],
    ['the same with other line ends', 'one\n', /occurs 0 times/],
  ])('that meets %s is refused and says how many and where', async (_what, old, words) => {
    await expect(replace({ old })).rejects.toMatchObject({ code: 'AF_EDIT_MATCH', message: expect.stringMatching(words) as string });
    expect(await content()).toBe('one\r\ntwo\ntwo\nthree');
  });

  it('counts places that overlap', async () => {
    await put(file, 'xaaay');
    await expect(replace({ old: 'aa' })).rejects.toMatchObject({ code: 'AF_EDIT_MATCH' });
  });

  it('takes replacement patterns as plain text', async () => {
    await replace({ old: 'three', new: "$& $1 $' \\n" });
    expect(await content()).toBe("one\r\ntwo\ntwo\n$& $1 $' \\n");
  });

  it('is refused when the file is not the expected one any more', async () => {
    await expect(replace({ old: 'three', expectedSha256: sha('other') })).rejects.toMatchObject({ code: 'AF_EDIT_STALE' });
    expect(await content()).toContain('three');
    await replace({ old: 'three', new: '3', expectedSha256: sha('one\r\ntwo\ntwo\nthree') });
    expect(await content()).toBe('one\r\ntwo\ntwo\n3');
  });

  it('that would break JSON is refused before the disk, if asked', async () => {
    await put(file, '{"a": 1}\n');
    const broken = { old: '1}', new: '1,}' };
    await expect(replace({ ...broken, check: 'Json' })).rejects.toMatchObject({
      code: 'AF_EDIT_SYNTAX',
      message: expect.stringContaining('line 1 column') as string,
    });
    expect(await content()).toBe('{"a": 1}\n');
    await replace({ old: '1', new: '[2]', check: 'Json' });
    expect(await content()).toBe('{"a": [2]}\n');
    await put(file, Buffer.from([0x22, 0xff, 0x61, 0x22]));
    await expect(replace({ old: 'a', check: 'Json' })).rejects.toMatchObject({ code: 'AF_EDIT_SYNTAX' });
    await replace({ old: 'a', new: '{' });
    expect(await content()).toBe('"\xff{"');
  });

  it('does not reach outside of the roots, nor folders, nor half characters, nor large files', async () => {
    await put(join(dir, 'secret'), 'x');
    await symlink(join(dir, 'secret'), join(root, 'evil'));
    await expect(replace({ path: join(root, 'evil') })).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(replace({ path: '/etc/hostname' })).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(replace({ path: join(root, 'none') })).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await expect(replace({ old: '\ud800' })).rejects.toMatchObject({ code: 'AF_INVALID' });
    await put(file, Buffer.alloc(editBounds.fileBytes + 1));
    await expect(replace({})).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
    expect(await readFile(join(dir, 'secret'), 'utf8')).toBe('x');
  });

  it('leaves the old content when the caller is fenced off at the end', async () => {
    const fenced = (): never => {
      throw new KeeperError('AF_EPOCH_STALE', 'late');
    };
    await expect(replace({ old: 'one' }, { beforeCommit: fenced })).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    expect(await content()).toContain('one');
    expect(await readdir(root)).toEqual(['file']);
  });
});

describe('occurrences', () => {
  it('are those that a plain search finds', () => {
    const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength });
    fc.assert(
      fc.property(letters(30), letters(4), (within, of) => {
        fc.pre(of !== '');
        const plain = Array.from(within, (_, at) => at).filter((at) => within.startsWith(of, at));
        expect(occurrences(within, of, 100)).toEqual(plain);
      }),
      { numRuns: 500 },
    );
  });

  it('are found with few steps where a plain search needs many', () => {
    let reads = 0;
    const counting = (text: string): ArrayLike<string> =>
      new Proxy(Array.from(text), { get: (of, key) => ((reads += 1), Reflect.get(of, key) as unknown) });
    expect(occurrences(counting('a'.repeat(4000)), `${'a'.repeat(2000)}b`, 10)).toEqual([]);
    expect(reads).toBeLessThan(40_000);
  });
});
