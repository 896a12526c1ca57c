// Streams in the forms that servers and the proxies before them give these: bytes, lines, events, chunks.
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Streamed } from './providers/index.ts';
import { chunk, raw, refuse, stream, usage, type Script } from './testing/provider.ts';
import { textOf } from './testing/harness.ts';
import { staging } from './testing/staging.ts';

const { provider, stage } = staging(() => ({}));

const sse = 'text/event-stream';
const head = chunk({ role: 'assistant', content: '' });
const hello = [head, chunk({ content: 'Hél' }), chunk({ content: 'lo🎈.' }), chunk({}, 'stop')];
const sent = (events: readonly unknown[]): string => events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const done = 'data: [DONE]\n\n';
const text = sent(hello) + done;
/** Something in the middle of the stream. */
const amid = (more: string): Script => raw(sent(hello.slice(0, 2)) + more + sent(hello.slice(2)) + done, sse);
const oneByOne =
  (whole: string): Script =>
  async (_call, response) => {
    response.writeHead(200, { 'content-type': sse });
    for (const byte of Buffer.from(whole)) {
      response.write(Buffer.from([byte]));
      if (byte % 7 === 0) await delay(0);
    }
    response.end();
  };
const message = { role: 'assistant', content: 'Héllo🎈.' };
const whole = { choices: [{ index: 0, message, finish_reason: 'stop' }], usage };

describe('a stream is read', () => {
  it.each<readonly [what: string, script: Script]>([
    ['byte by byte', oneByOne(text)],
    ['byte by byte with CRLF', oneByOne(text.replaceAll('\n', '\r\n'))],
    ['with CR', raw(text.replaceAll('\n', '\r'), sse)],
    ['with a mark of the order of bytes', raw(`\uFEFF${text}`, sse)],
    ['without blanks, with names, ids and comments', raw(text.replaceAll('data: ', ':x\nid: 3\nevent: message\nretry: 3\ndata:'), sse)],
    ['without its last line feeds', raw(text.trimEnd(), sse)],
    ['with a blank after its end', raw(`${sent(hello.slice(0, 3))}data: [DONE] \n\n`, sse)],
    ['with events that have no data', amid('event: ping\n\ndata:\n\ndata: \n\nevent: keepalive\ndata: \n\n')],
    ['with events that are no chunks', amid('data: null\n\ndata: 7\n\ndata: "x"\n\ndata: []\n\nevent: ping\ndata: {}\n\n')],
    ['in one line that comes in pieces', raw(sent([head, chunk({ content: 'Héllo🎈.', padding: 'x'.repeat(300_000) })]) + done, sse)],
    ['compressed', (_call, response) => void response.writeHead(200, { 'content-type': sse, 'content-encoding': 'gzip' }).end(gzipSync(text))],
    ['that has the type of JSON', raw(text, 'application/json')],
    ['that has no type', (_call, response) => void response.writeHead(200).end(text)],
    ['that is a whole answer', refuse(200, whole)],
    ['with messages in the place of pieces', stream([{ choices: [{ index: 0, message, finish_reason: 'stop' }] }])],
    ['with a choice of no index', stream([{ choices: [{ index: null, delta: message }] }, chunk({}, 'stop')])],
    ['with choices and pieces of another type', stream([{ choices: { a: 1 } }, { choices: [{ delta: 'x' }] }, ...hello])],
    ['with a part in the place of a text', stream([head, chunk({ content: { type: 'text', text: 'Héllo🎈.' } }), chunk({ content: 7 }), chunk({}, 'stop')])],
    ['with a call that is none', stream([...hello.slice(0, 3), chunk({ tool_calls: [null] }), chunk({}, 'stop')])],
  ])('%s', async (_what, script) => {
    provider.play(script);
    const streamed = await stage.stream();
    expect(streamed).toMatchObject({ status: 200, done: true });
    expect(streamed.error).toBeUndefined();
    expect([textOf(streamed), provider.calls.length]).toEqual(['Héllo🎈.', 1]);
    const ends = streamed.chunks.flatMap(({ choices }) => choices.map(({ index, finish_reason: end }) => `${index} ${end}`));
    expect(ends.filter((end) => !end.endsWith('null'))).toEqual(['0 stop']);
  }); // prettier-ignore

  it.each<readonly [what: string, pieces: readonly object[]]>([
    ['the older API', [{ function_call: { name: 'f', arguments: '{"a"' } }, { function_call: { arguments: ':1}' } }]],
    ['one that gives no list', [{ tool_calls: { id: 'a', function: { name: 'f', arguments: '{"a":1}' } } }]],
    ['one that begins with null', [{ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: null } }] }, { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }]],
  ])('with the calls of %s', async (_what, pieces) => {
    provider.play(stream([...pieces.map((piece) => chunk({ ...piece })), chunk({}, 'function_call')]));
    const { chunks } = await stage.stream();
    const joined = new Streamed();
    for (const one of chunks) joined.add(one);
    expect(joined.choices('m')).toMatchObject([{ message: { tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] }, finish_reason: 'tool_calls' }]);
    expect(JSON.stringify(chunks)).not.toContain('"function_call"');
  }); // prettier-ignore
});

describe('what is no stream', () => {
  it.each<readonly [what: string, script: Script, status: number, code: string, asked: number, words: RegExp]>([
    ['an error', refuse(200, { error: { message: 'slow down', code: 429 } }), 429, 'RateLimited', 4, /429: slow down/],
    ['half an answer', raw('{"choices": [{'), 502, 'ProviderMalformed', 2, /not JSON/],
    ['a web page', raw('<html>', 'text/html'), 502, 'ProviderMalformed', 1, /with a web page/],
    ['nothing', (_call, response) => void response.writeHead(204).end(), 502, 'ProviderMalformed', 2, /without a body \(status 204\)/],
  ])('is read as what it is: %s', async (_what, script, status, code, asked, words) => {
    provider.play(script);
    const { status: given, error } = await stage.stream();
    expect([given, error?.code, provider.calls.length]).toEqual([status, code, asked]);
    expect(error?.message).toMatch(words);
  });

  it('is charged with its usage where it is a whole answer', async () => {
    provider.play(refuse(200, whole));
    expect((await stage.stream()).chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 20 });
  });
});
