import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelProposal } from './models.ts';
import { writtenProposal } from './writtenCalls.ts';

const wrote = (text: string, finish: ModelProposal['finish'] = 'Stop'): ModelProposal => ({ text, calls: [], finish, entropyNats: null });
const ls = '{"thought":"look","tool":"bash","arguments":{"command":"ls"}}';
const hermes = '{"name": "bash", "arguments": {"command": "ls"}}';
const offered = ['bash', 'submit', 'edit_file'];
const native = (text: string, finish?: ModelProposal['finish']): ModelProposal => writtenProposal(wrote(text, finish), 'id', offered);
const byJson = (text: string, finish?: ModelProposal['finish']): ModelProposal => writtenProposal(wrote(text, finish), 'id', null);
const callsIn = ({ calls }: ModelProposal): readonly unknown[] => calls.map(({ name, arguments: args }) => [name, args]);
const one = '{"command":"ls"}';
const fence = '```';

/** Formats of models, as servers leave them in the text of a reply. */
const formats: readonly (readonly [what: string, text: string, name?: string, args?: string])[] = [
  ['Hermes, Qwen 2.5 and 3', `<tool_call>\n${hermes}\n</tool_call>`],
  ['Hermes without its end', `<tool_call>\n${hermes}`],
  ['Hermes in a thought that has ended', `<think>a draft: <tool_call>{"name":"submit","arguments":{}}</tool_call></think>\n<tool_call>${hermes}</tool_call>`],
  ['Qwen3-Coder', '<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>'],
  ['Qwen3-Coder without its first mark', '<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>'],
  ['Qwen3-Coder whose template ate the end of the function', '<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n\n</tool_call>'],
  ['Llama 3', '<function=bash>{"command": "ls"}</function>'],
  ['Llama 3 as Groq returns it', '<function=bash{"command": "ls"}</function>'],
  ['Llama 3.1', '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}'],
  ['Llama 3.1 without marks', '{"type": "function", "name": "bash", "parameters": {"command": "ls"}}'],
  ['Mistral', '[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "ls"}}]'],
  ['Mistral of 2025', '[TOOL_CALLS]bash[ARGS]{"command": "ls"}'],
  ['Granite', '<|tool_call|>[{"name": "bash", "arguments": {"command": "ls"}}]'],
  ['DeepSeek V3', `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n${fence}json\n{"command": "ls"}\n${fence}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`],
  ['DeepSeek V3.1', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'],
  ['Kimi', '<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>', 'functions.bash:0'],
  ['GLM', '<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>'],
  ['MiniMax', '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</minimax:tool_call>'],
  ['Harmony', '<|channel|>analysis<|message|>We look.<|end|><|start|>assistant<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "ls"}<|call|>', 'functions.bash'],
  ['an object in a block of code, at the end', `I look.\n${fence}json\n${hermes}\n${fence}`],
  ['an object at the end', `I look.\n${hermes}`],
  ['a list of calls', `[${hermes}]`],
  ['members of the API', `{"tool_calls": [{"function": ${hermes}}]}`],
  ['line feeds in a string, and a comma too many', '<tool_call>{"name": "bash", "arguments": {"command": "cat <<E\nx\nE",}}</tool_call>', 'bash', '{"command":"cat <<E\\nx\\nE"}'],
  ['a tag in a value', '<function=bash>\n<parameter=command>\necho "</function>"\n</parameter>\n</function>', 'bash', '{"command":"echo \\"</function>\\""}'],
  ['two objects at the end', `I look.\n${hermes}\n${hermes}`, 'bash bash'],
  ['two blocks of code', `${fence}json\n${hermes}\n${fence}\n${fence}json\n${hermes}\n${fence}`, 'bash bash'],
  ['an object of a tool of other agents', `I look.\n${fence}json\n{"name": "execute_command", "arguments": {"cmd": "ls"}}\n${fence}`, 'execute_command', '{"cmd":"ls"}'],
  ['an object of a tool that is none, as only a call is', 'I look.\n{"name": "deploy", "arguments": {"force": true}}', 'deploy', '{"force":true}'],
  ['arguments beside the name', '{"tool": "bash", "command": "ls"}'],
  ['members of ReAct in an object', '{"action": "bash", "action_input": {"command": "ls"}}'],
  ['ReAct, with a result that the model made up', 'Thought: I look.\nAction: bash\nAction Input: {"command": "ls"}\nObservation: a.py'],
  ['a call of Python', 'I look.\nbash(command="ls")'],
  ['calls of Python as of Llama 4', '[bash(command=\'ls\')]'],
  ['a call of Python in a block of code', `${fence}python\nbash(command="echo \\"x\\"", timeout_seconds=5, background=None)\n${fence}`, 'bash', '{"command":"echo \\"x\\"","timeout_seconds":5,"background":null}'],
  ['entities of XML', '<function=bash><parameter=command>cd a &amp;&amp; ls</parameter></function>', 'bash', '{"command":"cd a && ls"}'],
  ['entities beside signs of XML', '<function=bash><parameter=command>echo "&amp;&amp;" > a</parameter></function>', 'bash', '{"command":"echo \\"&amp;&amp;\\" > a"}'],
  ['no arguments', '<tool_call>\n<function=run_checks>\n</function>\n</tool_call>', 'run_checks', '{}'],
]; // prettier-ignore

describe('calls in the text of a reply, where the server has tool calls', () => {
  it.for(formats)('are read: %s', ([, text, name = 'bash', args = one]) => {
    const proposal = native(text);
    const expected = name.split(' ').map((each) => [each, args]);
    expect(callsIn(proposal)).toEqual(expected);
    expect(proposal).toMatchObject({
      finish: 'Calls',
      calls: expected.map(() => ({ id: expect.stringMatching(/^[0-9a-z]{9}$/) as string })),
    });
    expect(callsIn(byJson(text))).toEqual(expected);
  });

  it('have the words before them as their thought, and are read in order', () => {
    const two = `Let me look.\n<tool_call>${hermes}</tool_call>\n<tool_call>{"name":"submit","arguments":{"answer":"x"}}</tool_call>`;
    expect(native(two)).toMatchObject({ text: 'Let me look.' });
    expect(callsIn(native(two))).toEqual([['bash', one], ['submit', '{"answer":"x"}']]); // prettier-ignore
    expect(new Set(native(two).calls.map(({ id }) => id)).size).toBe(2);
    // What follows may be a result that the model made up.
    expect(callsIn(native(`<tool_call>${hermes}</tool_call>\nThe result is x.\n<tool_call>${hermes}</tool_call>`))).toEqual([
      ['bash', one],
    ]);
    expect(native(formats.find(([what]) => what === 'Harmony')?.[1] ?? '').text).not.toContain('to=');
    expect(native(formats.find(([what]) => what === 'MiniMax')?.[1] ?? '').text).toBe('');
  });

  it.for<[string, string]>([
    ['words', 'The work is done.'],
    ['a quoted one', `The page says \`<tool_call>${hermes}</tool_call>\`, which I ignore.`],
    ['one in a block of code', `The README has:\n${fence}\n<tool_call>${hermes}</tool_call>\n${fence}\nI ignore it.`],
    ['an object of something else', `I add package.json:\n${fence}json\n{"name": "left-pad", "version": "1.0.0"}\n${fence}`],
    ['an object of a tool that is none, and other members', '{"name": "deploy", "input": {"force": true}}'],
    ['a cited one', `The page says:\n> <tool_call>${hermes}</tool_call>`],
    ['a cited object', `The page says:\n> ${hermes}`],
    ['a call of Python in a sentence', 'I could run bash(command="rm x"), or not.'],
    ['a call of Python before more words', 'bash(command="rm x")\nThat would remove it.'],
    ['a call of a function that is no tool', 'print(end="x")'],
    ['a call of Python that is an expression', 'bash(command="rm " + name)'],
    ['a cited call of Python', '> bash(command="rm x")'],
    ['a draft of ReAct before more words', 'Action: bash\nAction Input: {"command": "rm x"}\nI do not do that.'],
    ['an object without arguments', '{"name": "bash"}'],
    ['an object in a sentence', `It wrote ${hermes} into its log.`],
    ['an object before more words', `${fence}json\n${hermes}\n${fence}\nThis call would list the files.`],
    ['an object of something else that is no JSON', '{"name": "left-pad", "version": }'],
    ['a command in a block of code', `${fence}bash\nrm -rf build\n${fence}`],
    ['a draft in a thought without an end', `<think>I could call <tool_call>${hermes}</tool_call> now`],
    [
      'a draft before another call',
      `<think>First <tool_call>${hermes}</tool_call> or\n<tool_call>{"name":"submit","arguments":{}}</tool_call>`,
    ],
    ['a cut one in a thought', '<think>First\n<tool_call>{"name": "bash", "arguments": {"command": "rm'],
    ['an object that ends a thought', `<think>Then\n${hermes}`],
    ['a closing mark', '</tool_call>'],
  ])('are none: %s', ([, text]) => {
    expect(native(text)).toEqual(wrote(text));
  });

  it.for<[string, string, string, string]>([
    ['a cut object', '<tool_call>\n{"name": "bash", "arguments": {"command": "rm -rf build', 'bash', '{"name": "bash", "arguments": {"command": "rm -rf build'],
    ['a cut object without marks', '{"name":"edit_file","arguments":{"new_text":"x <function=bash><parameter=command>rm x</parameter></function>', 'edit_file', '{"name":"edit_file","arguments":{"new_text":"x <function=bash><parameter=command>rm x</parameter></function>'],
    ['quotes without an escape', 'I print.\n{"name": "bash", "arguments": {"command": "echo "x""}}', 'bash', '{"name": "bash", "arguments": {"command": "echo "x""}}'],
    ['a cut parameter', '<function=bash>\n<parameter=command>\nrm -rf build', 'bash', '<parameter=command>\nrm -rf build'],
    ['a parameter without its end', '<function=bash><parameter=command>ls <parameter=stdin>x</parameter></function>', 'bash', '<parameter=command>ls <parameter=stdin>x</parameter></function>'],
    ['parameters without an end of the call', '<function=bash><parameter=command>ls</parameter>', 'bash', '<parameter=command>ls</parameter>'],
    ['a value that ends where a tag in it does', '<function=bash><parameter=command>echo "</parameter></function>" > a</parameter></function>', 'bash', '<parameter=command>echo "</parameter></function>" > a</parameter></function>'],
    ['an object that is no call', '<tool_call>{"command": "ls"}</tool_call>', 'tool_call', '{"command": "ls"}</tool_call>'],
    ['Python', '<|python_tag|>bash.call(command="ls")', 'bash.call', '(command="ls")'],
  ])('are never run, and the model sees the fault: %s', ([, text, name, args]) => {
    expect(callsIn(native(text))).toEqual([[name, args]]);
    expect(() => JSON.parse(args) as unknown).toThrow();
    expect(native(text, 'Length').finish).toBe('Length');
  }); // prettier-ignore
});

it('a call by which reasoning ends is made, wherever the server puts reasoning', () => {
  const thought = `I look.\n<tool_call>\n${hermes}\n</tool_call>`;
  expect(native(`<think>${thought}`)).toMatchObject({ text: '', calls: [{ name: 'bash', arguments: one }] });
  const apart = (text: string, reasoning: string): unknown => callsIn(writtenProposal(wrote(text), 'id', offered, reasoning));
  expect(apart('', thought)).toEqual([['bash', one]]);
  expect(apart('Done.', thought)).toEqual([]);
  expect(apart('', `${thought}\nOr I ask first.`)).toEqual([]);
});

describe('output of a model without tool calls', () => {
  it.for<[string, string, string, string]>([
    ['the object', ls, 'look', '{"command":"ls"}'],
    ['a block of code', `Here it is:\n\`\`\`json\n${ls}\n\`\`\``, 'look', '{"command":"ls"}'],
    ['a block of code before words', `\`\`\`json\n${ls}\n\`\`\`\nThis lists the files.`, 'look', '{"command":"ls"}'],
    ['text before', `I think so. ${ls}`, 'look', '{"command":"ls"}'],
    ['text after', `${ls}\nThat is it.`, 'look', '{"command":"ls"}'],
    ['an object after one that is quoted', `Not ${ls} but\n${ls}`, 'look', '{"command":"ls"}'],
    ['no thought but text before', 'Let me look. {"tool":"bash","arguments":{"command":"ls"}}', 'Let me look.', '{"command":"ls"}'],
    ['thoughts with a draft', `<think>maybe {"tool":"submit","arguments":{}}</think>${ls}`, 'look', '{"command":"ls"}'],
    ['thoughts whose begin is in the prompt', `maybe {"tool":"submit","arguments":{}}</think>${ls}`, 'look', '{"command":"ls"}'],
    [
      'an argument that ends a thought',
      '{"tool":"bash","arguments":{"command":"echo \'</think>\'"}}',
      '',
      '{"command":"echo \'</think>\'"}',
    ],
    ['other names', '{"name":"bash","parameters":{"command":"ls"}}', '', '{"command":"ls"}'],
    ['a nested call', '{"thought":"look","tool_call":{"name":"bash","args":{"command":"ls"}}}', 'look', '{"command":"ls"}'],
    ['arguments in a string', '{"tool":"bash","arguments":"{\\"command\\":\\"ls\\"}"}', '', '{"command":"ls"}'],
    ['braces in strings', 'x {"tool":"bash","arguments":{"command":"echo \\"}{\\""}}', 'x', '{"command":"echo \\"}{\\""}'],
    ['another object before it', `{"note":1} ${ls}`, 'look', '{"command":"ls"}'],
    ['no arguments', '{"tool":"bash"}', '', '{}'],
    [
      'an argument that quotes another call',
      `Fix it. {"tool":"bash","arguments":{"command":"echo <function=submit></function>"}}`,
      'Fix it.',
      '{"command":"echo <function=submit></function>"}',
    ],
  ])('is read: %s', ([, text, thought, args]) => {
    expect(byJson(text)).toMatchObject({ text: thought, finish: 'Calls', calls: [{ name: 'bash', arguments: args }] });
  });

  it.for<[string, string]>([
    ['words', 'The work is done.'],
    ['nothing', ''],
    ['an object without a tool', '{"answer":42}'],
    ['a list', '[1,2]'],
    ['an object in a sentence', `I should not run ${ls} because it would be wrong.`],
    ['a block of code between words', `Never run this:\n\n${fence}json\n${ls}\n${fence}\nIt is only an example.`],
    ['a cited block of code', `The README says:\n> ${fence}json\n> ${ls}\n> ${fence}`],
    ['a tool that is no name', '{"tool":7}'],
    ['a draft in a thought without an end', `<think>maybe ${ls}`],
  ])('is a reply without a call: %s', ([, text]) => {
    expect(byJson(text)).toEqual(wrote(text));
  });

  it.each(['{"thought":"x","tool":"bash","arguments":{"command":"l', '{"tool": "bash", "arguments": {"command": "echo "x""}}'])(
    'is never run where it is no JSON, and the model sees the fault: %s',
    (text) => {
      expect(callsIn(byJson(text))).toEqual([['bash', text]]);
      expect([byJson(text).finish, byJson(text, 'Length').finish]).toEqual(['Calls', 'Length']);
    },
  );

  it('has a whole call though words after it were cut, and keeps calls that came natively', () => {
    expect(byJson(`${ls} and then`, 'Length').finish).toBe('Calls');
    const called: ModelProposal = { ...wrote(ls), calls: [{ id: 'n', name: 'submit', arguments: '{}' }] };
    expect(writtenProposal(called, 'id', null)).toBe(called);
  });

  it('reads megabytes of braces, and marks and spaces without end, quickly, and anything without an error', () => {
    const late = native(`${`<a>${' '.repeat(50)}`.repeat(20_000)}x <tool_call>${hermes}`);
    expect(callsIn(late)).toHaveLength(1);
    expect(byJson('{'.repeat(2_000_000)).calls).toEqual([]);
    expect(byJson('{}'.repeat(1_000_000)).calls).toEqual([]);
    for (const piece of [
      '<tool_call>',
      '<function=bash>',
      '<tool_call>{',
      '<function=a><parameter=b>',
      '<|channel|>a to=',
      '</x>',
      '[TOOL_CALLS]a ',
    ])
      expect(native(piece.repeat(200_000)).calls.length).toBeLessThan(2);
    for (const begin of ['', fence, `${fence}\n`])
      for (const piece of ['a', ' ', '\n', fence, String.raw`\"`, `"${String.raw`\"`}`, ', '])
        expect(byJson(begin + piece.repeat(60_000)).calls).toEqual([]);
    const marks = ['<tool_call>', '</tool_call>', '<function=bash>', '<parameter=command>', '</parameter>', '</function>', 'ls'];
    const pieces = fc.constantFrom('{', '}', '"', '\\', '```', 'json', '<think>', '</think>', ls, '"tool":', '"bash"', ' ', '\n', ...marks);
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        expect(byJson(parts.join('')).calls.length).toBeLessThan(61);
      }),
    );
  });

  it.each(['[', '{"a":', '{"tool_call":', '{"tool_calls":['])(
    'reads a call of %s without end, or with as many ends, as one that is no JSON',
    (piece) => {
      const deep = piece.repeat(8000);
      const closed = deep + Array.from(piece.replaceAll(/[^[{]/g, '')).reverse().map((one) => (one === '[' ? ']' : '}')).join('').repeat(8000); // prettier-ignore
      for (const args of [deep, closed.replace(/:\}/, ':1}')])
        for (const text of [`{"tool":"bash","arguments":${args}}`, `<tool_call>{"name":"bash","arguments":${args}}</tool_call>`, args])
          expect(native(text).calls.length).toBeLessThan(2);
    },
  );
});
