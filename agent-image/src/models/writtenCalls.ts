import { fieldsOf, textOf } from '@agentfleet/protocol/text';
import { looseJson } from '../base/text.ts';
import { callId, offeredName } from './convert.ts';
import type { ModelProposal } from './models.ts';

/** A call in a text. Its arguments are no JSON where it ends in the middle. */
interface Written {
  readonly name: string;
  readonly arguments: string;
}

/** The calls of a text, and the words before them. */
interface Found {
  readonly thought: string;
  readonly calls: readonly Written[];
  /** The last one cannot be read. */
  readonly broken: boolean;
  /** Nothing follows them. */
  readonly last: boolean;
}

/**
 * Reads calls that a model wrote as text: by the marks of the formats that models are trained on, where their server left them; else as a JSON
 * object that names a tool. Of a call that cannot be read its text becomes the arguments, so that the model gets to see the fault.
 *
 * @param id names the calls
 * @param reasoning what the model thought, where the server tells it apart
 * @param offered names of the tools that an object without marks may call, as the end of a reply; null: of the Json protocol, where an
 * object anywhere calls any tool
 */
export function writtenProposal(proposal: ModelProposal, id: string, offered: readonly string[] | null, reasoning = ''): ModelProposal {
  if (proposal.calls.length > 0) return proposal;
  const said = spoken(proposal.text);
  const thought = unended.test(said) ? said : proposal.text === '' ? reasoning : '';
  const found = thought === '' ? (marked(said) ?? bare(said, offered)) : lastOf(thought);
  if (found === null) return proposal;
  const finish = found.broken && proposal.finish !== 'Stop' ? proposal.finish : 'Calls';
  const calls = found.calls.map((call, at) => ({ id: callId(`${id} ${at}`), name: call.name, arguments: call.arguments || '{}' }));
  return { ...proposal, text: found.thought.trim(), finish, calls };
}

const unended = /^<think(?:ing)?>/;

/** Text without reasoning that has an end: it may hold drafts of calls. One that is only an object has none. */
function spoken(text: string): string {
  return text.trimStart().startsWith('{') ? text.trim() : text.replace(/^[\s\S]*<\/think(?:ing)?>/, '').trim();
}

/** The calls by which reasoning ends, as some models call without ending it. What is followed by more is a draft. */
function lastOf(thought: string): Found | null {
  const found = marked(thought);
  return found === null || found.broken || !found.last ? null : { ...found, thought: '' };
}

const mark =
  /<\|?tool_call(?:_begin|_start)?\|?>|<\|python_tag\|>|\[TOOL_CALLS\]|<function=|<(?:\w+:)?invoke name="|<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|(?:channel|start)\|>\w+ to=/;
/** Marks and the name of a tool, where it stands outside of the arguments. */
const opening = new RegExp(
  String.raw`(?:(?:${mark.source})\s*)+([\w.:-]*)"?(?:>|\[ARGS\]|<\|tool_call_argument_begin\|>|<｜tool▁sep｜>|[\w\s<|>]*?<\|message\|>)?\s*(?:\x60{3}(?:json)?\s*)?`,
  'y',
);
const parameter =
  /\s*<(?:parameter(?:=| name=")|arg_key>)\s*([\w-]+)\s*(?:"[^>\n]*)?(?:>|<\/arg_key>\s*<arg_value>)([\s\S]*?)<\/(?:parameter|arg_value)>/y;
const end = /\s*<\/(?:function|(?:\w+:)?invoke|tool_call)>/y;
/** Marks between calls. */
const closing = /(?:\s|```|<\/[\w:]+>|<\|\w+\|>|<｜[^｜\n]{1,30}｜>)+?/y;
const take = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

function marked(text: string): Found | null {
  const first = text.search(mark);
  const before = text.slice(0, Math.max(0, first));
  if (first < 0 || isQuoted(before)) return null;
  const calls: Written[] = [];
  const found = (last: boolean): Found => ({ thought: withoutMarks(before), calls, broken: false, last });
  const unread = (call: Written, whole = calls): Found => ({ ...found(false), calls: [...whole, call], broken: true });
  let tagged: Written | null = null;
  for (let at = first; at < text.length;) {
    const open = take(opening, text, at);
    if (open === null) {
      const closed = take(closing, text, at);
      // A value may end early, at a tag that is a part of it.
      if (closed === null) return tagged === null ? found(false) : unread(tagged, calls.slice(0, -1));
      at += closed[0].length;
      continue;
    }
    at += open[0].length;
    const [, name = ''] = open;
    const rest = text.slice(at);
    const isObject = /^[{[]/.test(rest);
    const read = isObject ? objectAt(text, at, name) : taggedAt(text, at, name);
    if (read === null) return unread({ name: name === '' ? (nameIn(rest) ?? 'tool_call') : name, arguments: rest });
    tagged = isObject ? null : { name, arguments: rest };
    calls.push(...read.calls);
    at = read.end;
  }
  return found(true);
}

/** The text without the marks around all calls, which stand before the first. */
function withoutMarks(before: string): string {
  let text = before.trimEnd();
  for (let at = text.lastIndexOf('<'); at >= 0 && /^<[^<>\n]{1,40}>$/.test(text.slice(at)); at = text.lastIndexOf('<'))
    text = text.slice(0, at).trimEnd();
  return text;
}

/** Whether what follows is a quotation, in a block of code, or in an object that began before. */
function isQuoted(before: string): boolean {
  if (isCited(before) || /[`'"]$/.test(before) || before.split('```').length % 2 === 0) return true;
  return [...objectStarts(before)].some((at) => objectEnd(before, at) === null);
}

interface Read {
  readonly calls: readonly Written[];
  readonly end: number;
}

/** Arguments as an object; without a name before them an object that has it, or a list of such. */
function objectAt(text: string, at: number, name: string): Read | null {
  const end = objectEnd(text, at);
  const value = end === null ? undefined : looseJson(text.slice(at, end));
  if (end === null || value === undefined) return null;
  const calls = name === '' ? actsIn(value) : [{ name, arguments: JSON.stringify(value) }];
  return calls.length === 0 ? null : { calls, end };
}

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&#39;': "'" };

/** A value that was written as of XML, which `&amp;&amp;` shows where nothing else has to be escaped; else as it is. */
function unescaped(value: string): string {
  if (!value.includes('&amp;&amp;') || /[<>]|&(?!(?:amp|lt|gt|quot|apos|#39);)/.test(value)) return value;
  return value.replaceAll(/&(?:amp|lt|gt|quot|apos|#39);/g, (one) => entities[one] ?? one);
}

/** Arguments as tags. A value that holds a tag of them cannot be told from the next. */
function taggedAt(text: string, from: number, name: string): Read | null {
  const values: Record<string, string> = {};
  let at = from;
  for (let one = take(parameter, text, at); one !== null; one = take(parameter, text, at)) {
    const [whole, key = '', value = ''] = one;
    if (/<(?:parameter|arg_key)\b/.test(value)) return null;
    values[key] = unescaped(value.replaceAll(/^\n|\n$/g, ''));
    at += whole.length;
  }
  const ended = take(end, text, at);
  if (name === '' || ended === null) return null;
  return { calls: [{ name, arguments: JSON.stringify(values) }], end: at + ended[0].length };
}

/**
 * An object that calls a tool, with those right behind it. It ends the reply, or where any text may call (`offered` null) begins
 * or ends it: what stands between words, or in a quotation, is no call.
 */
function bare(text: string, offered: readonly string[] | null): Found | null {
  for (const { text: object, from, to } of candidates(text)) {
    const [first, ...others] = actsIn(looseJson(object));
    if (first === undefined) continue;
    const [before, run] = [text.slice(0, from), following(text, to)];
    const acts = [first, ...others, ...run.acts];
    const found = { thought: first.thought === '' ? before : first.thought, calls: acts, broken: false, last: false };
    const ends = text.slice(run.end).trim() === '';
    const begins = /(?:^|\n)[ \t]*$/.test(before);
    if (
      offered === null ? !isCited(before) && (ends || before.trim() === '') : ends && begins && acts.every((act) => isMeant(act, offered))
    )
      return found;
  }
  return scripted(text, offered) ?? unreadable(text, offered);
}

/** Whether a line is one of a quotation. */
const isCited = (before: string): boolean => /(?:^|\n)[ \t]*>[^\n]*$/.test(before);

/** Whether an object that stands alone is a call: with arguments, and of a tool that is offered or as only calls look. */
const isMeant = ({ name, arguments: args, isCall }: Act, offered: readonly string[]): boolean =>
  args !== '' && (isCall || offeredName(name, offered) !== undefined);

/** Calls that follow a call with nothing but space, commas and fences in between. */
function following(text: string, from: number): { readonly acts: readonly Act[]; readonly end: number } {
  const between = /(?:[\s,]|```(?:json)?)*/y;
  const acts: Act[] = [];
  for (let end = from; ;) {
    const at = end + (take(between, text, end)?.[0].length ?? 0);
    const close = text[at] === '{' && acts.length < mostStarts ? objectEnd(text, at) : null;
    const more = close === null ? [] : actsIn(looseJson(text.slice(at, close)));
    if (close === null || more.length === 0) return { acts, end: /^[\s`]*$/.test(text.slice(end, at)) ? at : end };
    acts.push(...more);
    end = close;
  }
}

/** A value of a call as programs write it. */
const literal = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|-?\d{1,15}(?:\.\d{1,15})?|[Tt]rue|[Ff]alse|None|null/y;
const keyword = /\s*([A-Za-z_]\w{0,63})\s*=\s*/y;

/** A call that ends the reply as `bash(command="ls")` of Python, also in brackets, or as `Action: bash` and `Action Input: {…}`. */
function scripted(text: string, offered: readonly string[] | null): Found | null {
  const written = /(?:^|\n)(?:```\w*\n)?\[?([a-z_]{2,40})\(|(?:^|\n)Action: *([\w.-]{2,64}) *\n+Action Input: *(?=\{)/g;
  for (const match of [...text.matchAll(written)].slice(0, mostStarts)) {
    const [head, call = '', action = ''] = match;
    const name = offered === null ? `${call}${action}` : offeredName(`${call}${action}`, offered);
    const at = match.index + head.length;
    const read = action === '' ? keywords(text, at) : inputAt(text, at);
    const before = text.slice(0, match.index);
    if (name === undefined || read === null || isCited(`${before}\n`) || before.split('```').length % 2 === 0) continue;
    const rest = text.slice(read.end);
    const isLast = action === '' ? /^\]?\s*(?:```)?\s*$/.test(rest) : /^\s*(?:Observation:|$)/.test(rest);
    if (isLast) return { thought: before, calls: [{ name, arguments: JSON.stringify(read.values) }], broken: false, last: true };
  }
  return null;
}

interface Values {
  readonly values: Readonly<Record<string, unknown>>;
  readonly end: number;
}

/** Arguments with their names, up to the closing bracket; null where they are anything else. */
function keywords(text: string, from: number): Values | null {
  const values: Record<string, unknown> = {};
  for (let at = from; ;) {
    const key = take(keyword, text, at);
    const value = key === null ? null : take(literal, text, at + key[0].length);
    if (key === null || value === null) return null;
    values[key[1] ?? ''] = valueOf(value[0]);
    at += key[0].length + value[0].length;
    const after = /\s*(?:,|(\)))/y;
    const more = take(after, text, at);
    if (more === null) return null;
    at += more[0].length;
    if (more[1] !== undefined) return { values, end: at };
  }
}

function inputAt(text: string, at: number): Values | null {
  const end = objectEnd(text, at);
  return end === null ? null : { values: fieldsOf(looseJson(text.slice(at, end))), end };
}

const constants: Readonly<Record<string, unknown>> = { true: true, false: false, none: null, null: null };

function valueOf(word: string): unknown {
  if (!/^["']/.test(word)) return word.toLowerCase() in constants ? constants[word.toLowerCase()] : Number(word);
  const quoted = word.slice(1, -1).replaceAll(/\\'|(?<!\\)"/g, (one) => (one === '"' ? String.raw`\"` : "'"));
  return looseJson(word.startsWith('"') ? word : `"${quoted}"`) ?? word.slice(1, -1);
}

/** An object that names a tool and is no JSON. */
function unreadable(text: string, offered: readonly string[] | null): Found | null {
  const start = text.search(/\{\s*"(?:thought|tool|name|type|action)"/);
  const rest = text.slice(Math.max(0, start));
  const name = start < 0 || objectEndsWell(rest) ? null : nameIn(rest);
  if (name === null || offered?.includes(name) === false) return null;
  return { thought: text.slice(0, start), calls: [{ name, arguments: rest }], broken: true, last: true };
}

function objectEndsWell(text: string): boolean {
  const end = objectEnd(text, 0);
  return end !== null && looseJson(text.slice(0, end)) !== undefined;
}

/** The tool that an object names which is no JSON. */
const nameIn = (text: string): string | null => /"(?:tool|name|action)"\s*:\s*"([\w.:-]+)"/.exec(text)?.[1] ?? null;

interface Candidate {
  readonly text: string;
  /** Begin and end in the reply, with its fences. */
  readonly from: number;
  readonly to: number;
}

/** The whole text, then each block of code, then each object in it, in this order. */
function* candidates(text: string): Generator<Candidate> {
  const part = (from: number, to: number, own = text.slice(from, to)): Candidate => ({ text: own, from, to });
  yield part(0, text.length);
  for (let count = 0, at = text.indexOf('```'); at >= 0 && count < mostStarts; count += 1) {
    const close = text.indexOf('```', at + 3);
    if (close < 0) break;
    yield part(at, close + 3, text.slice(at + 3, close).replace(/^[a-z]*\s*/i, ''));
    at = text.indexOf('```', close + 3);
  }
  for (const at of objectStarts(text)) {
    const end = objectEnd(text, at);
    if (end !== null) yield part(at, end);
  }
}

/** Most blocks of code, and most places where an object may begin: a text of fences or braces costs no more. */
const mostStarts = 32;

function* objectStarts(text: string): Generator<number> {
  let at = text.indexOf('{');
  for (let count = 0; at >= 0 && count < mostStarts; count += 1) {
    yield at;
    at = text.indexOf('{', at + 1);
  }
}

/** Returns the index after the object, or list, that begins at `start`; null when it does not end. */
function objectEnd(text: string, start: number): number | null {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{' || character === '[') depth += 1;
    else if ((character === '}' || character === ']') && --depth === 0) return at + 1;
  }
  return null;
}

/** A call with the words that its object has; without arguments they are empty. `isCall`: nothing else has these members. */
type Act = Written & { readonly thought: string; readonly isCall: boolean };

/** The calls of a value: an object that names a tool, or a list of only such. */
function actsIn(given: unknown): readonly Act[] {
  if (Array.isArray(given)) {
    const each = given.map(actsIn);
    return each.some((acts) => acts.length === 0) ? [] : each.flat();
  }
  const value = fieldsOf(given);
  if (Array.isArray(value['tool_calls'])) return actsIn(value['tool_calls']);
  const named = value['tool_call'] ?? value['function'] ?? value['action'];
  const inner = fieldsOf(named);
  if (Object.keys(inner).length > 0) return actsIn({ thought: value['thought'], ...inner });
  const name = textOf(value['tool'] ?? value['name'] ?? value['tool_name'] ?? named);
  if (name === '') return [];
  const { arguments: own, args: short = own, parameters = short, input = parameters, action_input: args = input } = value;
  const isCall = typeof (own ?? short) === 'object';
  const sent = args ?? (typeof value['tool'] === 'string' ? flat(value) : '');
  return [{ thought: textOf(value['thought']), name, isCall, arguments: typeof sent === 'string' ? sent : JSON.stringify(sent) }];
}

/** Arguments that stand beside the name of the tool; empty where there are none. */
function flat({ tool: _tool, thought: _thought, ...others }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | '' {
  return Object.keys(others).length === 0 ? '' : others;
}
