// agent-image, rails/shell: actions of calls of Python and JavaScript, and the members of the values that loops go over.
import type { Node } from '../syntax/node.ts';
import { asText, listOf, nothingKnown, textOf, type Abstract } from './effects.ts';
import { hole } from './marks.ts';

/** Something a program does: a command, shell code, code of its own language, or what cannot be known. */
export type Action =
  /** `ofCall`: the command stands for a call that names files or hosts, and is not one that the program runs. */
  (
    | { readonly kind: 'argv'; readonly argv: readonly string[]; readonly content?: string; readonly ofCall?: true }
    | { readonly kind: 'shell' | 'code'; readonly text: string }
    /** It runs a file as code of its own language. */
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'unknown'; readonly what: string }
  ) & {
    /** Offset in the program of the call that does it. */
    readonly at?: number;
  };

/** A socket whose other side is not known yet. */
export const plainSocket = { kind: 'argv', argv: ['nc', hole] } as const;

export function commandOf(template: readonly string[], args: readonly Abstract[]): Action {
  const argv = template.map((word) => (/^\$\d$/.test(word) ? asText(args[Number(word[1])]) : word));
  const content = argv[0] === 'tee' && args[1]?.kind === 'text' ? args[1].text : undefined;
  return { kind: 'argv', argv, ofCall: true, ...(content === undefined ? {} : { content }) };
}

export function connectionOf(args: readonly Abstract[]): Action {
  const to = args[0]?.kind === 'list' ? asText(args[0].items[0]) : asText(args[0]);
  return { kind: 'argv', argv: ['nc', to] };
}

/** A database in a file is written to, not connected to. */
export function databaseOf(args: readonly Abstract[]): readonly Action[] {
  const path = asText(args[0]);
  return path === '' || path === ':memory:' ? [] : [{ kind: 'argv', argv: ['tee', path] }];
}

/** A file that is opened: to be written, or to be read. */
export function openOf(args: readonly Abstract[], list: Node | null): { readonly writes: boolean; readonly action: Action } {
  const mode = /mode\s*=\s*["'](\w+)/.exec(list?.text ?? '')?.[1] ?? (args[1]?.kind === 'text' ? args[1].text : 'r');
  const writes = /[wax+]/.test(mode);
  return { writes, action: { kind: 'argv', argv: [writes ? 'tee' : 'cat', asText(args[0])], ofCall: true } };
}

export function runOf(kind: 'argv' | 'spawn', args: readonly Abstract[]): Action {
  const [first, second] = args;
  if (kind === 'argv') return first?.kind === 'list' ? { kind, argv: first.items.map(asText) } : { kind: 'shell', text: asText(first) };
  const rest = second?.kind === 'list' ? second.items : args.slice(1).filter((one) => one.kind === 'text');
  const words = rest.map(asText);
  // os.execv repeats the program's name as the first of its arguments.
  const repeats = words[0] !== undefined && asText(first).endsWith(words[0]) && words.length > 1;
  return { kind: 'argv', argv: [asText(first), ...(repeats ? words.slice(1) : words)] };
}

/** Code that is evaluated: a text, or what a file holds. */
export function codeOf(value: Abstract | undefined): Action {
  const isFile = value?.kind === 'content' && !value.path.includes(hole);
  return isFile ? { kind: 'file', path: value.path } : { kind: 'code', text: asText(value) };
}

/** Methods that leave a list or a table as it is. */
const reading =
  /^(?:items|keys|values|get|copy|index|count|join|map|filter|slice|concat|includes|indexOf|forEach|entries|some|every|find|reduce|flat|flatMap)$/;

/** Reports whether a call of a method may change the list or table that it is called on. */
export const changes = (own: Abstract | null, method: string): own is Abstract & { readonly kind: 'list' | 'record' } =>
  (own?.kind === 'list' || own?.kind === 'record') && !reading.test(method);

const pair = (...items: readonly Abstract[]): Abstract => ({ kind: 'list', items });

/** Returns the value of a call that goes over lists and tables, or reads from them; null: it is another. */
export function ofTable(name: string, own: Abstract | null, args: readonly Abstract[]): Abstract | null {
  const method = name.slice(name.lastIndexOf('.') + 1);
  const [first] = args;
  const isObject = /^Object\.(?:entries|keys|values)$/.test(name);
  const table = isObject ? first : own;
  if (table?.kind === 'record') {
    const { entries } = table;
    if (/^(?:items|entries)$/.test(method)) return listOf(entries.map(([key, value]) => pair(textOf(key), value)));
    if (method === 'keys') return listOf(entries.map(([key]) => textOf(key)));
    if (method === 'values') return listOf(entries.map(([, value]) => value));
    if (method === 'get') return entryOf(table, asText(first)) ?? args[1] ?? nothingKnown;
  }
  if (first?.kind !== 'list') return null;
  if (/^(?:list|tuple|set|sorted|reversed|frozenset)$/.test(name)) return first;
  if (name === 'enumerate') return listOf(first.items.map((one, at) => pair(textOf(String(at)), one)));
  const lists = args.flatMap((one) => (one.kind === 'list' ? [one.items] : []));
  if (name !== 'zip' || lists.length < args.length) return null;
  return listOf(
    first.items
      .slice(0, Math.min(...lists.map(({ length }) => length)))
      .map((_, at) => pair(...lists.map((one) => one[at] ?? nothingKnown))),
  );
}

/** The value of a key; undefined where the table has none. */
export function entryOf({ entries }: Abstract & { readonly kind: 'record' }, key: string): Abstract | undefined {
  return entries.findLast(([one]) => one === key)?.[1];
}

/** The members that a loop goes over, the one that leads elsewhere first where there is one. */
export function membersOf(value: Abstract): readonly Abstract[] {
  const items = value.kind === 'list' ? value.items : value.kind === 'record' ? value.entries.map(([key]) => textOf(key)) : [value];
  const first = items.find((one) => one.kind !== 'text' || /^[/~]|\.\./.test(one.text)) ?? items[0] ?? nothingKnown;
  return [first, ...items.filter((one) => one !== first)];
}
