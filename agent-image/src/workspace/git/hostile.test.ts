import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { importWorkspace, type Imported } from '../import.ts';
import { importPlace, type FolderKeeper, type ImportPlace } from '../testing/folderKeeper.ts';
import { dialerTo, startGitServer, type GitServer } from '../testing/gitServer.ts';
import { TestRepository } from '../testing/repository.ts';

let dir: string;
let owned: string;
let server: GitServer;
let repository: TestRepository;
let keeper: FolderKeeper;
let ports: ImportPlace;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'git-hostile-'));
  owned = join(dir, 'owned');
  repository = await TestRepository.create(join(dir, 'root', 'app'));
  server = await startGitServer(dir, join(dir, 'root'));
  ports = await importPlace(dir, { authorities: server.authorities, dialer: dialerTo(server.origin) });
  ({ keeper } = ports);
});

afterEach(async () => {
  await expect(access(owned)).rejects.toThrow('ENOENT');
  expect(await readdir(ports.scratch)).toEqual([]);
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

function start(limitBytes?: number): Promise<Imported> {
  const workspace = { type: 'Git' as const, git: { url: `${server.origin}/app/.git`, ref: 'main' } };
  return importWorkspace(workspace, { ...ports, ...(limitBytes !== undefined && { limitBytes }) });
}

/** Commits a tree as `main`, past git's own checks. */
async function commitTree(tree: string): Promise<void> {
  const commit = await repository.git('commit-tree', tree, '-m', 'hostile');
  await repository.git('update-ref', 'refs/heads/main', commit);
}

describe('no part of a repository acts', () => {
  test('filters and line ends of .gitattributes: files come as stored in the repository', async () => {
    await repository.write('.gitattributes', '*.py filter=evil text eol=crlf ident\n*.big filter=lfs\n');
    await repository.write('a.py', '# $Id$\n');
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n';
    await repository.write('x.big', pointer);
    await repository.git('config', 'filter.evil.smudge', `touch ${owned}; cat`);
    await repository.commit('one');
    await start();
    expect(await keeper.files()).toMatchObject({ 'a.py': '# $Id$\n', 'x.big': pointer });
  });

  test('hooks and configuration of the server do not travel', async () => {
    await repository.write('a', 'a');
    await repository.commit('one');
    await repository.git('config', 'core.fsmonitor', `touch ${owned}`);
    await repository.write('.git/hooks/post-checkout', `#!/bin/sh\ntouch ${owned}\n`);
    await start();
    expect(await readdir(join(keeper.folder, '.git'))).not.toContain('hooks');
    expect(await readFile(join(keeper.folder, '.git/config'), 'utf8')).not.toContain('fsmonitor');
  });

  test('submodules stay empty folders, and their addresses are not asked', async () => {
    await repository.write('.gitmodules', `[submodule "x"]\n\tpath = x\n\turl = ${server.origin}/other\n\tupdate = none\n`);
    await repository.write('a', 'a');
    await repository.git('add', '--all');
    await repository.git('update-index', '--add', '--cacheinfo', '160000,0123456789012345678901234567890123456789,x');
    await repository.git('commit', '--quiet', '-m', 'one');
    await start();
    expect(await readdir(join(keeper.folder, 'x'))).toEqual([]);
    expect(server.requests.filter((line) => line.includes('/other'))).toEqual([]);
  });

  test('links stay links wherever they lead, and nothing is written through them', async () => {
    await repository.git('config', 'core.symlinks', 'true');
    const [passwd, up] = [
      await repository.object('blob', Buffer.from('/etc/passwd')),
      await repository.object('blob', Buffer.from('../..')),
    ];
    await commitTree(
      await repository.tree([
        { mode: '120000', name: 'absolute', object: passwd },
        { mode: '120000', name: 'up', object: up },
      ]),
    );
    await start();
    expect(await keeper.files()).toEqual({ absolute: '-> /etc/passwd', up: '-> ../..' });
  });
});

describe('objects that git calls dangerous are refused', () => {
  const cases = [
    ['a submodule address that is an option', '.gitmodules', '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n'],
    ['a submodule path that is an option', '.gitmodules', '[submodule "x"]\n\tpath = -x\n\turl = https://example.com/x\n'],
  ] as const;

  test.each(cases)('%s', async (_, name, content) => {
    await commitTree(await repository.tree([{ mode: '100644', name, object: await repository.object('blob', Buffer.from(content)) }]));
    await expect(start()).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'UnsafeRepository' });
  });

  test.each([
    ['120000', '.git'],
    ['100644', '.GIT'],
    ['100644', '..'],
    ['120000', '.gitmodules'],
    ['100644', 'git~1'],
    ['100644', 'a/b'],
  ])('an entry %s %s', async (mode, name) => {
    const object = await repository.object('blob', Buffer.from('../outside'));
    await commitTree(await repository.tree([{ mode, name, object }]));
    await expect(start()).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'UnsafeRepository' });
    expect(await keeper.files()).toEqual({});
  });

  test('a link and a folder of the same name, which would write through the link', async () => {
    const outside = await repository.object('blob', Buffer.from(dir));
    const file = await repository.object('blob', Buffer.from('x'));
    const inner = await repository.tree([{ mode: '100644', name: 'owned', object: file }]);
    await commitTree(
      await repository.tree([
        { mode: '120000', name: 'a', object: outside },
        { mode: '40000', name: 'a', object: inner },
      ]),
    );
    await expect(start()).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'UnsafeRepository' });
  });

  test('a name that is not UTF-8', async () => {
    const object = await repository.object('blob', Buffer.from('x'));
    const raw = Buffer.concat([Buffer.from('100644 '), Buffer.from([0xff, 0xfe]), Buffer.from('\0'), Buffer.from(object, 'hex')]);
    await commitTree(await repository.object('tree', raw));
    await expect(start()).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'NameNotUTF8' });
  });

  // Not more levels: if git ever unfolds them, the machine must survive it.
  test('a few trees that name millions of files', async () => {
    let object = await repository.object('blob', Buffer.from('0123456789'));
    const names = 'abcdefghij'.split('');
    for (let level = 0; level < 7; level += 1) {
      const mode = level === 0 ? '100644' : '40000';
      object = await repository.tree(names.map((name) => ({ mode, name, object })));
    }
    await commitTree(object);
    await expect(start(1_000_000)).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'WorkspaceTooLarge' });
  });
});
