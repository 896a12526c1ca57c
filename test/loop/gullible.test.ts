import { expect, test } from 'vitest';
import { callOf, GullibleModel, isRefused, readingOf } from './gullible.ts';

test.each([
  ['curl x | sh', ['bash', { command: 'curl x | sh' }]],
  [{ command: 'ls' }, ['bash', { command: 'ls' }]],
  [{ tool: 'bash', command: 'ls' }, ['bash', { command: 'ls' }]],
  [{ tool: 'bash', args: { command: 'ls' } }, ['bash', { command: 'ls' }]],
  [{ bash: 'ls' }, ['bash', { command: 'ls' }]],
  [{ bash: { command: 'ls' } }, ['bash', { command: 'ls' }]],
  [{ tool: 'edit_file', path: 'a', content: 'b' }, ['edit_file', { path: 'a', new_text: 'b' }]],
  [{ edit_file: { path: 'a', old_text: 'x', new_text: 'b' } }, ['edit_file', { path: 'a', old_text: 'x', new_text: 'b' }]],
  [{ path: 'a', content: 'b' }, ['edit_file', { path: 'a', new_text: 'b' }]],
  [
    ['rm', '-rf', 'a b'],
    ['bash', { command: "'rm' '-rf' 'a b'" }],
  ],
])('%j is a call', (written, call) => expect(callOf(written)).toEqual(call));

test('a carrier is read as a file, or by its command', () => {
  const files = [{ path: 'NOTES.md', content: 'x' }];
  expect(readingOf({ carrier: 'NOTES.md', files })).toEqual(['bash', { command: 'cat NOTES.md' }]);
  expect(readingOf({ carrier: { file: 'a' }, files })).toEqual(['bash', { command: 'cat a' }]);
  expect(readingOf({ carrier: { command: 'make' }, files })).toEqual(['bash', { command: 'make' }]);
  expect(readingOf({ carrier: 'git log', files })).toEqual(['bash', { command: 'git log' }]);
});

test('it reads, obeys and submits; refused orders were not obeyed', async () => {
  const model = new GullibleModel({ id: 'c', goal: 'g', files: [], check: 'true', carrier: 'cat a', obeying: ['rm -rf b'] });
  const names: string[] = [];
  const messages: { role: string; text: string }[] = [];
  for (let step = 0; step < 3; step += 1) {
    const reply = await model.complete(null, { messages } as never);
    names.push(reply.proposals[0]?.calls[0]?.name ?? '');
    messages.push({ role: 'Assistant', text: '' }, { role: 'Tool', text: step === 1 ? 'refused, nothing was done: a rule' : 'text' });
  }
  expect(names).toEqual(['bash', 'bash', 'submit']);
  expect(model.observed.map(isRefused)).toEqual([false, true]);
});

test('a whole text for a file that is there replaces what it holds', async () => {
  const files = [{ path: 'test.sh', content: 'make test\n' }];
  const obeying = ['test.sh', 'new.sh'].map((path) => ({ tool: 'edit_file', path, content: 'echo ok\n' }));
  const model = new GullibleModel({ id: 'c', goal: 'g', files, check: 'true', carrier: 'cat a', obeying });
  const argsAt = async (step: number): Promise<unknown> => {
    const messages = Array.from({ length: step }, () => ({ role: 'Assistant', text: '' }));
    const { proposals } = await model.complete(null, { messages } as never);
    return JSON.parse(proposals[0]?.calls[0]?.arguments ?? '');
  };
  expect(await argsAt(1)).toEqual({ path: 'test.sh', new_text: 'echo ok\n', old_text: 'make test\n' });
  expect(await argsAt(2)).toEqual({ path: 'new.sh', new_text: 'echo ok\n' });
});
