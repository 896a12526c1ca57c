import { byName, lookup, concat, dynamic, fixed, spaced, weightOf, type Value } from './command.ts';
import { markUnquoted, tilde, hole, markGlobs, plain } from './marks.ts';
import { named, type Node } from '../syntax/node.ts';
import { expandBraces, type Expansion, type Piece, expandParameter } from './expansions.ts';
import { maySpend, problem, spanOf, type Run, type Site } from './run.ts';

/** An unquoted literal: backslashes removed, what is special marked. */
function unquoted(text: string, startsWord: boolean): string {
  let out = '';
  for (let i = 0; i < text.length; i += 1) {
    const at = text[i] as string;
    if (at === '\\') {
      i += 1;
      if (text[i] !== '\n') out += text[i] ?? '\\';
    } else if (at === '~' && i === 0 && startsWord) out += tilde;
    else out += markUnquoted(at);
  }
  return out;
}

/** Text inside double quotes or an expanding here-document. */
function doubleQuoted(text: string): string {
  return text.replace(/\\(\n|[$`"\\])/g, (_, found: string) => (found === '\n' ? '' : found));
}

const simple: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', v: '\v' };

/** Resolves the escapes in `$'…'`, and those that `echo -e` and printf resolve. */
export function escapes(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|([^]))/g,
    (_, hex?: string, short?: string, long?: string, octal?: string, control?: string, other?: string) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) return character(Number.parseInt(code, 16));
      if (octal !== undefined) return character(Number.parseInt(octal, 8) & 255);
      if (control !== undefined) return character(control.charCodeAt(0) & 31);
      return lookup(simple, other as string) ?? (/[\\'"?]/.test(other as string) ? (other as string) : `\\${other}`);
    },
  );
}

function character(code: number): string {
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xf8ff) ? '\uFFFD' : String.fromCodePoint(code);
}

const maxAlternatives = 24;
/** Work for a piece of a word, beside that for its characters. */
const pieceWork = 16;

/** All that a word may become, each alternative a list of fields. */
export function word(node: Node, run: Run, site: Site): readonly (readonly Value[])[] {
  const made = maySpend(run, site, node.text.length) ? pieces(node, run, site, false) : [];
  if (!maySpend(run, site, made.length * pieceWork)) return [[dynamic()]];
  const variants = expandBraces(made);
  if (variants === null) {
    problem(run, 'limit', 'a brace expansion makes too many words', spanOf(node, site.frame));
    return [[dynamic()]];
  }
  let out: (readonly Value[])[] = [[]];
  for (const variant of variants) {
    const next = assemble(variant, run, site);
    if (!maySpend(run, site, out.length * weightOf(next.flat()) + next.length * out.flat().length)) return [[dynamic()]];
    out = capped(
      out.flatMap((before) => next.map((fields) => [...before, ...fields])),
      [dynamic()],
    );
  }
  return out;
}

/** A word in a place where it makes exactly one field, such as an assignment. */
export function single(node: Node, run: Run, site: Site): readonly Value[] {
  const made = maySpend(run, site, node.text.length) ? pieces(node, run, site, false) : [];
  if (!maySpend(run, site, made.length * pieceWork)) return [dynamic()];
  let out: Value[] = [fixed('')];
  for (const piece of made) {
    if ('literal' in piece) {
      const text = plainIn(piece.literal, run, site);
      out = out.map((value) => concat([value, fixed(text)]));
    } else {
      const values = piece.alternatives.map(spaced);
      if (!maySpend(run, site, out.length * weightOf(values))) return [dynamic()];
      out = capped(
        out.flatMap((before) => values.map((value) => concat([before, value]))),
        dynamic(),
      );
    }
  }
  return out;
}

/** Limits a list of alternatives: those that are left out become one more, which is not known. */
function capped<T>(all: readonly T[], unknown: T): T[] {
  return all.length <= maxAlternatives ? [...all] : [...all.slice(0, maxAlternatives), unknown];
}

function plainIn(literal: string, run: Run, site: Site): string {
  return plain(literal.startsWith(tilde) ? home(literal, run, site) : literal);
}

type Maker = (node: Node, run: Run, site: Site, quoted: boolean) => readonly Piece[];

const makers: Readonly<Record<string, Maker>> = {
  raw_string: (node) => [{ literal: node.text.slice(1, -1), quoted: true }],
  ansi_c_string: (node) => [{ literal: escapes(node.text.slice(2, -1)), quoted: true }],
  string: (node, run, site) => [{ literal: '', quoted: true }, ...parts(node, run, site, true, node.start + 1, node.end - 1)],
  translated_string: (node, run, site) => parts(node, run, site, false, node.start + 1, node.end),
  ...byName<Maker>(['concatenation command_name', (node, run, site, quoted) => parts(node, run, site, quoted, node.start, node.end)]),
  simple_expansion: (node, run, site, quoted) => [
    { alternatives: expandParameter(`\${${node.text.slice(1)}}`, run, site, quoted), quoted },
  ],
  expansion: (node, run, site, quoted) => [{ alternatives: expandParameter(node.text, run, site, quoted), quoted }],
  command_substitution: (node, run, site, quoted) => [{ alternatives: [[substitute(node, run, site)]], quoted }],
  process_substitution: (node, run, site) => [{ alternatives: [[processFile(node, run, site)]], quoted: true }],
  arithmetic_expansion: (node, run, site, quoted) => [{ alternatives: [[arithmetic(node, run, site)]], quoted }],
};

const literalTypes = new Set('word number brace_expression extglob_pattern variable_name regex test_operator string_content'.split(' '));

function pieces(node: Node, run: Run, site: Site, quoted: boolean): readonly Piece[] {
  const maker = makers[node.type];
  if (maker !== undefined) return maker(node, run, site, quoted);
  if (literalTypes.has(node.type) || named(node).length === 0) return bare(node.text, true, run, site);
  visitSubstitutions(node, run, site);
  return [{ literal: hole, quoted: true }];
}

/** Unquoted text; the grammar sometimes leaves a `$name` in it. */
function bare(text: string, startsWord: boolean, run: Run, site: Site): readonly Piece[] {
  if (!/(?<!\\)\$[\w@*{(]|`/.test(text)) return [{ literal: unquoted(text, startsWord), quoted: false }];
  if (/\$[{(]|`/.test(text)) problem(run, 'syntax', 'a substitution is not understood', site.span);
  return text
    .split(/((?<!\\)\$(?:[A-Za-z_]\w*|[0-9@*]))/)
    .map((part, i) =>
      i % 2 === 0
        ? { literal: unquoted(part, startsWord && i === 0), quoted: false }
        : { alternatives: expandParameter(`\${${part.slice(1)}}`, run, site, false), quoted: false },
    );
}

/** Children and the text between them: the grammar leaves blanks out of its tokens. */
function parts(node: Node, run: Run, site: Site, quoted: boolean, from: number, to: number): readonly Piece[] {
  const out: Piece[] = [];
  let at = from;
  const literal = (end: number): void => {
    const text = node.text.slice(at - node.start, end - node.start);
    if (end > at) out.push(...(quoted ? [{ literal: doubleQuoted(text), quoted }] : bare(text, at === from, run, site)));
  };
  for (const one of node.children) {
    if (literalTypes.has(one.type) || makers[one.type] === undefined || one.start < at) continue;
    literal(one.start);
    out.push(...pieces(one, run, site, quoted));
    at = one.end;
  }
  literal(to);
  return out;
}

/** A substitution that is a redirection alone. */
const readsFile = /^\$\(\s*<(?![<(&])/;

function substitute(node: Node, run: Run, site: Site): Value {
  const inner = { ...site, scope: site.scope.copy(), span: spanOf(node, site.frame) };
  let out: Value;
  if (node.text.startsWith('`') || readsFile.test(node.text)) {
    // `$(<file)` is `$(cat file)` without a command.
    const code = node.text.startsWith('`') ? node.text.slice(1, -1).replace(/\\([`\\$])/g, '$1') : `cat ${node.text.slice(2, -1)}`;
    out = run.text(fixed(code), { ...inner, frame: { ...site.frame, within: inner.span } }, null);
  } else out = concat([fixed(''), ...named(node).map((one) => run.node(one, inner, null))]);
  // A pattern would look for the end behind each line feed.
  let end = out.text.length;
  while (out.text[end - 1] === '\n') end -= 1;
  return { ...out, text: out.text.slice(0, end) };
}

/** `<(…)` is a file that holds what the commands print. */
function processFile(node: Node, run: Run, site: Site): Value {
  const inner = { ...site, scope: site.scope.copy() };
  const output = concat([fixed(''), ...named(node).map((one) => run.node(one, inner, node.text.startsWith('>') ? dynamic() : null))]);
  const path = `/dev/fd/${64 + run.files.size}`;
  run.files.set(path, output);
  return { text: path, from: output.from };
}

function arithmetic(node: Node, run: Run, site: Site): Value {
  visitSubstitutions(node, run, site);
  const constant = /^\$(?:\(\(|\[)\s*(\d{1,9})\s*(?:([-+*])\s*(\d{1,9})\s*)?(?:\)\)|\])$/.exec(node.text);
  if (constant === null) return dynamic();
  const [left, right] = [Number(constant[1]), Number(constant[3] ?? 0)];
  if (constant[2] === '*') return fixed(String(left * right));
  return fixed(String(constant[2] === '-' ? left - right : left + right));
}

/** Runs the command substitutions anywhere below a node that is not evaluated itself. */
export function visitSubstitutions(node: Node, run: Run, site: Site): void {
  if (node.type === 'command_substitution') substitute(node, run, site);
  else if (node.type === 'process_substitution') processFile(node, run, site);
  else for (const one of node.children) visitSubstitutions(one, run, site);
}

interface Growing {
  readonly done: readonly Value[];
  readonly at: Value | null;
}

function assemble(variant: readonly Piece[], run: Run, site: Site): readonly (readonly Value[])[] {
  const separators = ifs(site);
  let all: Growing[] = [{ done: [], at: null }];
  for (const [index, piece] of variant.entries()) {
    if (!maySpend(run, site, workOf(piece, all))) return [[dynamic()]];
    if ('literal' in piece) {
      const text = index === 0 && !piece.quoted && piece.literal.startsWith(tilde) ? home(piece.literal, run, site) : piece.literal;
      all = all.map(({ done, at }) => ({ done, at: concat([...(at === null ? [] : [at]), fixed(text)]) }));
    } else
      all = capped(
        all.flatMap((one) => piece.alternatives.map((fields) => grow(one, fields, piece, separators))),
        { done: [], at: dynamic() },
      );
  }
  return all.map(({ done, at }) =>
    (at === null ? done : [...done, at]).map((value) => ({ ...value, text: value.text.replaceAll(tilde, '~') })),
  );
}

function workOf(piece: Piece, all: readonly Growing[]): number {
  if ('literal' in piece) return all.length;
  const words = all.reduce((sum, { done }) => sum + done.length + 1, 0);
  return words * piece.alternatives.length + all.length * weightOf(piece.alternatives.flat());
}

function grow(one: Growing, fields: readonly Value[], piece: Expansion, separators: RegExp | null): Growing {
  const done = [...one.done];
  let { at } = one;
  fields.forEach((field, i) => {
    if (i > 0 && at !== null) {
      done.push(at);
      at = null;
    }
    const chunks = piece.quoted || separators === null ? [field.text] : field.text.split(separators);
    chunks.forEach((chunk, j) => {
      if (j > 0 && at !== null) {
        done.push(at);
        at = null;
      }
      const text = piece.quoted ? chunk : markGlobs(chunk);
      if (text !== '' || piece.quoted) at = concat([...(at === null ? [] : [at]), { text, from: field.from }]);
    });
  });
  return { done, at };
}

function ifs(site: Site): RegExp | null {
  const text = site.scope.variables.get('IFS')?.at(-1)?.[0]?.text ?? ' \t\n';
  return text === '' ? null : new RegExp(`[${text.replace(/[\\\]^-]/g, '\\$&')}]+`);
}

/** `~`, `~/x`, `~user`, `~+`. */
function home(literal: string, run: Run, site: Site): string {
  const [, user = '', rest = ''] = new RegExp(`^${tilde}([^/:]*)(.*)$`, 's').exec(literal) ?? [];
  if (user === '+') return site.scope.cwd + rest;
  if (user === '') return `${site.scope.variables.get('HOME')?.[0]?.[0]?.text ?? run.home}${rest}`;
  if (!/^[a-z_][\w-]*$/i.test(user)) return `~${user}${rest}`;
  return `${user === 'root' ? '/root' : `/home/${user}`}${rest}`;
}

/** The text of an expanding here-document or another text that expands as if in double quotes. */
export function expandQuoted(text: string, run: Run, site: Site): Value {
  if (!/[$`\\]/.test(text)) return fixed(text);
  run.limits.characters -= text.length;
  const source = `_ "${text.replace(/(\\?)"/g, (all, slash: string) => (slash === '' ? '\\"' : `\\\\${all}`))}"`;
  const parsed = run.limits.characters > 0 ? run.grammars.parse('bash', source) : null;
  const argument = parsed === null || parsed.broken ? undefined : parsed.root.children[0]?.children.find((one) => one.field === 'argument');
  if (argument === undefined) {
    problem(run, 'syntax', 'a here-document could not be read', site.span);
    return dynamic();
  }
  return single(argument, run, { ...site, frame: { ...site.frame, within: site.span, program: null } })[0] ?? dynamic();
}
