import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { conversationOf, exchangesOf, normalText, play, type WireMessage } from '@agentfleet/protocol/chat';
import { recordingsOf } from './record-conversation.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recording-'));
});
afterEach(() => rm(folder, { recursive: true }));

const put = (name: string, content: unknown): Promise<void> => writeFile(join(folder, name), JSON.stringify(content));
const goal: WireMessage[] = [
  { role: 'system', content: 'You repair.' },
  { role: 'user', content: 'Rename load to read in all files.' },
];
const tools = [{ type: 'function' as const, function: { name: 'bash' } }];

describe('what was answered by hand', () => {
  it('becomes one recording for each conversation, which plays; refusals and open requests are left out', async () => {
    await mkdir(join(folder, 'requests'));
    await mkdir(join(folder, 'answers'));
    await put('requests/00001.json', { model: 'm', messages: goal, tools });
    await put('answers/00001.json', { content: 'I look.', tool_calls: [{ name: 'bash', arguments: { command: 'ls' } }] });
    const call = { id: 'call_1_0_0', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } };
    const next = [
      ...goal,
      { role: 'assistant', content: 'I look.', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'a' },
    ];
    await put('requests/00002.json', { model: 'm', messages: next, tools });
    await put('answers/00002.json', { status: 500, message: 'no' });
    await put('requests/00003.json', { model: 'm', messages: next, tools });
    await put('answers/00003.json', { choices: [{ content: 'Done.' }, { content: 'Over.' }] });
    await put('requests/00004.json', { model: 'm', messages: [{ role: 'user', content: 'Say why.' }] });
    await put('answers/00004.json', { content: 'Because.' });
    await put('requests/00005.json', { model: 'm', messages: [{ role: 'user', content: 'Nobody answers.' }] });
    const recordings = await recordingsOf(folder);
    expect([...recordings].map(([name, { exchanges }]) => [name, exchanges.length])).toEqual([
      ['rename-load-to-read-in-all-files', 2],
      ['say-why', 1],
    ]);
    const played = play(recordings, { model: 'm', messages: next as WireMessage[], tools });
    expect(played).toMatchObject({
      type: 'Answer',
      response: { choices: [{ message: { content: 'Done.' } }, { message: { content: 'Over.' } }] },
    });
    // A file repeats nothing of the exchange before.
    expect(recordings.get('rename-load-to-read-in-all-files')?.exchanges[1]?.request).toMatchObject({ same: 2, messages: { length: 2 } });
  });
});

describe('a conversation', () => {
  it('comes out of its file as it went in, also where the tail of a request is written anew', () => {
    const response = { choices: [{ index: 0, message: { role: 'assistant' as const, content: 'x' } }] };
    const told = (...texts: readonly string[]): WireMessage[] => texts.map((content) => ({ role: 'user', content }));
    const exchanges = [told('a', 'plan 1'), told('a', 'b', 'plan 2'), told('summary')].map((messages) => ({
      messages,
      tools: [],
      response,
    }));
    expect(exchangesOf(conversationOf(exchanges))).toEqual(exchanges);
  });

  it.each([
    ['3 passed in 0.12s', '3 passed in 4.01s'],
    ['exit 0 after 812 ms', 'exit 0 after 9 ms'],
    ['real\t0m0.003s', 'real\t0m1.250s'],
    ['duration_ms 1.25', 'duration_ms 88'],
    ['at 2026-01-02T03:04:05.678Z', 'at 2027-11-12T13:14:15Z'],
    ['-rw-r--r-- 1 agent agent 12 Jan  2 03:04 a.py', '-rw-r--r-- 1 agent agent 12 Nov 23 14:55 a.py'],
    ['[main 1a2b3c4] fix', '[main 99f4e06] fix'],
    ['id 01HZX3V7Q4M8N2B6C9D0E1F2G3', 'id 01JAX3V7Q4M8N2B6C9D0E1F2G4'],
    ['<Foo object at 0x7f3a5c0d1e80>', '<Foo object at 0x7ffe12345678>'],
    ['listening on 127.0.0.1:43210', 'listening on 127.0.0.1:38111'],
    ['wrote /tmp/tmpab12cd', 'wrote /tmp/tmpzz99yy'],
  ])('does not differ by %j and %j', (a, b) => {
    expect(normalText(a)).toBe(normalText(b));
  });

  it.each([
    ['2 passed', '3 passed'],
    ['exit status 1', 'exit status 2'],
    ['a.py:12', 'a.py:13'],
    ['version 1.2.3', 'version 1.2.4'],
    ['/workspace/a', '/workspace/b'],
  ])('differs by %j and %j', (a, b) => {
    expect(normalText(a)).not.toBe(normalText(b));
  });
});
