import { describe, expect, it } from 'vitest';
import { waitUntil } from '@agentfleet/keeper/testing';
import type { ToolBed } from './testing/bed.ts';
import { openStage, type Case } from './testing/play.ts';

const { binary, begin, play } = await openStage();

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

/** On a busy machine, a keeper's first parse exceeds its limit, and the edit is not checked. */
const parserReady = async ({ harness }: ToolBed): Promise<void> => {
  const parsed = () => harness.client().writeFile(`${harness.workspace}/other.py`, 'x = 1\n', undefined, 'Check');
  await waitUntil(async () => (await parsed()).syntax === 'Checked', 60_000);
};

describe.skipIf(binary === '')('edit_file', () => {
  it.each([
    edit('replaces what occurs once', { path, old_text: 'a - b', new_text: 'a + b' },
      'changed src/a.py\n1 | def add(a, b):\n2 |     return a + b\n3 | \n4 | \n5 | def twice(a):', { leaves: { [path]: py.replace('a - b', 'a + b') } }),
    edit('creates a file', { path: 'new/b.txt', new_text: 'one\ntwo\n' }, 'created new/b.txt, 2 lines', { leaves: { 'new/b.txt': 'one\ntwo\n' } }),
    edit('does not create one that exists', { path, new_text: '' }, /^old_text: missing, and src\/a\.py exists \(\d+ bytes\); give the text of it that is replaced, or write it whole by bash: command "cat > src\/a\.py" with the text as stdin$/, refused),
    edit('sees line ends that were escaped twice', { path: 'b.txt', new_text: String.raw`a = 1\nb = 2\n` }, String.raw`created b.txt, 1 line; new_text has \n as two characters 2 times and no line end: escape line ends once`, { leaves: { 'b.txt': String.raw`a = 1\nb = 2\n` } }),
    edit('takes a block of Markdown for its text', { path: 'b.py', new_text: '```python\na = 1\n```\n' }, 'created b.py, 1 line, without the marks ``` around new_text', { leaves: { 'b.py': 'a = 1\n' } }),
    edit('leaves a block in Markdown', { path: 'b.md', new_text: '```\na\n```\n' }, 'created b.md, 3 lines', { leaves: { 'b.md': '```\na\n```\n' } }),
    edit('names the lines of several', { path, old_text: 'return', new_text: 'x' }, 'old_text: it occurs 2 times in src/a.py, on lines 2, 6; add lines around it to name one, or set all', refused),
    edit('replaces all on demand', { path, old_text: 'def ', new_text: 'async def ', all: true }, /^changed src\/a\.py in 2 places\n1 \| async def add/, { leaves: { [path]: py.replaceAll('def ', 'async def ') } }),
    edit('takes other whitespace, and says so', { path, old_text: 'def add(a, b):\n\treturn a - b', new_text: 'def add(a, b):\n\tif a:\n\t\treturn a + b' },
      /^changed src\/a\.py, which has other whitespace there than old_text\n1 \| def add/, { leaves: { [path]: py.replace('    return a - b', '    if a:\n        return a + b') } }),
    edit('names whitespace of what is there twice', { path: 'w.py', old_text: 'if x:\n\treturn 1', new_text: 'x' }, /closest:\n1 \| if x:\n2 \| {5}return 1\nline 2 is " {4}return 1", old_text has "\\treturn 1" \(they differ in whitespace only\)/, { ok: false, files: { 'w.py': 'if x:\n    return 1\n\nif x:\n  return 1\n' } }),
    edit('shows what is closest', { path, old_text: 'return add(a, b)', new_text: 'x' }, /it does not occur in src\/a\.py; closest:\n6 \| {5}return add\(a, a\)\nline 6 is/, refused),
    edit('makes several in turn', { path, edits: [{ old_text: 'a - b', new_text: 'a + b + c' }, { old_text: 'add(a, a)', new_text: 'add(a,\n        a, 0)' }, { old_text: 'add(a, b)', new_text: 'add(a, b, c)' }] },
      'changed src/a.py in 3 places\n1 | def add(a, b, c):\n2 |     return a + b + c\n3 | \n4 | \n5 | def twice(a):\n6 |     return add(a,\n7 |         a, 0)', { leaves: { [path]: 'def add(a, b, c):\n    return a + b + c\n\n\ndef twice(a):\n    return add(a,\n        a, 0)\n' } }),
    edit('makes one and more', { path, old_text: 'a - b', new_text: 'a + b', edits: [{ old_text: 'a + b', new_text: 'b + a' }] }, /^changed src\/a\.py in 2 places\n/, { leaves: { [path]: py.replace('a - b', 'b + a') } }),
    edit('takes edits of other agents', { file_path: path, edits: [{ oldText: 'a - b', newText: 'a + b' }, '{"old_string":"twice","new_string":"double","replace_all":"True"}'] }, /^changed src\/a\.py in 2 places\n/, { leaves: { [path]: py.replace('a - b', 'a + b').replace('twice', 'double') } }),
    edit('makes none of several where one fails', { path, edits: [{ old_text: 'a - b', new_text: 'a + b' }, { old_text: 'return', new_text: 'x' }] }, 'edits[1].old_text: it occurs 2 times in src/a.py, on lines 2, 6; add lines around it to name one, or set all; none of the 2 edits was made', refused),
    edit('needs the old text of each', { path, edits: [{ old_text: 'a - b', new_text: 'a + b' }, { old_text: '', new_text: 'x' }] }, /^edits\[1\]\.old_text: missing, and src\/a\.py exists \(\d+ bytes\); give the text of it that is replaced; none of the 2 edits was made$/, refused),
    edit('needs a text', { path, old_text: 'a - b' }, 'new_text: missing; a string is expected, "" to delete old_text', refused),
    edit('needs fields in each', { path, edits: [{ new_text: 'a' }] }, 'edits[0].old_text: missing; a string is expected', refused),
    edit('takes line numbers, and says so', { path, old_text: '2 |     return a - b', new_text: '2 |     return a + b' }, /^changed src\/a\.py, without the line numbers of old_text\n/, { leaves: { [path]: py.replace('a - b', 'a + b') } }),
    edit('takes line numbers of other programs', { path, old_text: '     2\t    return a - b', new_text: '    return a + b' }, /^changed src\/a\.py, without/, { leaves: { [path]: py.replace('a - b', 'a + b') } }),
    edit('sees line numbers of a line that is there twice', { path: 'w.py', old_text: 'w.py:2: x = 1', new_text: 'x' }, /; old_text holds line numbers; send it without them$/, { ok: false, files: { 'w.py': 'x = 1\nx = 1\n' } }),
    edit('sees line numbers of a part', { path, old_text: 'def add(a, b):\n  2:     return a - b', new_text: 'x' }, /; old_text holds line numbers; send it without them$/, refused),
    edit('sees that it was made before', { path, old_text: 'return a + b', new_text: 'return a - b' }, /^old_text: it does not occur in src\/a\.py, and new_text does, on line 2: look whether the edit is made already; closest:/, refused),
    edit('leaves nothing out', { path, old_text: '    return a - b\n', new_text: '    # ... existing code ...\n    return a + b\n' }, 'new_text: the line "# ... existing code ..." stands for text that would be lost; write the new text whole, or replace a smaller part', refused),
    edit('knows an ellipsis that the file has', { path: 'b.js', old_text: 'x;\n// ...existing code', new_text: 'y;\n// ...existing code' }, /^changed b\.js/, { files: { 'b.js': 'x;\n// ...existing code\n' } }),
    edit('takes values of JavaScript', { path: 'b.js', old_text: 'x;', new_text: 'f({\n  ...rest,\n  ...previous\n});\n// ...rest, as before' }, /^changed b\.js/, { files: { 'b.js': 'x;\n' } }),
    edit('leaves nothing out in brackets', { path, old_text: '    return a - b\n', new_text: '  # ... (unchanged)\n' }, /stands for text that would be lost/, refused),
    edit('leaves nothing out without a comment', { path, old_text: '    return a - b\n', new_text: '... rest of the file\n' }, /stands for text that would be lost/, refused),
    edit('takes an ellipsis of another meaning', { path, old_text: 'a - b', new_text: 'f(\n    ...,\n)  # ... the rest is b' }, /^changed src/, { leaves: { [path]: py.replace('a - b', 'f(\n    ...,\n)  # ... the rest is b') } }),
    edit('sees doubled escapes', { path, old_text: String.raw`b):\n    return a - b`, new_text: 'x' }, /as two characters where the file has one; escape it once only$/, refused),
    edit('has a hint for a wrong path', { path: 'a.py', old_text: 'x', new_text: 'y' }, 'path: there is no file a.py (there is src/a.py); correct it, or leave old_text out to create it', refused),
    edit('stays in the workspace', { path: '../../etc/passwd', old_text: 'x', new_text: 'y' }, /^path: \.\.\/\.\.\/etc\/passwd is outside of the workspace \/.*; give a path below it, such as src\/a\.py; what lies elsewhere is for bash$/, refused),
    edit('knows the way to write for a trial', { path: '/tmp/try.py', new_text: 'y' }, /^path: \/tmp\/try\.py is outside of the workspace \/.*; bash writes there: command "cat > \/tmp\/try\.py" with the text as stdin$/, refused),
    edit('reports new syntax errors', { path, old_text: 'return a - b', new_text: 'return (a' }, /\n\[syntax\] .*src\/a\.py has .*syntax error.* as python: line 2/s, { before: parserReady, leaves: { [path]: py.replace('a - b', '(a') } }),
    edit('keeps the line ends of the file', { path: 'w.txt', old_text: 'a\nb', new_text: 'a\nc' }, /^changed w\.txt, with the CRLF line ends of the file\n/, { files: { 'w.txt': 'a\r\nb\r\n' }, leaves: { 'w.txt': 'a\r\nc\r\n' } }),
    edit('keeps the line ends of the file that its anchor does not show', { path: 'w.txt', old_text: 'a', new_text: 'a\nc' }, /^changed w\.txt, with the CRLF line ends of the file\n/, { files: { 'w.txt': 'a\r\nb\r\n' }, leaves: { 'w.txt': 'a\r\nc\r\nb\r\n' } }),
    edit('changes a word of a line without a word on line ends', { path: 'w.txt', old_text: 'a', new_text: 'x' }, /^changed w\.txt\n/, { files: { 'w.txt': 'a\r\nb\r\n' }, leaves: { 'w.txt': 'x\r\nb\r\n' } }),
    edit('refuses a name that no file can have', { path: `src/${'x'.repeat(300)}`, new_text: 'x' }, /^path: .* has a name that no file can have: it is too long; correct the argument$/, refused),
    edit('leaves binary files', { path: 'x.bin', old_text: 'a', new_text: 'b' }, 'path: x.bin is not UTF-8 text; change it with a command', { ok: false, before: (bed) => bed.write('x.bin', Buffer.from([0, 97])) }),
    edit('refuses a folder', { path: 'src', new_text: 'x' }, /^path: .*; name a file$/, refused),
    edit('names what is missing', { where: path }, 'path: missing; a string that is not empty, at most 4096 characters is expected; where: unknown; edit_file takes: path, old_text, new_text, all, edits', refused),
    edit('says where JSON ends', '{"path":"src/a.py","new_text":"abc', /^the arguments of edit_file are not JSON: they end in the middle, after 34 characters; send less in one call/, refused),
  ])('$name', (one) => play(one)); // prettier-ignore

  it('proposes the file as it will be, and writes nothing by it', async () => {
    const bed = await begin({ files: { [path]: py } });
    const proposed = await bed.propose('edit_file', { path, old_text: 'a - b', new_text: 'a + b' });
    const after = Buffer.from(py.replace('a - b', 'a + b'));
    expect(proposed).toEqual({ rewrites: [{ path, before: Buffer.from(py), after }], acts: [] });
    expect(await bed.read(path)).toBe(py);
  });

  it.each([7, 8])('shows a place of %s new lines whole, or by its ends', async (size) => {
    const bed = await begin({ files: { 'c.txt': 'a\nb\nc\nd\ne\nf\ng\n' } });
    const fresh = Array.from({ length: size }, (_, at) => `n${at}`);
    const { text } = await bed.call('edit_file', { path: 'c.txt', old_text: 'd', new_text: fresh.join('\n') });
    const all = ['a', 'b', 'c', ...fresh, 'e', 'f', 'g'].map((line, at) => `${String(at + 1).padStart(2)} | ${line}`);
    const shown = size === 7 ? all : [...all.slice(0, 5), '… 4 lines, as you wrote them', ...all.slice(-5)];
    expect(text.split('\n').slice(1)).toEqual(shown);
  });

  it('never shows a secret of the file', async () => {
    const secret = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
    const bed = await begin({ files: { 'c.txt': `token = ${secret}\nmode = 1\n` } });
    const wrong = await bed.call('edit_file', { path: 'c.txt', old_text: 'token = ghp_x', new_text: 'y' });
    const right = await bed.call('edit_file', { path: 'c.txt', old_text: 'mode = 1', new_text: 'mode = 2' });
    const mark = await bed.call('edit_file', { path: 'c.txt', old_text: 'token = [REDACTED:Token]', new_text: 'y' });
    expect([wrong, right, mark].map(({ text }) => text.includes(secret))).toEqual([false, false, false]);
    expect(mark.text).toMatch(/stands for a secret that is in the file; choose lines without it$/);
    expect(await bed.read('c.txt')).toBe(`token = ${secret}\nmode = 2\n`);
  });
});
