import { toolDefinition } from '@agentfleet/protocol/chat';
import { describe, expect, it } from 'vitest';
import { argumentReader } from './arguments.ts';

const read = (tool: string, args: unknown): unknown =>
  argumentReader({ definition: toolDefinition(tool) })(typeof args === 'string' ? args : JSON.stringify(args));
const path = 'a.py';

describe('arguments as models write them', () => {
  it.each<readonly [what: string, tool: string, args: unknown, read: object]>([
    ['as they should', 'bash', { command: 'ls' }, { command: 'ls' }],
    ['nothing, where nothing is needed', 'run_checks', '', {}],
    ['encoded twice', 'bash', JSON.stringify('{"command":"ls"}'), { command: 'ls' }],
    ['line feeds and tabs in strings', 'bash', '{"command":"a\n\tb \\" c"}', { command: 'a\n\tb " c' }],
    ['a comma too many', 'run_checks', '{"names":["a",],}', { names: ['a'] }],
    ['numbers in quotes', 'read_file', { path, from_line: '3' }, { path, from_line: 3 }],
    ['truth as Python writes it', 'edit_file', { path, new_text: 'x', all: 'True' }, { path, new_text: 'x', all: true }],
    ['no as a text', 'submit', { answer: 'x', unreachable: 'false' }, { answer: 'x', unreachable: false }],
    ['a list as JSON text', 'run_checks', { names: '["unit"]' }, { names: ['unit'] }],
    ['one text for a list', 'run_checks', { names: 'unit' }, { names: ['unit'] }],
    ['fields that are absent as null', 'bash', { command: 'ls', stdin: null, background: null }, { command: 'ls' }],
    ['fields that are absent as empty text', 'read_file', { path, handle: '' }, { path }],
    ['a name that is absent as empty text', 'bash', { command: 'ls', background: '' }, { command: 'ls' }],
    ['other names of other agents', 'search', { query: 'a', file: path }, { pattern: 'a', path }],
    ['names of other agents', 'edit_file', { file_path: path, old_string: 'a', new_string: '', replace_all: false }, { path, old_text: 'a', new_text: '', all: false }],
    ['names in camel case', 'edit_file', { filePath: path, oldString: 'a', newString: 'b' }, { path, old_text: 'a', new_text: 'b' }],
    ['the content of a new file', 'edit_file', { path, content: 'x' }, { path, new_text: 'x' }],
    ['a short name of a command', 'bash', { cmd: 'ls' }, { command: 'ls' }],
    ['an empty text that means something', 'edit_file', { path, old_text: '', new_text: '' }, { path, old_text: '', new_text: '' }],
  ])('are read: %s', (_, tool, args, expected) => {
    expect(read(tool, args)).toEqual(expected);
  }); // prettier-ignore

  it.each<readonly [what: string, tool: string, args: unknown, fault: RegExp]>([
    ['Python', 'bash', "{'command': 'ls'}", /^the arguments of bash are not JSON: .*; send one JSON object, with quotes, backslashes and line feeds inside of strings escaped$/],
    ['a cut command', 'bash', '{"command": "rm -rf build', /they end in the middle, after 25 characters; send less in one call/],
    ['two objects', 'bash', '{"command":"a"}{"command":"b"}', /not JSON: .*after JSON at position 15.*; send one JSON object/],
    ['an escape that is none', 'bash', String.raw`{"command":"grep \'x\' a"}`, /not JSON: Bad escaped character.* \(at …\{"command":"grep \\'x.*…\); .* backslashes/],
    ['tags', 'bash', '<parameter=command>\nls', /^the arguments of bash are not JSON: they are tags that do not end/],
    ['an empty text that is needed', 'search', { pattern: '' }, /^pattern: "" came; a string that is not empty, at most 1024 characters is expected$/],
    ['a command as a list of words', 'bash', { command: ['bash', '-lc', 'ls'] }, /^command: \["bash","-lc","ls"\] came; a string/],
    ['an object in place of a text', 'edit_file', { path, new_text: { a: 1 } }, /^new_text: \{"a":1\} came; a string is expected$/],
    ['a number below the first', 'read_file', { path, to_line: -1 }, /^to_line: -1 came; an integer from 1 on is expected$/],
    ['two other names of one', 'edit_file', { file_path: path, filepath: 'b.py', new_text: '' }, /^filepath: unknown; edit_file takes/],
    ['both of two names', 'bash', { cmd: 'ls', command: 'pwd' }, /^cmd: unknown; bash takes: command/],
    ['a field that would change the act', 'bash', { command: 'ls', dry_run: true }, /^dry_run: unknown; bash takes: command, timeout_seconds, background, stdin$/],
    ['an empty text that could be meant', 'edit_file', { path: '', new_text: 'x' }, /^path: "" came; a string that is not empty/],
    ['lists in lists without end', 'bash', '['.repeat(9000) + ']'.repeat(9000), /^the arguments of bash are nested too deeply; send one flat JSON object$/],
    ['what was not parsed before', 'bash', { unparsed: '{"comm' }, /command: missing|unparsed: unknown/],
  ])('are refused, with the fault and the cure: %s', (_, tool, args, fault) => {
    expect(() => read(tool, args)).toThrow(fault);
  }); // prettier-ignore

  it('leaves those of a tool that validates them itself', () => {
    const args = '{"cmd":null,"list":"[1]","text":""}';
    expect(argumentReader({ definition: toolDefinition('bash'), validates: false })(args)).toEqual(JSON.parse(args));
  });
});
