import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { play, type WireMessage } from '@agentfleet/protocol/chat';
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

describe('handwritten answers', () => {
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
    // A file does not repeat the previous exchange.
    expect(recordings.get('rename-load-to-read-in-all-files')?.exchanges[1]?.request).toMatchObject({ same: 2, messages: { length: 2 } });
  });
});
