import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Files, ToolBed } from './testing/bed.ts';
import { openStage, type Case } from './testing/play.ts';

const { binary, begin, play } = await openStage();

const py = 'def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return add(a, a)\n';
const many = Array.from({ length: 900 }, (_, n) => `line ${n + 1}\n`).join('');
const tree: Files = { 'src/a.py': py, 'src/b.txt': 'add\nAdd\n', 'many.txt': many, 'wide.txt': `${'x'.repeat(1500)}\n`, 'empty.txt': '' };
/** More installed packages than a list or a result shows. */
const packages = {
  before: async ({ harness }: ToolBed): Promise<void> => {
    for (let n = 0; n < 210; n += 1) {
      await mkdir(join(harness.workspace, 'node_modules', `p${n}`), { recursive: true });
      await writeFile(join(harness.workspace, 'node_modules', `p${n}`, 'index.js'), 'add(1)\n');
    }
  },
};
const look = (name: string, tool: string, args: object, text: Case['text'], more: Partial<Case> = {}): Case => ({
  name,
  tool,
  args,
  text,
  ok: true,
  files: tree,
  ...more,
});
const no = { ok: false } as const;
/** A keeper that searches folders alone, and refuses a file as it does where it lists folders. */
const olderKeeper = ({ harness }: ToolBed): Promise<void> => {
  const keeper = harness.client();
  const search = keeper.searchFiles.bind(keeper);
  keeper.searchFiles = (query, signal) => keeper.listFiles(query.path, 1, 1).then(() => search(query, signal));
  return Promise.resolve();
};
const binaryFile = { before: (bed: ToolBed) => bed.write('x.bin', Buffer.from([0, 97])) };

describe.skipIf(binary === '')('read_file', () => {
  it.each([
    look('numbers lines', 'read_file', { path: 'src/a.py', from_line: 5 }, '5 | def twice(a):\n6 |     return add(a, a)\n[src/a.py: lines 5 to 6 of 6]'),
    look('reads on', 'read_file', { path: 'many.txt' }, /^ {2}1 \| line 1\n.*\n400 \| line 400\n\[many\.txt: lines 1 to 400 of 900; from_line 401 reads on\]$/s),
    look('takes a range', 'read_file', { path: 'many.txt', from_line: 9, to_line: 10 }, ' 9 | line 9\n10 | line 10\n[many.txt: lines 9 to 10 of 900; from_line 11 reads on]'),
    look('cuts long lines', 'read_file', { path: 'wide.txt' }, /x\[… 500 more characters\]\n\[wide\.txt: 1 line\]$/),
    look('lists what installed packages would hide', 'read_file', { path: '.' }, /^node_modules\/$.*^src\/a\.py {2}\d+ bytes$.*\[folder \.: \d+ entries, 2 levels, without what is below node_modules\]$/ms, packages),
    look('lists packages by their path', 'read_file', { path: 'node_modules' }, /^p0\/$.*p1\/$.*more is there/ms, packages),
    look('says that a file is empty', 'read_file', { path: 'empty.txt' }, '[empty.txt is empty]'),
    look('lists a folder', 'read_file', { path: '.' }, /^README\.md {2}16 bytes\nempty\.txt .*\nsrc\/\n.*src\/a\.py {2}\d+ bytes\n.*\[folder \.: \d+ entries, 2 levels\]$/s),
    look('marks what is protected', 'read_file', { path: 'tests' }, /^test_a\.py {2}\d+ bytes, protected\n/, { before: (bed) => bed.write('tests/test_a.py', 'x = 1\n') }),
    look('has a hint for a wrong path', 'read_file', { path: 'lib/a.py' }, /^path: there is no f\S+ .*lib(\/a\.py)? \(there is src\/a\.py\); search for it, or list its folder$/, no),
    look('has a hint for a path of another machine', 'read_file', { path: '/testbed/src/a.py' }, /^path: \/testbed\/src\/a\.py is not inside .* \(there is src\/a\.py\); give a path below the workspace/, no),
    look('refuses a line after the last', 'read_file', { path: 'src/b.txt', from_line: 7 }, 'from_line: src/b.txt has 2 lines, 7 is after the last', no),
    look('refuses what is no text', 'read_file', { path: 'x.bin' }, /^path: .*x\.bin is not UTF-8 text; look at it with a command$/, { ...no, ...binaryFile }),
    look('refuses what is not there', 'read_file', { path: 'gone' }, /^path: .*; search for it, or list its folder$/, no),
    look('refuses what is outside', 'read_file', { path: '/etc/passwd' }, /^path: .*; give a path below the workspace; read other files with a command$/, no),
    look('refuses a handle that is none', 'read_file', { handle: 'out-9' }, /^handle: nothing is kept as out-9; /, no),
    look('asks for a path', 'read_file', {}, 'path: missing; give a path, or the handle of an observation that was cut', no),
  ])('$name', (one) => play(one)); // prettier-ignore

  it('reads the text of a handle to its end, long lines in pieces', async () => {
    const bed = await begin();
    const handle = bed.memory.store('call', `${many}${'y'.repeat(2500)}`);
    const { text } = await bed.call('read_file', { handle, from_line: 900 });
    expect(text).toBe(`900 | line 900\n901 | ${'y'.repeat(1000)}\n902 | ${'y'.repeat(1000)}\n903 | ${'y'.repeat(500)}\n[the text of ${handle}: lines 900 to 903 of 903]`);
  }); // prettier-ignore

  it('never shows a secret', async () => {
    const secret = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
    const bed = await begin({ files: { 'c.txt': `token = ${secret}\n` } });
    const shown = [await bed.call('read_file', { path: 'c.txt' }), await bed.call('search', { pattern: 'token', context: 1 })];
    for (const { text } of shown) expect(text).toMatch(/token = \[REDACTED:Token\]/);
  });
});

describe.skipIf(binary === '')('search', () => {
  it.each([
    look('finds lines', 'search', { pattern: 'def \\w+' }, /^src\/a\.py:1: def add\(a, b\):\nsrc\/a\.py:5: def twice\(a\):\n\[2 matching lines in 1 file; \d+ files searched\]$/),
    look('leaves out installed packages', 'search', { pattern: 'add' }, /^src\/a\.py:1: .*\n\[3 matching lines in 2 files; 6 files searched, without what is below node_modules \(name one as path\)\]$/s, packages),
    look('searches installed packages by their path', 'search', { pattern: 'add', path: 'node_modules/p7' }, /^node_modules\/p7\/index\.js:1: /, packages),
    look('names a file of several once', 'search', { pattern: 'add', path: 'c.py' }, 'c.py\n  1: add\n  2: add 2\n  4: add\n  5: add\n[4 matching lines in 1 file; 1 file searched]', { files: { 'c.py': 'add\nadd 2\n\nadd\nadd\n' } }),
    look('takes a glob', 'search', { pattern: '(?i)add', glob: '*.txt' }, 'src/b.txt:1: add\nsrc/b.txt:2: Add\n[2 matching lines in 1 file; 4 files searched]'),
    look('takes alternatives in a glob', 'search', { pattern: 'add', glob: '*.{txt,md}' }, /^src\/b\.txt:1: add\n\[1 matching line in 1 file; \d files searched\]$/),
    look('searches one file whose name has braces', 'search', { pattern: 'a', path: '{a,b}.c' }, '{a,b}.c:1: a\n[1 matching line in 1 file; 1 file searched]', { files: { '{a,b}.c': 'a\n' } }),
    look('searches one file', 'search', { pattern: 'add', path: 'src/b.txt' }, 'src/b.txt:1: add\n[1 matching line in 1 file; 1 file searched]'),
    look('searches one file that others of its name stand below', 'search', { pattern: 'a', path: 'a.c' }, 'a.c:1: a\n[1 matching line in 1 file; 1 file searched]', { files: { 'a.c': 'a\n', 'd/a.c': 'a\n'.repeat(200) } }),
    look('searches the file that a link leads to', 'search', { pattern: 'Add', path: 'link' }, 'link:2: Add\n[1 matching line in 1 file; 1 file searched]', { before: (bed) => symlink('src/b.txt', join(bed.harness.workspace, 'link')) }),
    look('searches one file on a keeper of the version before', 'search', { pattern: 'a', path: '{a}.c' }, '{a}.c:1: a\n[1 matching line in 1 file; 3 files searched]', { files: { '{a}.c': 'a\n', 'xax.c': 'a\n', 'd/{a}.c': 'a\n' }, before: olderKeeper }),
    look('names the ends of lines that it left out', 'search', { pattern: 'y', path: 'long' }, '[no line matches; 1 file searched, without the end of 1 long line]', { files: { long: `${'x'.repeat(70_000)}y\n` } }),
    look('shows lines around', 'search', { pattern: 'twice', context: 1 }, /^src\/a\.py\n {2}4 \| \n> 5 \| def twice\(a\):\n {2}6 \| {5}return add\(a, a\)\n\[1 matching line/),
    look('says that there is more', 'search', { pattern: 'line' }, /\[100 matching lines in 1 file; \d+ files? searched; these are the first; narrow pattern, path or glob\]$/),
    look('names what it left out', 'search', { pattern: 'nothing like it' }, /^\[no line matches; \d+ files searched, without 1 binary\]$/, binaryFile),
    look('refuses a broken pattern', 'search', { pattern: '(a' }, /^pattern: .*; write \. \[\]/, no),
    look('refuses a folder that is not there', 'search', { pattern: 'a', path: 'lib' }, /^path: .*; search for it, or list its folder$/, no),
  ])('$name', (one) => play(one)); // prettier-ignore
});

describe.skipIf(binary === '')('undo and plan', () => {
  it('lists what would be lost, restores the files, and reports what was removed', async () => {
    const bed = await begin({ files: tree });
    await bed.call('edit_file', { path: 'src/a.py', old_text: 'a - b', new_text: 'a + b' });
    await bed.call('bash', { command: 'rm src/b.txt; mkdir d; echo x > d/e' });
    const lost = '2 changes: d/e (new), src/b.txt (deleted)';
    const all = 'the same and 1 change: src/a.py (changed)';
    expect((await bed.call('undo', {})).text).toBe(
      `step 2: the files as they are now\nstep 1: would discard ${lost}\nstep 0, the start: would discard ${all}\n[call undo with the number of a step of this list to put all files back; what commands did outside of the files stays]`,
    );
    const [start, first] = bed.memory.undoPoints;
    expect(await bed.call('undo', { step: 1 })).toEqual({ ok: true, changed: true, restored: first, text: `the files are as in step 1, again; discarded ${lost}` });
    expect(await bed.read('src/b.txt')).toBe('add\nAdd\n');
    expect((await bed.call('undo', { step: 7 })).text).toMatch(/^step: no tree is kept of 7; there are: [\d, ]+; call undo without step to see what each is$/);
    expect(await bed.call('undo', { step: 0 })).toMatchObject({ restored: start });
    expect(await bed.call('undo', { step: 0 })).toMatchObject({ changed: false, text: 'the files are as in step 0, the start, again; nothing differed' });
    expect(await bed.read('src/a.py')).toBe(py);
  }); // prettier-ignore

  it('keeps a plan', async () => {
    const bed = await begin();
    expect((await bed.call('update_plan', { plan: '[x] look around\n- [>] repair\n\nprove it' })).text).toBe('3 items: 1 done, 1 active, 1 open');
    expect(bed.memory.plan).toEqual([{ text: 'look around', state: 'Done' }, { text: 'repair', state: 'Active' }, { text: 'prove it', state: 'Open' }]);
    expect((await bed.call('update_plan', { plan: '' })).text).toBe('the plan is empty');
    expect((await bed.call('update_plan', { plan: '[p] x' })).text).toMatch(/^plan: \[p\] is no state; write \[ \] open/);
    expect((await bed.call('update_plan', { plan: '[x]' })).text).toMatch(/has no words/);
    expect((await bed.call('update_plan', { plan: 'x'.repeat(301) })).text).toBe('1 item: 0 done, 0 active, 1 open; 1 item cut to 300 characters');
    expect((await bed.call('update_plan', { plan: 'x\n'.repeat(33) })).text).toMatch(/has 33 items, at most 32/);
  }); // prettier-ignore
});

it.skipIf(binary === '')('the session removes what bars a clean run: files, links, folders; what is not there is no fault', async () => {
  const { scope } = await begin({ files: { 'a.txt': 'a\n', 'folder/test_b.py': 'b\n' } });
  const { session } = scope;
  await session.exec({ command: 'ln -s a.txt test_link.py; ln -s gone test_dangling.py; mkdir test_folder.py', timeoutSeconds: 10 });
  const before = await session.snapshot('before');
  await session.remove(['test_link.py', 'test_dangling.py', 'test_folder.py', 'folder/test_b.py', 'none.py', 'none/none.py']);
  const { entries } = await session.diff(before.id);
  const gone = entries.filter(({ op }) => op === 'D').map(({ path }) => session.relative(path));
  expect(gone.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
    'folder/test_b.py',
    'test_dangling.py',
    'test_folder.py',
    'test_link.py',
  ]);
  expect(String(await session.read('a.txt'))).toBe('a\n');
});
