import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dump } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadPack, type PackageSource } from './index.ts';

const run = promisify(execFile);
const halves = { dev: ['tiny'], 'held-out': [] };
const check = (path: string): object => ({ files: { [path]: `// ${path}\n` } });
const family = {
  language: 'javascript',
  files: { 'package.json': '{}\n' },
  visible: check('a.test.js'),
  hidden: check('hidden/b.test.js'),
  tasks: [{ id: 'plus', goal: 'Add.', break: [{ in: 'lib/tiny/src/add.js', find: 'a + b', put: 'a - b' }] }],
};

let folder: string;
let sha256: string;
let fetched: number;

/** A source whose registry has one archive. */
const source = (): PackageSource => ({
  cache: join(folder, 'cache'),
  fetch: async (_, into) => {
    fetched += 1;
    await copyFile(join(folder, 'tiny.tgz'), join(into, 'tiny-1.0.0.tgz'));
  },
});

beforeEach(async () => {
  fetched = 0;
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-packs-'));
  for (const part of ['tasks', 'package/src']) await mkdir(join(folder, part), { recursive: true });
  await writeFile(join(folder, 'package/src/add.js'), 'module.exports = (a, b) => a + b\n');
  await writeFile(join(folder, 'package/package.json'), '{}');
  await writeFile(join(folder, 'package/icon.png'), Buffer.from([0x89, 0xff, 0xfe]));
  await writeFile(join(folder, 'package/long.txt'), 'x'.repeat(700 * 1024));
  await run('tar', ['-czf', join(folder, 'tiny.tgz'), '-C', folder, 'package']);
  sha256 = createHash('sha256')
    .update(await readFile(join(folder, 'tiny.tgz')))
    .digest('hex');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function load(entry: object, from = source(), files: object = family.files): ReturnType<typeof loadPack> {
  const about = { name: 'mini', version: '1.0.0', licence: 'Apache-2.0', author: 'Written for this test.', halves };
  await writeFile(join(folder, 'pack.json'), JSON.stringify(about));
  const tiny = { registry: 'npm', name: 'tiny', version: '1.0.0', sha256, keep: ['src/**'], into: 'lib/tiny', ...entry };
  await writeFile(join(folder, 'tasks', 'tiny.yaml'), dump({ ...family, files, packages: [tiny] }));
  return await loadPack(folder, from);
}

describe('the packages of a family', () => {
  it('lays out the kept files, plants the bug in them and fetches once', async () => {
    const [task] = (await load({})).tasks;
    expect(Object.keys(task?.files ?? {}).sort()).toEqual(['a.test.js', 'lib/tiny/src/add.js', 'package.json']);
    expect(task?.files['lib/tiny/src/add.js']).toBe('module.exports = (a, b) => a - b\n');
    expect(task?.oracle.files).toEqual({ 'lib/tiny/src/add.js': 'module.exports = (a, b) => a + b\n' });
    await load({}, { ...source(), fetch: () => Promise.reject(new Error('away')) });
    await writeFile(join(folder, 'cache', sha256), 'damaged');
    await load({});
    expect(fetched).toBe(2);
  });

  it.each<[string, object, RegExp]>([
    ['another hash', { sha256: '0'.repeat(64) }, /tiny\.yaml: packages: package tiny 1\.0\.0 of npm has sha256 [0-9a-f]{64}, not 0{64}/],
    ['a file that is no text', { keep: ['*.png'] }, /icon\.png of package tiny .* is no UTF-8 text; leave it out of "keep"/],
    ['a glob that fits nothing', { keep: ['src/**', 'doc/*'] }, /doc\/\* of "keep" fits no file/],
    ['too much', { keep: ['*.txt'] }, /716800 characters are kept, 491520 are allowed; narrow "keep"/],
    ['a folder outside', { into: '../x' }, /into must match pattern/],
    ['a version that is a range', { version: '^1.0.0' }, /version must match pattern/],
    ['another registry', { registry: 'cargo' }, /registry must be equal to one of the allowed values/],
  ])('refuses %s', async (_, entry, message) => {
    await expect(load(entry)).rejects.toThrow(message);
  });

  it('names the package, the cause and the cure when the registry is away', async () => {
    const away: PackageSource = { ...source(), fetch: () => Promise.reject(new Error('connect refused')) };
    await expect(load({}, away)).rejects.toThrow(/tiny 1\.0\.0 of npm cannot be fetched: connect refused; see that npm and pip reach/);
  });

  it('refuses a file of its own at the same path', async () => {
    await expect(load({}, source(), { 'lib/tiny/src/add.js': '' })).rejects.toThrow(/add\.js is in "files" and in a package; keep one/);
  });
});
