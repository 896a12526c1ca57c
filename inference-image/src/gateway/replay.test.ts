// Recorded conversations: playing, refusals, and turning live traffic into a recording that plays.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { conversationOf, type ChatCompletion, type RecordedExchange, type WireMessage } from '@agentfleet/protocol/chat';
import { FakeProvider, tell } from './testing/provider.ts';
import { Stage, textOf } from './testing/harness.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
  await mkdir(stage.path('records'));
  await stage.models({ engine: 'Replay', recording: stage.path('records') });
});
afterEach(() => stage.close());

const call = (id: string, args: string): NonNullable<WireMessage['tool_calls']>[number] => ({
  id,
  type: 'function',
  function: { name: 'bash', arguments: args },
});
const answer = (message: WireMessage): ChatCompletion => ({
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3 },
});
const goal: WireMessage[] = [
  { role: 'system', content: 'You repair.' },
  { role: 'user', content: 'Make it green.' },
];
const look: WireMessage = { role: 'assistant', content: null, tool_calls: [call('call_1', '{"command":"ls"}')] };
const observed = (text: string, id = 'call_1'): WireMessage => ({ role: 'tool', tool_call_id: id, content: text });
const recorded: RecordedExchange[] = [
  { messages: goal, tools: ['bash'], response: answer(look) },
  { messages: [...goal, look, observed('2 passed in 0.31s')], tools: ['bash'], response: answer({ role: 'assistant', content: 'Done.' }) },
];
const tools = [{ type: 'function', function: { name: 'bash' } }];
const other = recorded.map((exchange) => ({
  ...exchange,
  messages: exchange.messages.map((one) => (one.role === 'user' ? { ...one, content: 'Rename it.' } : one)),
}));

async function start(): Promise<void> {
  await stage.write('records/one.json', JSON.stringify(conversationOf(recorded)));
  await stage.write('records/two.json', JSON.stringify(conversationOf(other)));
  await stage.start();
}

describe('a recorded conversation', () => {
  it('is played by the content of the request, whatever came before; times and ids of a run do not count', async () => {
    await start();
    const messages = [...goal, { ...look, tool_calls: [call('call_9', '{"command":"ls"}')] }, observed('2 passed in 12.07s', 'call_9')];
    const last = await stage.ask({ messages, tools });
    expect(last.body).toMatchObject({ model: 'expert', choices: [{ message: { content: 'Done.' } }], usage: { prompt_tokens: 7 } });
    expect((await stage.ask({ messages: goal, tools })).body.choices[0]?.message.tool_calls).toEqual(look.tool_calls);
    expect(textOf(await stage.stream({ messages, tools }))).toBe('Done.');
  });

  const after = (...messages: readonly WireMessage[]): WireMessage[] => [...goal, look, ...messages];
  const done: WireMessage = { role: 'assistant', content: 'Done.' };
  it.each([
    [
      'another observation',
      { messages: after(observed('1 failed, 1 passed')) },
      'RecordMismatch',
      /one, exchange 2 of 2: message 3 \(tool\) differs at character 0: recorded "2 passed in <duration>", got "1 failed/,
    ],
    [
      'another prompt',
      { messages: [{ role: 'system', content: 'You break.' }, ...goal.slice(1)] },
      'RecordMismatch',
      /message 0 \(system\) differs at character 4: recorded "You repair\.", got "You break\."/,
    ],
    [
      'another call',
      { messages: [...goal, { ...look, tool_calls: [call('a', '{"command":"pwd"}')] }, observed('x')] },
      'RecordMismatch',
      /exchange 2 of 2: message 2 \(assistant\).*recorded "\\nbash\(\{\\"command\\":\\"ls/,
    ],
    ['another role', { messages: after({ role: 'user', content: 'Stop.' }) }, 'RecordMismatch', /message 3 \(user in place of tool\)/],
    [
      'a goal that nobody recorded',
      { messages: [{ role: 'user', content: 'Fly.' }] },
      'RecordMismatch',
      /no recording begins.*"Fly\."; there are one, two/,
    ],
    ['other tools', { messages: goal, tools: [] }, 'RecordMismatch', /its tools are bash, the request has none/],
    [
      'more than there is',
      { messages: after(observed('2 passed in 1s'), done, { role: 'user', content: 'Sure?' }) },
      'RecordEnded',
      /goes on with message 4 \(assistant\): "Done\."/,
    ],
  ])('is not played to %s, and the first message that differs is named', async (_what, body, code, words) => {
    await start();
    const { status, body: refused } = await stage.ask({ tools, ...body });
    expect([status, refused.error.code, refused.error.retryable]).toEqual([422, code, false]);
    expect(refused.error.message).toMatch(words);
  });

  it.each([
    ['no folder with records', '', '', /has no \*\.json/],
    ['no JSON', 'bad.json', '{', /bad\.json is not JSON/],
    [
      'no conversation',
      'bad.json',
      '{"format":"agentfleet.dev/conversation/v1","exchanges":[]}',
      /bad\.json: exchanges must NOT have fewer/,
    ],
  ])('says what is wrong with it: %s', async (_what, name, text, words) => {
    if (name !== '') await stage.write(`records/${name}`, text);
    await stage.start();
    expect((await stage.ask({ messages: goal })).body.error.message).toMatch(words);
  });
});

describe('live traffic', () => {
  it('is recorded where one asks for it, without secrets, and plays', async () => {
    const provider = new FakeProvider();
    const live = { name: 'live', baseURLs: [await provider.start()] };
    await stage.models(live, { engine: 'Replay', recording: stage.path('records') });
    await stage.start({ AGENTFLEET_RECORD_TO: stage.path('live') });
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const messages = [...goal, { role: 'user', content: `token ${secret}` }];
    provider.play(tell([{ tool_calls: [call('call_1', '{}')] }]));
    await stage.ask({ model: 'live', messages, tools }, { 'agentfleet-conversation': 'c1' });
    const [file = ''] = await readdir(stage.path('live'));
    const line = await readFile(stage.path(`live/${file}`), 'utf8');
    expect(line).not.toContain(secret);
    await stage.write('records/one.json', JSON.stringify(conversationOf([JSON.parse(line) as RecordedExchange])));
    expect((await stage.ask({ messages, tools })).body.choices[0]?.message.tool_calls).toEqual([call('call_1', '{}')]);
    await provider.stop();
  });
});
