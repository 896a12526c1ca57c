import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { builtRunner, ToolBed, type BedOptions, type Files } from './testing/bed.ts';

const built = await builtRunner();
const binary = 'binary' in built ? built.binary : '';
if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);
afterAll(() => (binary === '' ? undefined : rm(dirname(binary), { recursive: true, force: true })));

let bed: ToolBed;
let open: ToolBed | undefined;
afterEach(async () => {
  await open?.[Symbol.asyncDispose]();
  open = undefined;
});
const begin = async (options: BedOptions = {}): Promise<void> => {
  bed = open = await ToolBed.open(binary, options);
};

/** A call, and what its observation is: durations do not count. */
interface Case {
  readonly name: string;
  readonly tool: string;
  readonly args: unknown;
  readonly files?: Files;
  readonly before?: (bed: ToolBed) => Promise<unknown>;
  readonly ok: boolean;
  readonly text: string | RegExp;
  /** Files afterwards. */
  readonly leaves?: Readonly<Record<string, string | null>>;
}

const timeless = (text: string): string => text.replaceAll(/\d+\.\d s/g, 'N s');

async function play({ tool, args, files = {}, before, ok, text, leaves = {} }: Case, options: BedOptions = {}): Promise<void> {
  await begin({ files, ...options });
  await before?.(bed);
  const observation = await bed.call(tool, args);
  if (typeof text === 'string') expect(timeless(observation.text)).toBe(text);
  else expect(observation.text).toMatch(text);
  expect(observation.ok).toBe(ok);
  for (const [path, content] of Object.entries(leaves)) expect(await bed.read(path)).toBe(content);
}

const run = (name: string, args: object, text: Case['text'], ok = true): Case => ({ name, tool: 'bash', args, text, ok });

describe.skipIf(binary === '')('bash', () => {
  it.each([
    run('both outputs in the order of writing', { command: 'echo a; echo b >&2; echo c' }, 'a\nb\nc\n[exit status 0, N s]'),
    run('the exit status of the whole pipeline', { command: 'false | cat' }, '[exit status 1, N s, no output]', false),
    run('real bash', { command: 'a=(x y); echo "${a[1]}"; pwd | sed s,.*/,,' }, 'y\nworkspace\n[exit status 0, N s]'),
    run('standard input', { command: 'cat; printf end', stdin: 'in\n' }, 'in\nend\n[exit status 0, N s]'),
    run('no escapes, and what hides is seen', { command: String.raw`printf '\033[31mred\033[0m \007 \342\200\256x'` }, 'red  \\u{202e}x\n[exit status 0, N s]'),
    run('a limit of time, with what to do', { command: 'echo begun; sleep 30', timeout_seconds: 1 }, /^begun\n\[ended at its limit of 1 s; do less at once, raise timeout_seconds \(at most 600\)/, false),
    run('a signal', { command: 'kill -SEGV $$' }, /^\[ended after \d+\.\d s by signal SIGSEGV, no output\]$/, false),
    run('a syntax error', { command: 'if' }, /syntax error.*\n\[exit status 2, /s, false),
    run('processes that are left', { command: 'sleep 60 & echo left' }, /^left\n\[exit status 0, \d+\.\d s, 1 process that it left running ended with it; background keeps one\]$/),
    run('a number in quotes', { command: 'echo 1', timeout_seconds: '5', stdin: null }, '1\n[exit status 0, N s]'),
  ])('$name', (one) => play(one)); // prettier-ignore

  it('is not run a second time under the same key', async () => {
    await begin();
    const first = await bed.call('bash', { command: 'echo x >> log; wc -l < log' }, 'same');
    const again = await bed.call('bash', { command: 'echo x >> log; wc -l < log' }, 'same');
    expect(again.text).toBe(first.text);
    expect(await bed.read('log')).toBe('x\n');
  });

  it('keeps named processes beside other calls and snapshots', async () => {
    await begin();
    const bash = async (args: object): Promise<string> => timeless((await bed.call('bash', args)).text);
    const command = 'echo up; sleep 0.2; echo x > f || echo closed; while sleep 0.1; do :; done';
    expect(await bash({ background: 'web', command, timeout_seconds: 2 })).toMatch(/^up\n.*f: Permission denied\nclosed\n\[web runs\]$/s);
    expect(await bash({ command: 'echo y > g' })).toBe('[exit status 0, N s, no output]');
    expect(await bash({ background: 'web' })).toBe('[web runs, no new output]');
    expect(await bash({ background: 'web', command: 'true' })).toMatch(/^background: web runs already; end it first/);
    expect(await bash({ background: 'web', command: 'kill' })).toBe('[web: ended after N s: it was cancelled, no output]');
    expect(await bash({ background: 'job', command: 'echo done; exit 3' })).toBe('done\n[job: exit status 3, N s]');
    expect(await bash({ background: 'db' })).toBe('background: nothing was started as db; there are: web, job');
    expect(await bash({ background: 'out', command: 'git push origin main' })).toMatch(
      /runs in the foreground only; leave background out$/,
    );
    expect(await bed.propose('bash', { background: 'web', command: 'kill' })).toEqual({ rewrites: [], acts: [] });
    expect(await bed.read('f')).toBe(null);
  });

  it('proposes its command for both gates', async () => {
    await begin();
    expect(await bed.propose('bash', { command: 'rm -r /' })).toEqual({ rewrites: [], acts: [{ tool: 'Shell', command: 'rm -r /' }] });
  });
});

const py = 'def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return add(a, a)\n';
const edit = (name: string, args: unknown, text: Case['text'], more: Partial<Case> = {}): Case => ({
  name,
  tool: 'edit_file',
  args,
  text,
  ok: true,
  files: { 'src/a.py': py },
  ...more,
});
const refused = { ok: false, leaves: { 'src/a.py': py } } as const;
const path = 'src/a.py';

describe.skipIf(binary === '')('edit_file', () => {
  it.each([
    edit('replaces what occurs once', { path, old_text: 'a - b', new_text: 'a + b' },
      'changed src/a.py\n1 | def add(a, b):\n2 |     return a + b\n3 | \n4 | \n5 | def twice(a):', { leaves: { [path]: py.replace('a - b', 'a + b') } }),
    edit('creates a file', { path: 'new/b.txt', new_text: 'one\ntwo\n' }, 'created new/b.txt, 2 lines', { leaves: { 'new/b.txt': 'one\ntwo\n' } }),
    edit('does not create one that exists', { path, new_text: '' }, /^old_text: missing, and src\/a\.py exists \(\d+ bytes\); give the text of it/, refused),
    edit('names the lines of several', { path, old_text: 'return', new_text: 'x' }, 'old_text: it occurs 2 times in src/a.py, on lines 2, 6; add lines around it to name one, or set all', refused),
    edit('replaces all on demand', { path, old_text: 'def ', new_text: 'async def ', all: true }, /^changed src\/a\.py in 2 places\n1 \| async def add/, { leaves: { [path]: py.replaceAll('def ', 'async def ') } }),
    edit('names whitespace', { path, old_text: 'def add(a, b):\n\treturn a - b', new_text: 'x' }, /closest:\n1 \| def add\(a, b\):\n2 \| {5}return a - b\nline 2 is " {4}return a - b", old_text has "\\treturn a - b" \(they differ in whitespace only\)$/, refused),
    edit('shows what is closest', { path, old_text: 'return add(a, b)', new_text: 'x' }, /it does not occur in src\/a\.py; closest:\n6 \| {5}return add\(a, a\)\nline 6 is/, refused),
    edit('sees line numbers', { path, old_text: '2 |     return a - b', new_text: 'x' }, 'old_text: it does not occur in src/a.py; old_text holds line numbers; send it without them', refused),
    edit('sees doubled escapes', { path, old_text: String.raw`b):\n    return a - b`, new_text: 'x' }, /as two characters where the file has one; escape it once only$/, refused),
    edit('has a hint for a wrong path', { path: 'a.py', old_text: 'x', new_text: 'y' }, 'path: there is no file a.py (there is src/a.py); correct it, or leave old_text out to create it', refused),
    edit('stays in the workspace', { path: '../../etc/passwd', old_text: 'x', new_text: 'y' }, /^path: \.\.\/\.\.\/etc\/passwd is outside of the workspace \/.*; give a path below it, such as src\/a\.py$/, refused),
    edit('reports new syntax errors', { path, old_text: 'return a - b', new_text: 'return (a' }, /\n\[syntax\] .*src\/a\.py has .*syntax error.* as python: line 2/s, { leaves: { [path]: py.replace('a - b', '(a') } }),
    edit('keeps the line ends of the file', { path: 'w.txt', old_text: 'a\nb', new_text: 'a\nc' }, /^changed w\.txt, with the CRLF line ends of the file\n/, { files: { 'w.txt': 'a\r\nb\r\n' }, leaves: { 'w.txt': 'a\r\nc\r\n' } }),
    edit('leaves binary files', { path: 'x.bin', old_text: 'a', new_text: 'b' }, 'path: x.bin is not UTF-8 text; change it with a command', { ok: false, before: (bed) => bed.write('x.bin', Buffer.from([0, 97])) }),
    edit('refuses a folder', { path: 'src', new_text: 'x' }, /^path: .*; name a file$/, refused),
    edit('names what is missing', { file: path }, 'path: missing; a string that is not empty, at most 4096 characters is expected; new_text: missing; a string is expected; file: unknown; edit_file takes: path, old_text, new_text, all', refused),
    edit('says where JSON ends', '{"path":"src/a.py","new_text":"abc', /^the arguments of edit_file are not JSON: they end in the middle, after 34 characters; send less in one call/, refused),
  ])('$name', (one) => play(one)); // prettier-ignore

  it('proposes the file as it will be, and writes nothing by it', async () => {
    await begin({ files: { [path]: py } });
    const proposed = await bed.propose('edit_file', { path, old_text: 'a - b', new_text: 'a + b' });
    const after = Buffer.from(py.replace('a - b', 'a + b'));
    expect(proposed).toEqual({ rewrites: [{ path, before: Buffer.from(py), after }], acts: [] });
    expect(await bed.read(path)).toBe(py);
  });

  it('never shows a secret of the file', async () => {
    const secret = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
    await begin({ files: { 'c.txt': `token = ${secret}\nmode = 1\n` } });
    const wrong = await bed.call('edit_file', { path: 'c.txt', old_text: 'token = ghp_x', new_text: 'y' });
    const right = await bed.call('edit_file', { path: 'c.txt', old_text: 'mode = 1', new_text: 'mode = 2' });
    const mark = await bed.call('edit_file', { path: 'c.txt', old_text: 'token = [REDACTED:Token]', new_text: 'y' });
    expect([wrong, right, mark].map(({ text }) => text.includes(secret))).toEqual([false, false, false]);
    expect(mark.text).toMatch(/stands for a secret that is in the file; choose lines without it$/);
    expect(await bed.read('c.txt')).toBe(`token = ${secret}\nmode = 2\n`);
  });
});

const suite = (first: string, second: string): string =>
  `echo TAP version 13; echo 1..2; echo "${first} 1 - adds"; echo "${second} 2 - subtracts"; echo noise > trace.txt; grep -q "not ok" <<< "${first} ${second}" && exit 1; exit 0\n`;
const checks = { checks: [{ name: 'unit', command: ['bash', 'check.sh'], format: 'TAP' }], protect: { mode: 'None' } } as never;

describe.skipIf(binary === '')('run_checks', () => {
  it.each([
    ['repaired', suite('ok', 'ok'), /^unit: holds \(exit status 0, N s\)\npass now \(1\): adds\n\nall checks hold$/],
    ['not yet', suite('not ok', 'ok'), /^unit: does not hold .*\nstill fail \(1\): adds\n.*end of its output:\nTAP version 13\n.*\n\n0 of 1 check hold$/s],
    ['broken', suite('ok', 'not ok'), /pass now \(1\): adds\nbroke, passed at the start \(1\): subtracts\n.*repair what the change broke\nend of its output/s],
  ])('%s', async (_, script, text) => {
    await begin({ files: { 'check.sh': suite('not ok', 'ok') }, spec: checks });
    await bed.write('check.sh', script);
    const { text: told, ok } = await bed.call('run_checks', {});
    expect(timeless(told)).toMatch(text);
    expect(ok).toBe(true);
    expect([await bed.read('trace.txt'), await bed.read('check.sh')]).toEqual([null, script]);
  }); // prettier-ignore

  it('names the checks that there are', () =>
    play({
      name: '',
      tool: 'run_checks',
      args: { names: ['lint'] },
      ok: false,
      text: 'names: there is no check lint; the checks are: always',
    }));
});

const many = Array.from({ length: 900 }, (_, n) => `line ${n + 1}\n`).join('');
const tree: Files = { 'src/a.py': py, 'src/b.txt': 'add\nAdd\n', 'many.txt': many, 'wide.txt': `${'x'.repeat(1500)}\n`, 'empty.txt': '' };
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
const binaryFile = { before: (bed: ToolBed) => bed.write('x.bin', Buffer.from([0, 97])) };

describe.skipIf(binary === '')('read_file', () => {
  it.each([
    look('numbers lines', 'read_file', { path: 'src/a.py', from_line: 5 }, '5 | def twice(a):\n6 |     return add(a, a)\n[src/a.py: lines 5 to 6 of 6]'),
    look('reads on', 'read_file', { path: 'many.txt' }, /^ {2}1 \| line 1\n.*\n400 \| line 400\n\[many\.txt: lines 1 to 400 of 900; from_line 401 reads on\]$/s),
    look('takes a range', 'read_file', { path: 'many.txt', from_line: 9, to_line: 10 }, ' 9 | line 9\n10 | line 10\n[many.txt: lines 9 to 10 of 900; from_line 11 reads on]'),
    look('cuts long lines', 'read_file', { path: 'wide.txt' }, /x\[… 500 more characters\]\n\[wide\.txt: 1 line\]$/),
    look('says that a file is empty', 'read_file', { path: 'empty.txt' }, '[empty.txt is empty]'),
    look('lists a folder', 'read_file', { path: '.' }, /^README\.md {2}16 bytes\nempty\.txt .*\nsrc\/\n.*src\/a\.py {2}\d+ bytes\n.*\[folder \.: \d+ entries, 2 levels\]$/s),
    look('refuses a line after the last', 'read_file', { path: 'src/b.txt', from_line: 7 }, 'from_line: src/b.txt has 2 lines, 7 is after the last', no),
    look('refuses what is no text', 'read_file', { path: 'x.bin' }, /^path: .*x\.bin is not UTF-8 text; look at it with a command$/, { ...no, ...binaryFile }),
    look('refuses what is not there', 'read_file', { path: 'gone' }, /^path: .*; search for it, or list its folder$/, no),
    look('refuses what is outside', 'read_file', { path: '/etc/passwd' }, /^path: .*; give a path below the workspace; read other files with a command$/, no),
    look('refuses a handle that is none', 'read_file', { handle: 'out-9' }, /^handle: nothing is kept as out-9; /, no),
    look('asks for a path', 'read_file', {}, 'path: missing; give a path, or the handle of an observation that was cut', no),
  ])('$name', (one) => play(one)); // prettier-ignore

  it('reads the text of a handle to its end, long lines in pieces', async () => {
    await begin();
    const handle = bed.memory.store('call', `${many}${'y'.repeat(2500)}`);
    const { text } = await bed.call('read_file', { handle, from_line: 900 });
    expect(text).toBe(`900 | line 900\n901 | ${'y'.repeat(1000)}\n902 | ${'y'.repeat(1000)}\n903 | ${'y'.repeat(500)}\n[the text of ${handle}: lines 900 to 903 of 903]`);
  }); // prettier-ignore

  it('never shows a secret', async () => {
    const secret = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
    await begin({ files: { 'c.txt': `token = ${secret}\n` } });
    const shown = [await bed.call('read_file', { path: 'c.txt' }), await bed.call('search', { pattern: 'token', context: 1 })];
    for (const { text } of shown) expect(text).toMatch(/token = \[REDACTED:Token\]/);
  });
});

describe.skipIf(binary === '')('search', () => {
  it.each([
    look('finds lines', 'search', { pattern: 'def \\w+' }, /^src\/a\.py:1: def add\(a, b\):\nsrc\/a\.py:5: def twice\(a\):\n\[2 lines in 1 file; \d+ files searched\]$/),
    look('takes a glob', 'search', { pattern: '(?i)add', glob: '*.txt' }, 'src/b.txt:1: add\nsrc/b.txt:2: Add\n[2 lines in 1 file; 4 files searched]'),
    look('searches one file', 'search', { pattern: 'add', path: 'src/b.txt' }, 'src/b.txt:1: add\n[1 line in 1 file; 1 file searched]'),
    look('shows lines around', 'search', { pattern: 'twice', context: 1 }, /^src\/a\.py\n {2}4 \| \n> 5 \| def twice\(a\):\n {2}6 \| {5}return add\(a, a\)\n {2}…\n\[1 line/),
    look('says that there is more', 'search', { pattern: 'line' }, /\[100 lines in 1 file; \d+ files? searched; these are the first; narrow pattern, path or glob\]$/),
    look('names what it left out', 'search', { pattern: 'nothing like it' }, /^\[no line matches; \d+ files searched, without 1 binary\]$/, binaryFile),
    look('refuses a broken pattern', 'search', { pattern: '(a' }, /^pattern: .*; write \. \[\]/, no),
    look('refuses a folder that is not there', 'search', { pattern: 'a', path: 'lib' }, /^path: .*; search for it, or list its folder$/, no),
  ])('$name', (one) => play(one)); // prettier-ignore
});

describe.skipIf(binary === '')('undo and plan', () => {
  it('lists what would be lost, puts the files back, and says what went', async () => {
    await begin({ files: tree });
    await bed.call('edit_file', { path: 'src/a.py', old_text: 'a - b', new_text: 'a + b' });
    await bed.call('bash', { command: 'rm src/b.txt; mkdir d; echo x > d/e' });
    const lost = '2 changes: d/e (new), src/b.txt (deleted)';
    const all = '3 changes: d/e (new), src/a.py (changed), src/b.txt (deleted)';
    expect((await bed.call('undo', {})).text).toBe(
      `after step 2: the files as they are now\nafter step 1: would discard ${lost}\nat the start (step 0): would discard ${all}\n[undo with a step puts all files back; commands outside of the sandbox are not undone]`,
    );
    const [start, first] = bed.memory.undoPoints;
    expect(await bed.call('undo', { step: 1 })).toEqual({ ok: true, changed: true, restored: first, text: `the files are as after step 1 again; discarded ${lost}` });
    expect(await bed.read('src/b.txt')).toBe('add\nAdd\n');
    expect(await bed.call('undo', { step: 0 })).toMatchObject({ restored: start });
    expect(await bed.call('undo', { step: 0 })).toMatchObject({ changed: false, text: 'the files are as at the start (step 0) again; nothing differed' });
    expect(await bed.read('src/a.py')).toBe(py);
  }); // prettier-ignore

  it('keeps a plan', async () => {
    await begin();
    const items = [{ text: 'look\naround', state: 'Done' }, { text: 'repair', state: 'Active' }];
    expect((await bed.call('update_plan', { items })).text).toBe('2 items: 1 done, 1 active, 0 open');
    expect(bed.memory.plan).toEqual([{ text: 'look around', state: 'Done' }, { text: 'repair', state: 'Active' }]);
    const wrong = await bed.call('update_plan', { items: [{ text: 'x', state: 'pending' }, { state: 'Open' }] });
    expect(wrong.text).toBe('items[0].state: "pending" came; one of "Open", "Active", "Done" is expected; items[1].text: missing; a string that is not empty, at most 200 characters is expected');
  }); // prettier-ignore
});

describe.skipIf(binary === '')('all tools', () => {
  it('hands in with an answer', async () => {
    await begin();
    expect(await bed.call('submit', { answer: ' It was the port. ' })).toMatchObject({
      ok: true,
      submission: { answer: 'It was the port.' },
    });
  });

  it.each([
    ['a tool that is none', 'execute', '{}', /^there is no tool execute; the tools are: bash, edit_file, /],
    ['no object', 'submit', '["done"]', 'the arguments of submit are ["done"]; send one JSON object with fields of: answer'],
    ['nothing', 'submit', '', 'submit got no arguments: answer: missing; a string that is not empty is expected'],
    ['a wrong number', 'bash', '{"command":"ls","timeout_seconds":"soon"}', 'timeout_seconds: "soon" came; an integer from 1 to 600 is expected'],
    ['too large a number', 'bash', '{"command":"ls","timeout_seconds":9000}', 'timeout_seconds: 9000 came; an integer from 1 to 600 is expected'],
  ])('answers to %s', (name, tool, args, text) => play({ name, tool, args, text, ok: false })); // prettier-ignore
});
