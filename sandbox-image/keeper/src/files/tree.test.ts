import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, link, lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeeperError } from '../base/failure.ts';
import { bytesOf } from '../snapshot/index.ts';
import { paxRecord, rawTar, type RawEntry } from '../testing/tar.ts';
import { resolveFolder, TreeWriter, unpackTree, type TreeCounts } from './index.ts';

let dir: string;
let root: string;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'tree-')));
  root = join(dir, 'workspace');
  for (const folder of [root, join(dir, 'outside')]) await mkdir(folder);
  await writeFile(join(dir, 'outside', 'secret'), 'secret');
});

afterEach(async () => {
  execFileSync('chmod', ['-R', 'u+rwx', dir]);
  await rm(dir, { recursive: true, force: true });
});

const free = { admit: () => Promise.resolve(), assertMayWrite: () => undefined };

async function unpackBytes(tar: Buffer, rules: Partial<typeof free> & { admit?: () => Promise<void> } = {}) {
  const writer = new TreeWriter(bytesOf(root), { ...free, ...rules });
  // In odd pieces: the result must not depend on the sizes of chunks.
  const pieces = Array.from({ length: Math.ceil(tar.length / 700) }, (_, n) => tar.subarray(n * 700, (n + 1) * 700));
  const sha256 = await unpackTree(Readable.from(pieces), writer).catch((error: unknown) => error);
  if (sha256 instanceof Error) throw Object.assign(sha256, { counts: writer.counts });
  return { sha256, counts: writer.counts };
}

const unpack = (...entries: RawEntry[]) => unpackBytes(rawTar(entries));
const refused = (entries: RawEntry[], why: RegExp) =>
  expect(unpack(...entries)).rejects.toMatchObject({ code: 'AF_INVALID', message: expect.stringMatching(why) as string });

/** All attributes that `find` prints: type, mode, time, size of files, target, name. */
const listing = (folder: string): string =>
  execFileSync(
    'find',
    ['.', '-mindepth', '1', '(', '-type', 'd', '-printf', '%y %m %Ts %p\\n', '-o', '-printf', '%y %m %Ts %s %n %l %p\\n', ')'],
    {
      cwd: folder,
      encoding: 'latin1',
    },
  )
    .split('\n')
    .sort()
    .join('\n');

describe('an archive', () => {
  it.each(['gnu', 'pax', 'ustar'])('of a real tree in %s format unpacks to the same tree', async (format) => {
    const from = join(dir, 'from');
    execFileSync('sh', ['-c', sourceTree], { env: { ...process.env, FROM: from } });
    const tar = execFileSync('tar', ['-C', from, `--format=${format}`, '-cf', '-', '.'], { maxBuffer: 2 ** 26 });
    const { counts, sha256 } = await unpackBytes(tar);
    expect(listing(root)).toBe(listing(from));
    expect(counts).toEqual({ files: 5, folders: 4, links: 3, bytes: 300_000 + 5 + 6 + 1 + 4 });
    expect(sha256).toBe(createHash('sha256').update(tar).digest('hex'));
    expect((await unpackBytes(tar)).counts, 'and again over itself').toEqual(counts);
    expect(listing(root)).toBe(listing(from));
  });

  it('keeps names and targets that are no UTF-8, as bytes', async () => {
    const name = Buffer.from([0x66, 0xff, 0x20, 0xc3]);
    await unpack({ name, content: 'x' }, { name: Buffer.from([0x6c, 0xfe]), type: '2', link: name });
    const there = await readdir(root, { encoding: 'buffer' });
    expect(there.map((each) => each.toString('hex')).sort()).toEqual(['66ff20c3', '6cfe']);
    expect(await readlink(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x6c, 0xfe])]), { encoding: 'buffer' })).toEqual(name);
  });

  it('takes names and times to the part of a second from pax records', async () => {
    const long = `${'d'.repeat(120)}/${'ü'.repeat(100)}`;
    await unpack(paxRecord({ path: long, mtime: '1000000000.5' }), { name: 'short', content: 'x' });
    expect((await stat(join(root, long))).mtimeMs).toBe(1_000_000_000_500);
  });

  it('makes missing folders, and drops set-uid, set-gid and sticky bits', async () => {
    await unpack({ name: 'a/b/tool', mode: 0o7755, content: 'x' }, { name: 'a/s', type: '5', mode: 0o3777 });
    expect((await stat(join(root, 'a/b/tool'))).mode & 0o7777).toBe(0o755);
    expect((await stat(join(root, 'a/s'))).mode & 0o7777).toBe(0o777);
    expect((await stat(join(root, 'a/b'))).mode & 0o7777).toBe(0o755);
  });

  it('replaces files and links, never through a link or a further name', async () => {
    await symlink(join(dir, 'outside', 'secret'), join(root, 'link'));
    await link(join(dir, 'outside', 'secret'), join(root, 'hard'));
    await writeFile(join(root, 'old'), 'old');
    await unpack({ name: 'link', content: 'new' }, { name: 'hard', content: 'new' }, { name: 'old', type: '2', link: 'hard' });
    expect(await readFile(join(dir, 'outside', 'secret'), 'utf8')).toBe('secret');
    expect((await lstat(join(root, 'link'))).isFile()).toBe(true);
    expect(await readlink(join(root, 'old'))).toBe('hard');
  });

  it('leaves the mode of the named folder alone', async () => {
    await unpack({ name: './', type: '5', mode: 0 }, { name: './f', content: 'x' });
    expect((await stat(root)).mode & 0o777).toBe(0o755);
  });

  it('may link a file to itself without losing it', async () => {
    await unpack({ name: 'f', content: 'x' }, { name: 'g', type: '1', link: 'f' }, { name: 'g', type: '1', link: './f' });
    await unpack({ name: 'f', type: '1', link: 'f' });
    expect(await readFile(join(root, 'f'), 'utf8')).toBe('x');
    expect((await stat(join(root, 'f'))).nlink).toBe(2);
  });
});

describe('a hostile archive', () => {
  const evil = (): string => join(dir, 'outside');

  it.each<[string, RawEntry[], RegExp]>([
    ['an absolute name', [{ name: '/etc/passwd' }], /^entry \/etc\/passwd: its name is absolute/],
    ['a name that climbs', [{ name: '../outside/planted' }], /^entry \.\.\/outside\/planted: .*"\.\."/],
    ['a name that climbs inside', [{ name: 'a/../../outside/planted' }], /"\.\."/],
    ['a folder that climbs', [{ name: '..', type: '5' }], /"\.\."/],
    ['a pax name that climbs', [paxRecord({ path: '../outside/planted' }), { name: 'innocent' }], /"\.\."/],
    ['a NUL in a pax name', [paxRecord({ path: 'a\0b' }), { name: 'x' }], /NUL/],
    ['a pax name that is no UTF-8', [paxRecord({ path: Buffer.from([0x61, 0xff]) }), { name: 'x' }], /not UTF-8/],
    [
      'no name',
      [
        { name: './', content: 'x', type: '0' },
        { name: '.', type: '2', link: 'x' },
      ],
      /no name/,
    ],
    ['a hard link to an absolute path', [{ name: 'l', type: '1', link: '/etc/passwd' }], /absolute/],
    ['a hard link that climbs', [{ name: 'l', type: '1', link: '../outside/secret' }], /"\.\."/],
    ['a hard link to nothing', [{ name: 'l', type: '1', link: 'none' }], /there is no .*none to link to/],
    ['a hard link into a missing folder', [{ name: 'l', type: '1', link: 'no/ne' }], /there is no folder/],
    [
      'a hard link to a folder',
      [
        { name: 'd', type: '5' },
        { name: 'l', type: '1', link: 'd' },
      ],
      /not a regular file/,
    ],
    [
      'a hard link to a link',
      [
        { name: 's', type: '2', link: '/etc/passwd' },
        { name: 'l', type: '1', link: 's' },
      ],
      /not a regular file/,
    ],
    ['a link without a target', [{ name: 'l', type: '2', link: '' }], /target of the link is empty/],
    ['a character device', [{ name: 'dev', type: '3' }], /^entry dev: character-device is neither/],
    ['a block device', [{ name: 'dev', type: '4' }], /^entry dev: block-device is neither/],
    ['a fifo', [{ name: 'pipe', type: '6' }], /^entry pipe: fifo is neither/],
    ['an unknown type', [{ name: 'x', type: 'V' }], /unknown type/],
    ['a sparse file', [paxRecord({ 'GNU.sparse.major': '1' }), { name: 'x' }], /sparse/],
    ['an endless time', [paxRecord({ mtime: '1e300' }), { name: 'x' }], /time cannot be read/],
    ['a time that is none', [paxRecord({ mtime: 'yesterday' }), { name: 'x' }], /time cannot be read/],
    ['a name that is too long', [paxRecord({ path: 'x'.repeat(256) }), { name: 'x' }], /longer than the system allows/],
    [
      'a path that is too long',
      [paxRecord({ path: `${'d'.repeat(250)}/`.repeat(17) }), { name: 'x', type: '5' }],
      /longer than the system allows/,
    ],
    [
      'a file where a folder is',
      [
        { name: 'd', type: '5' },
        { name: 'd', content: 'x' },
      ],
      /there is a folder of that name/,
    ],
    [
      'a folder where a file is',
      [
        { name: 'f', content: 'x' },
        { name: 'f', type: '5' },
      ],
      /is not a folder/,
    ],
    [
      'a path through a file',
      [
        { name: 'f', content: 'x' },
        { name: 'f/g', content: 'x' },
      ],
      /is not a folder/,
    ],
  ])('with %s is refused', async (_what, entries, why) => {
    await refused(entries, why);
    expect(await readdir(evil())).toEqual(['secret']);
  });

  it.each<[string, RawEntry]>([
    ['file', { name: 'out/planted', content: 'x' }],
    ['folder', { name: 'out/planted', type: '5' }],
    ['folder in the place of the link', { name: 'out', type: '5', mode: 0o700 }],
    ['symlink', { name: 'out/planted', type: '2', link: 'x' }],
    ['hard link', { name: 'out/planted', type: '1', link: 'f' }],
    ['hard link from there', { name: 'stolen', type: '1', link: 'out/secret' }],
    ['file further below', { name: 'out/a/b/planted', content: 'x' }],
  ])('cannot put a %s behind a link that it made itself', async (_what, entry) => {
    const before = (await stat(evil())).mode;
    await refused([{ name: 'f', content: 'x' }, { name: 'out', type: '2', link: evil() }, entry], /through the symbolic link/);
    expect(await readdir(evil())).toEqual(['secret']);
    expect((await stat(evil())).mode).toBe(before);
    expect(await readdir(root)).not.toContain('stolen');
  });

  it('cannot walk through a link that was there before, also one that stays inside', async () => {
    await mkdir(join(root, 'real'));
    await symlink('real', join(root, 'alias'));
    await refused([{ name: 'alias/f', content: 'x' }], /through the symbolic link/);
    expect(await readdir(join(root, 'real'))).toEqual([]);
  });

  it('may hold links that lead anywhere: nothing is done through them', async () => {
    await unpack({ name: 'out', type: '2', link: evil(), mtime: 5 });
    expect(await readlink(join(root, 'out'))).toBe(evil());
    expect((await lstat(join(root, 'out'))).mtimeMs).toBe(5000);
    expect((await stat(evil())).mtimeMs).toBeGreaterThan(1_000_000_000_000);
  });

  it('that is none, is cut or is empty is refused', async () => {
    const whole = rawTar([{ name: 'f', content: 'x'.repeat(5000) }]);
    for (const bytes of [Buffer.alloc(0), Buffer.from('PK not a tar'.repeat(100)), whole.subarray(0, 3000), whole.subarray(0, 300)]) {
      await expect(unpackBytes(bytes)).rejects.toMatchObject({ code: 'AF_INVALID' });
    }
    expect(await readdir(root), 'a file that was not complete').toEqual([]);
  });

  it('is stopped by the rules before it writes, and at every chunk', async () => {
    const full = new KeeperError('AF_QUOTA_EXCEEDED', 'full');
    const none = await unpackBytes(rawTar([{ name: 'a/f', content: 'x' }]), { admit: () => Promise.reject(full) }).catch((e: unknown) => e);
    expect(none).toMatchObject({ code: 'AF_QUOTA_EXCEEDED', counts: { files: 0, folders: 0 } });
    let asked = 0;
    const fenced = (): undefined => {
      if (++asked > 3) throw new KeeperError('AF_EPOCH_STALE', 'late');
    };
    const late = unpackBytes(rawTar([{ name: 'big', content: 'x'.repeat(5000) }]), { assertMayWrite: fenced });
    await expect(late).rejects.toMatchObject({ code: 'AF_EPOCH_STALE', counts: { files: 0 } satisfies Partial<TreeCounts> });
    expect(await readdir(root)).toEqual([]);
  });
});

describe('the named folder', () => {
  it('may be a root or be in one, is created when missing, and is never elsewhere', async () => {
    expect(await resolveFolder([root], `${root}/`)).toBe(root);
    expect(await resolveFolder([root], `${root}/a/../b/c`)).toBe(join(root, 'b', 'c'));
    await symlink(join(dir, 'outside'), join(root, 'out'));
    await writeFile(join(root, 'f'), '');
    await chmod(join(root, 'f'), 0o600);
    for (const path of [`${root}/..`, dir, '/', `${root}-other`, `${root}/out`, `${root}/out/x`]) {
      await expect(resolveFolder([root], path)).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    }
    await expect(resolveFolder([root], join(root, 'f'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
  });
});

const sourceTree = `set -e
mkdir -p "$FROM/src/deep" "$FROM/empty" "$FROM/closed"
cd "$FROM"
head -c 300000 /dev/urandom > src/large
printf hello > 'src/a name with spaces'
printf script > src/deep/tool && chmod 755 src/deep/tool
ln -s ../src/large src/deep/link
ln -s /nowhere dangling
printf x > secret && chmod 600 secret
printf kept > closed/inside
ln secret src/further
touch -h -d @1234567890 src/deep/link src/large dangling
chmod 500 closed && touch -d @1111111111 closed empty src/deep
`;
