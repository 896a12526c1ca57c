import { describe, expect, it } from 'vitest';
import { conversationOf, exchangesOf, normalText, play } from './recording.ts';
import type { WireMessage } from './wire.ts';

describe('a conversation', () => {
  it('comes out of its file as it went in, also where the tail of a request is written anew', () => {
    const response = { choices: [{ index: 0, message: { role: 'assistant' as const, content: 'x' } }] };
    const reported = (...texts: readonly string[]): WireMessage[] => texts.map((content) => ({ role: 'user', content }));
    const exchanges = [reported('a', 'plan 1'), reported('a', 'b', 'plan 2'), reported('summary')].map((messages) => ({
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
    ['- Programs: git, python3 3.11.7.', '- Programs: python3 3.13.5, npm.'],
    ['- Your window has 64,000 tokens. When', '- Your window has 131,072 tokens. When'],
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

  it('is played to the same messages only', () => {
    const response = { choices: [{ index: 0, message: { role: 'assistant' as const, content: 'x' } }] };
    const asked = (text: string): WireMessage[] => [
      { role: 'user', content: 'Go.' },
      { role: 'tool', tool_call_id: 'a', content: text },
    ];
    const known = new Map([['one', conversationOf([{ messages: asked('2 passed'), tools: [], response }])]]);
    expect(play(known, { model: 'm', messages: asked('2 passed') })).toEqual({ type: 'Answer', response });
    expect(play(known, { model: 'm', messages: asked('3 passed') })).toMatchObject({ type: 'Mismatch' });
  });
});
