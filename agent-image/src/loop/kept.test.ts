import { describe, expect, it } from 'vitest';
import { keptReply, keptResult, repeatedIn } from './kept.ts';

const story = Array.from({ length: 300 }, (_, n) => `Then I look at file ${n * 7919} of the project.`).join(' ');
const code = Array.from({ length: 120 }, (_, n) => `  if (kind === ${n}) return names[${n}];\n`).join('');
const sorted = (text: string): string => text.split('').sort().join('');
const line = 'I have to look at the file again, and then at the test. ';

it.each<readonly [what: string, text: string, part: string | null]>([
  ['a line', `I begin. ${line.repeat(200)}I have to`, line],
  ['a character', `I begin. ${'!'.repeat(3000)}`, '!'],
  ['a part of several lines', `I begin.\n${'a: 1\nb: 2\nc: 3\n'.repeat(400)}a: 1\nb`, 'a: 1\nb: 2\nc: 3\n'],
  ['nothing in a story', story, null],
  ['nothing in lines that are alike', code, null],
  ['nothing in an end that is a rule', `${story}\n${'-'.repeat(80)}`, null],
  ['nothing in no text', '', null],
])('a text may repeat %s', (_, text, part) => {
  const found = repeatedIn(text);
  expect(found === null ? null : sorted(found.part)).toBe(part === null ? null : sorted(part));
});

describe('a reply', () => {
  const reply = (text: string, finish: 'Length' | 'Stop' = 'Length', calls: readonly never[] = []) =>
    keptReply({ text, finish, calls, entropyNats: null }).text;

  it('that was cut off before a call stays in short', () => {
    expect(reply(`I begin. ${line.repeat(300)}`)).toMatch(/^I begin\. .{40,120}\n\[… the same again and again, cut off …\]$/);
    expect(reply(line.repeat(300), 'Stop')).toMatch(/again and again, cut off …\]$/);
    expect(reply(story)).toMatch(/^Then I look at file 0 [^]*are not shown; cut off before a call …\][^]*project\.$/);
    expect(reply(story).length).toBeLessThan(1800);
  });

  it('that was cut off in the middle of a call keeps no repetition of it, unless a signature covers it', () => {
    const calls = [{ id: 'c', name: 'edit_file', arguments: `{"path":"a.py","new_text":"${line.repeat(300)}` }];
    const cut = { text: '', finish: 'Length', calls, entropyNats: null } as const;
    expect(keptReply(cut).calls).toEqual([
      {
        id: 'c',
        name: 'edit_file',
        arguments: expect.stringMatching(/^\{"unparsed":"\{.{60,200}again and again, cut off …\]"\}$/) as string,
      },
    ]);
    expect(keptReply({ ...cut, providerState: 's' }).calls).toEqual(calls);
    expect(
      keptReply({ ...cut, calls: [{ id: 'c', name: 'edit_file', arguments: `{"new_text":"${story}` }] }).calls[0]?.arguments,
    ).toContain(story);
  });

  it('that ended by itself, or that is short, stays as it is', () => {
    expect(reply(story, 'Stop')).toBe(story);
    expect(reply(line.repeat(20), 'Stop')).toBe(line.repeat(20));
    expect(reply(line)).toBe(line);
  });
});

describe('a result', () => {
  const call = { id: 'c', name: 'bash', arguments: '{"command":"cat a"}' };
  const result = { call, text: story, handle: 'out-4.0', step: 4 };
  const before = { ...result, handle: 'out-2.0', step: 2 };

  it.each<readonly [what: string, was: object, now: object, named: boolean]>([
    ['is named where the same call had it', {}, {}, true],
    ['is shown where it is another', { text: `${story} ` }, {}, false],
    ['is shown where another call had it', { call: { ...call, arguments: '{"command":"cat b"}' } }, {}, false],
    ['is shown where that is long ago', { step: 0 }, {}, false],
    ['is shown where it is short', { text: 'ok' }, { text: 'ok' }, false],
  ])('%s', (_, was, now, named) => {
    const shown = keptResult({ ...result, ...now }, [{ ...before, ...was }]);
    expect(shown.startsWith('[the same as out-2.0, ')).toBe(named);
  });
});
