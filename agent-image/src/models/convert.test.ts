import { bashDefinition, commandShells, toolDefinitions, type ChatCompletion, type ConversationMessage } from '@agentfleet/protocol/chat';
import { describe, expect, it } from 'vitest';
import { named, proposalOf, surpriseOf, usageOf, wireMessages, wireTools } from './convert.ts';

const call = (id: string, args = '{"a":1}') => ({ id, name: 'bash', arguments: args });
const wireCall = (id: string, args = '{"a":1}') => ({ id, type: 'function' as const, function: { name: 'bash', arguments: args } });
const ownId = expect.stringMatching(/^[0-9a-f]{9}$/) as string;
const said = (text: string, ...ids: string[]): ConversationMessage => ({ role: 'Assistant', text, calls: ids.map((id) => call(id)) });
const result = (callId: string, text = 'ok'): ConversationMessage => ({ role: 'Tool', callId, name: 'bash', text });
const notice = (text: string): ConversationMessage => ({ role: 'User', origin: 'Notice', text });

describe('a conversation on the wire', () => {
  it.for<[string, ConversationMessage[], unknown[]]>([
    [
      'has its roles',
      [{ role: 'System', text: 's' }, { role: 'User', origin: 'Goal', text: 'g' }, said('t')],
      [
        { role: 'system', content: 's' },
        { role: 'user', content: 'g' },
        { role: 'assistant', content: 't' },
      ],
    ],
    [
      'keeps several results behind their calls, in order',
      [said('', '1', '2'), result('1', 'x'), result('2', 'y')],
      [
        { role: 'assistant', content: null, tool_calls: [wireCall('1'), wireCall('2')] },
        { role: 'tool', tool_call_id: '1', content: 'x' },
        { role: 'tool', tool_call_id: '2', content: 'y' },
      ],
    ],
    [
      'moves a notice behind the results of a reply',
      [said('t', '1', '2'), result('1'), notice('n'), result('2', '')],
      [
        { role: 'assistant', content: 't', tool_calls: [wireCall('1'), wireCall('2')] },
        { role: 'tool', tool_call_id: '1', content: 'ok' },
        { role: 'tool', tool_call_id: '2', content: '(no output)' },
        { role: 'user', content: 'n' },
      ],
    ],
    [
      'leaves out calls without a result, with the state that was signed for them',
      [{ ...said('t', '1', '2'), providerState: { s: 1 } } as ConversationMessage, result('1'), said('', '3'), said('u')],
      [
        { role: 'assistant', content: 't', tool_calls: [wireCall('1')] },
        { role: 'tool', tool_call_id: '1', content: 'ok' },
        { role: 'assistant', content: 'u' },
      ],
    ],
    ['leaves out results without a call', [result('9'), said('t'), result('8')], [{ role: 'assistant', content: 't' }]],
    ['makes one of neighbours of the role user', [notice('a'), notice('b')], [{ role: 'user', content: 'a\n\nb' }]],
    [
      'gives the state of the provider back',
      [{ ...said('t'), providerState: { signed: 'x' } } as ConversationMessage],
      [{ role: 'assistant', content: 't', provider_state: { signed: 'x' } }],
    ],
    [
      'wraps arguments that are no object',
      [{ role: 'Assistant', text: '', calls: [call('1', '{"a":'), call('2', '[1]')] }, result('1'), result('2')],
      [
        { role: 'assistant', content: null, tool_calls: [wireCall('1', '{"unparsed":"{\\"a\\":"}'), wireCall('2', '{"unparsed":"[1]"}')] },
        { role: 'tool', tool_call_id: '1', content: 'ok' },
        { role: 'tool', tool_call_id: '2', content: 'ok' },
      ],
    ],
    [
      'has the arguments of a call as they were read, and a name that servers take',
      [
        {
          role: 'Assistant',
          text: '',
          calls: [{ ...call('1', JSON.stringify('{"a":1}')), name: 'tool.bash' }, call('2', '{"a":"1\n2",}')],
        },
        result('1'),
        result('2'),
      ],
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...wireCall('1'), function: { name: 'tool_bash', arguments: '{"a":1}' } }, wireCall('2', '{"a":"1\\n2"}')],
        },
        { role: 'tool', tool_call_id: '1', content: 'ok' },
        { role: 'tool', tool_call_id: '2', content: 'ok' },
      ],
    ],
    [
      'pairs results with the calls of their own reply, where ids come again',
      [said('a', '0'), result('0', 'x'), said('b', '0'), result('0', 'y')],
      [
        { role: 'assistant', content: 'a', tool_calls: [wireCall('0')] },
        { role: 'tool', tool_call_id: '0', content: 'x' },
        { role: 'assistant', content: 'b', tool_calls: [wireCall('0')] },
        { role: 'tool', tool_call_id: '0', content: 'y' },
      ],
    ],
  ])('%s', ([, messages, wire]) => {
    expect(wireMessages(messages)).toEqual(wire);
  });
});

type Choice = ChatCompletion['choices'][number];
const choice = (message: Partial<Choice['message']>, change: Partial<Choice> = {}): Choice => ({
  index: 0,
  message: { role: 'assistant', ...message },
  ...change,
});

describe('an answer of a model', () => {
  it.for<[string, Choice, object]>([
    ['words', choice({ content: 'x' }, { finish_reason: 'stop' }), { text: 'x', calls: [], finish: 'Stop', entropyNats: null }],
    [
      'words in parts',
      choice({ content: [{ type: 'text', text: 'x' }, { type: 'image' }, { type: 'text', text: 'y' }] } as object),
      { text: 'xy' },
    ],
    ['nothing', choice({ content: null }), { text: '', calls: [], finish: 'Stop' }],
    [
      'calls',
      choice({ content: '', tool_calls: [wireCall('1')] }, { finish_reason: 'tool_calls' }),
      { calls: [call('1')], finish: 'Calls' },
    ],
    ['calls that it ends with stop', choice({ tool_calls: [wireCall('1')] }, { finish_reason: 'stop' }), { finish: 'Calls' }],
    [
      'a cut answer',
      choice({ tool_calls: [wireCall('1', '{"a')] }, { finish_reason: 'length' }),
      { calls: [call('1', '{"a')], finish: 'Length' },
    ],
    ['what a filter ended', choice({ content: '' }, { finish_reason: 'content_filter' }), { finish: 'Filter' }],
    ['a refusal', choice({ content: null, refusal: 'I cannot' } as object), { text: 'I cannot' }],
    ['state', choice({ content: 'x', provider_state: { s: 1 } }), { providerState: { s: 1 } }],
    [
      'equal and empty ids',
      choice({ tool_calls: [wireCall('1'), wireCall('1'), wireCall('')] }),
      { calls: ['1', ownId, ownId].map((id) => call(id)) },
    ],
  ])('is read: %s', ([, given, proposal]) => {
    expect(proposalOf(given, 'r')).toMatchObject(proposal);
  });

  it.for<[string, readonly number[], number | null]>([
    ['none', [], null],
    ['only zeros', [0, 0], null],
    ['some', [-1, -3, 0, 0], 1],
    ['an impossible token', [-9999, 0], 10],
    ['a positive one', [0.5, -2], 1],
  ])('has a mean surprise: %s', ([, logprobs, mean]) => {
    expect(surpriseOf(logprobs.map((logprob) => ({ logprob })))).toBe(mean);
  });

  const request = { messages: [{ role: 'System' as const, text: 's'.repeat(3000) }], tools: [] };
  it.for<[string, unknown, object]>([
    [
      'is reported',
      { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 8 } },
      { input: 10, cachedInput: 8, output: 2, estimated: false },
    ],
    ['has no details', { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: null }, { cachedInput: 0 }],
    ['was estimated by the gateway', { prompt_tokens: 10, completion_tokens: 2, estimated: true }, { input: 10, estimated: true }],
    [
      'has more cached than there is',
      { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 80 } },
      { cachedInput: 10 },
    ],
  ])('has a usage that %s', ([, usage, expected]) => {
    expect(usageOf(request, { choices: [choice({ content: 'x' })], usage } as ChatCompletion)).toMatchObject(expected);
  });

  it.for([undefined, null, { prompt_tokens: 0, completion_tokens: 0 }])('estimates a usage of %o', (usage) => {
    const used = usageOf(request, { choices: [choice({ content: 'x'.repeat(300) })], usage } as ChatCompletion);
    expect(used.estimated).toBe(true);
    expect(used.input).toBeGreaterThan(1000);
    expect(used.output).toBeGreaterThan(100);
  });
});

it('sends definitions of tools that cost no more than they may in each request, tokens of four characters', () => {
  for (const shell of commandShells) {
    const sent = JSON.stringify(wireTools([bashDefinition(shell), ...toolDefinitions.slice(1)]));
    expect(sent.length / 4).toBeLessThanOrEqual(1050);
  }
});

it('sends schemas of tools without bounds that a model needs not read', () => {
  const some = { type: 'string', minLength: 1, maxLength: 9, description: 'd' };
  const parameters = {
    type: 'object',
    properties: {
      minLength: some,
      list: { type: 'array', maxItems: 2, items: some },
      n: { type: 'integer', minimum: 1, maximum: 600 },
      either: { anyOf: [some, { type: 'null' }], default: { maxLength: 1 } },
      map: { type: 'object', additionalProperties: some },
    },
    required: ['n'],
    additionalProperties: false,
    $defs: { maxLength: some },
  };
  const brief = { type: 'string', description: 'd' };
  expect(wireTools([{ name: 't', description: 'Does.', parameters, risk: 'Read' }])[0]?.function.parameters).toEqual({
    type: 'object',
    properties: {
      minLength: brief,
      list: { type: 'array', items: brief },
      n: { type: 'integer', maximum: 600 },
      either: { anyOf: [brief, { type: 'null' }], default: { maxLength: 1 } },
      map: { type: 'object', additionalProperties: brief },
    },
    required: ['n'],
    $defs: { maxLength: brief },
  });
});

it.for<[string, string]>([
  ['bash', 'bash'],
  ['Bash', 'bash'],
  [' bash\n', 'bash'],
  ['functions.bash', 'bash'],
  ['functions.bash:0', 'bash'],
  ['bash<|channel|>commentary', 'bash'],
  ['execute_bash', 'bash'],
  ['executeCommand', 'bash'],
  ['attempt_completion', 'submit'],
  ['read_file', 'read_file'],
  ['deploy_bash', 'deploy_bash'],
  ['bash.submit', 'bash.submit'],
])('a call of %s is one of %s', ([given, name]) => {
  const proposal = { text: '', calls: [{ ...call('1'), name: given }], finish: 'Calls', entropyNats: null } as const;
  expect(named(proposal, ['bash', 'submit']).calls[0]?.name).toBe(name);
});
