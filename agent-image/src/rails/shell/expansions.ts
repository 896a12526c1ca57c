// agent-image, rails/shell: parameter and brace expansion of shell words. May import rails/verdict and rails/syntax, no rail.
import { dynamic, fixed, spaced, substituted, type Value } from './command.ts';
import { matchesGlob, matchingEnds, matchingLengths, hasHole, markGlobs, close, comma, open } from './marks.ts';
import type { Alternatives, Run, Site } from './run.ts';

const form =
  /^\$\{(!?)(#?)([A-Za-z_]\w*|\d+|[@*#?$!_-])(?:\[([^\]]*)\])?(?:(:?[-=+?])([^]*)|(:)([^]*)|(##?|%%?)([^]*)|(\/[/#%]?)([^]*)|([,^]{1,2})[^]*|(@)\w+)?\}$/;

/** Returns what `$x` and `${x…}` may become. */
export function expandParameter(text: string, run: Run, site: Site, quoted: boolean): Alternatives {
  const found = form.exec(text);
  // `${#}` and `${!x@}` fall out of the form; lengths and names are never a program.
  if (found === null) {
    nested(text.slice(2, -1), run, site);
    return [[dynamic()]];
  }
  const [, indirect, length, name = '', index] = found;
  if (length !== '') return [[dynamic()]];
  let alternatives = lookup(name, index, run, site, quoted);
  if (indirect !== '') alternatives = alternatives.flatMap((fields) => follow(fields, run, site, quoted));
  return operate(found, alternatives, run, site, quoted);
}

function follow(fields: readonly Value[], run: Run, site: Site, quoted: boolean): Alternatives {
  const name = fields[0]?.text ?? '';
  return /^[A-Za-z_]\w*$/.test(name) ? lookup(name, undefined, run, site, quoted) : [[dynamic()]];
}

/** Alternatives of a variable; an empty list for one that is not set. */
function lookup(name: string, index: string | undefined, run: Run, site: Site, quoted: boolean): Alternatives {
  const { scope } = site;
  if (name === '@' || name === '*') {
    return [name === '*' && quoted ? [spaced(scope.positional)] : scope.positional];
  }
  if (/^[1-9]\d*$/.test(name)) return [[scope.positional[Number(name) - 1] ?? fixed('')]];
  if (name === '0') return scope.variables.get('0') ?? [[fixed('sh')]];
  if (name === 'PWD') return [[fixed(scope.cwd)]];
  if (/^[#?$!_-]$|^(?:RANDOM|SECONDS|LINENO|PPID|UID|EUID|BASHPID|OLDPWD|HOSTNAME|USER|LOGNAME)$/.test(name)) return [[dynamic()]];
  const known = scope.variables.get(name);
  if (known !== undefined)
    return index === undefined ? known.map((fields) => fields.slice(0, 1)) : known.map((fields) => element(fields, index));
  run.sawUnset = true;
  return run.unset === 'hole' ? [[dynamic()]] : [[fixed('')]];
}

function element(fields: readonly Value[], index: string): readonly Value[] {
  if (index === '@' || index === '*') return fields;
  if (/^\d+$/.test(index)) return [fields[Number(index)] ?? fixed('')];
  return [dynamic(fields.flatMap((value) => value.from))];
}

function operate(found: RegExpExecArray, alternatives: Alternatives, run: Run, site: Site, quoted: boolean): Alternatives {
  const [, , , name = '', , deflt, defaultText = '', slice, sliceText = '', trim, trimText = '', replace, replaceText = '', change, at] =
    found;
  if (deflt !== undefined) return withDefault([deflt, defaultText], name, alternatives, run, site, quoted);
  if (at !== undefined) return [[dynamic()]];
  const operand = slice ?? trim ?? replace ?? change;
  if (operand === undefined) return alternatives;
  for (const text of [sliceText, trimText, replaceText]) nested(text, run, site);
  return alternatives.map((fields) => fields.map((value) => ({ ...value, text: apply(value.text, found) })));
}

function apply(text: string, found: RegExpExecArray): string {
  if (hasHole(text)) return dynamic().text;
  const [, , , , , , , slice, sliceText = '', trim, trimText = '', replace, replaceText = '', change] = found;
  if (/[$`]/.test(sliceText + trimText + replaceText)) return dynamic().text;
  if (slice !== undefined) return cut(text, sliceText);
  if (trim !== undefined) return trimmed(text, trim, trimText);
  if (replace !== undefined) return replaced(text, replace, replaceText);
  if (change === ',,') return text.toLowerCase();
  if (change === '^^') return text.toUpperCase();
  if (change === ',') return text.charAt(0).toLowerCase() + text.slice(1);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function cut(text: string, range: string): string {
  const [, from, length] = /^\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?$/.exec(range) ?? [];
  if (from === undefined) return dynamic().text;
  const start = Number(from) < 0 ? Math.max(0, text.length + Number(from)) : Number(from);
  if (length === undefined) return text.slice(start);
  return Number(length) < 0 ? text.slice(start, text.length + Number(length)) : text.slice(start, start + Number(length));
}

function trimmed(text: string, operator: string, operand: string): string {
  const pattern = markGlobs(operand.replace(/['"\\]/g, ''));
  const chars = Array.from(text);
  const isStart = operator.startsWith('#');
  const matching = isStart ? matchingLengths(pattern, text) : matchingEnds(pattern, text);
  if (matching === null) return dynamic().text;
  const length = operator.length === 2 ? matching.lastIndexOf(true) : matching.indexOf(true);
  if (length <= 0) return text;
  return chars.slice(isStart ? length : 0, isStart ? undefined : chars.length - length).join('');
}

function replaced(text: string, operator: string, operand: string): string {
  const slash = operand.search(/(?<!\\)\//);
  const [what, by] = slash < 0 ? [operand, ''] : [operand.slice(0, slash), operand.slice(slash + 1)];
  const literal = what.replace(/['"\\]/g, '');
  if (literal === '' || /[*?[]/.test(literal) || /['"\\]/.test(by)) return dynamic().text;
  if (operator === '//') return substituted(text, literal, by);
  if (operator === '/#') return text.startsWith(literal) ? by + text.slice(literal.length) : text;
  if (operator === '/%') return text.endsWith(literal) ? text.slice(0, -literal.length) + by : text;
  return text.replace(literal, () => by);
}

function withDefault(
  [operator, text]: readonly [string, string],
  name: string,
  alternatives: Alternatives,
  run: Run,
  site: Site,
  quoted: boolean,
): Alternatives {
  if (operator.endsWith('?')) return alternatives.map((fields) => (fields[0]?.text === '' ? [dynamic()] : fields));
  // Nothing is inherited: what is not set takes its default.
  const unset = /^[A-Za-z_]/.test(name) && !site.scope.variables.has(name);
  const other: Alternatives = [[nested(text, run, site, quoted)]];
  const empty = alternatives.every((fields) => fields.every((value) => value.text === ''));
  const full = alternatives.every((fields) => fields.some((value) => value.text !== '' && !hasHole(value.text)));
  if (operator.endsWith('+')) return empty ? [[fixed('')]] : full ? other : [...other, [fixed('')]];
  if (full) return alternatives;
  const out = empty || unset ? other : [...other, ...alternatives];
  if (operator.endsWith('=')) site.scope.set(name, out);
  return out;
}

/** Expands an operand, which is a word of its own: substitutions in it run. */
function nested(text: string, run: Run, site: Site, quoted = false): Value {
  const bare = text.replace(/^"([^"]*)"$/, '$1').replace(/^'([^']*)'$/, '$1');
  if (!/[$`"'\\]/.test(bare)) return fixed(bare);
  run.limits.characters -= bare.length;
  const parsed = run.limits.characters > 0 ? run.grammars.parse('bash', quoted && !text.includes('"') ? `_ "${text}"` : `_ ${text}`) : null;
  if (parsed === null) return dynamic();
  const inside = { ...site, frame: { ...site.frame, within: site.span, program: null } };
  const words = parsed.root.children.flatMap((one) => one.children.filter((argument) => argument.field === 'argument'));
  const fields = words.flatMap((one) => run.word(one, inside)[0] ?? []);
  if (parsed.broken || words.length === 0) return dynamic(fields.flatMap((value) => value.from));
  return spaced(fields);
}

/** An expansion inside a word: what it may become, each a list of fields. */
export interface Expansion {
  readonly alternatives: readonly (readonly Value[])[];
  readonly quoted: boolean;
}

/** A part of a word: literal text with marks, or an expansion. `quoted` text never splits and makes a field even when empty. */
export type Piece = { readonly literal: string; readonly quoted: boolean } | Expansion;

const maxWords = 64;
const maxSteps = 32;
const maxMarks = 256;

/** Brace expansion as bash does it, before all others. Null when there would be more than 64 words. */
export function expandBraces(pieces: readonly Piece[]): readonly (readonly Piece[])[] | null {
  if (!pieces.some((piece) => 'literal' in piece && !piece.quoted && piece.literal.includes(open))) return [pieces];
  let done: (readonly Piece[])[] = [];
  const todo: (readonly Piece[])[] = [split(pieces)];
  if ((todo[0] as readonly Piece[]).length > maxMarks) return null;
  for (let word = todo.shift(); word !== undefined; word = todo.shift()) {
    const next = once(word);
    if (next === null) done.push(word);
    else todo.unshift(...next);
    if (done.length + todo.length > maxWords) return null;
  }
  done = done.map((word) => word.map(literally));
  return done;
}

/** One piece per marked character, so that positions are piece numbers. */
function split(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.flatMap((piece) => {
    if (!('literal' in piece) || piece.quoted) return [piece];
    return piece.literal.split(/([\uE004-\uE006])/).flatMap((literal) => (literal === '' ? [] : [{ literal, quoted: false }]));
  });
}

function is(piece: Piece | undefined, mark: string): boolean {
  return piece !== undefined && 'literal' in piece && !piece.quoted && piece.literal === mark;
}

function literally(piece: Piece): Piece {
  if (!('literal' in piece) || piece.quoted) return piece;
  return { literal: piece.literal.replaceAll(open, '{').replaceAll(comma, ',').replaceAll(close, '}'), quoted: false };
}

/** Expands the first brace pair that is one; null when there is none. */
function once(word: readonly Piece[]): readonly (readonly Piece[])[] | null {
  for (let from = 0; from < word.length; from += 1) {
    if (!is(word[from], open)) continue;
    const commas: number[] = [];
    let depth = 0;
    for (let at = from; at < word.length; at += 1) {
      if (is(word[at], open)) depth += 1;
      else if (is(word[at], comma) && depth === 1) commas.push(at);
      else if (is(word[at], close) && (depth -= 1) === 0) {
        const parts = commas.length > 0 ? between(word, [from, ...commas, at]) : sequence(word.slice(from + 1, at));
        if (parts === null) break;
        return parts.map((part) => [...word.slice(0, from), ...part, ...word.slice(at + 1)]);
      }
    }
  }
  return null;
}

function between(word: readonly Piece[], cuts: readonly number[]): readonly (readonly Piece[])[] {
  return cuts.slice(1).map((cut, i) => word.slice((cuts[i] as number) + 1, cut));
}

/** `{1..9}` and `{a..e}`; long ones are cut, their members are alike. */
function sequence(inside: readonly Piece[]): readonly (readonly Piece[])[] | null {
  const text = inside.map((piece) => ('literal' in piece && !piece.quoted ? piece.literal : '\0')).join('');
  const found = /^(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(text);
  if (found === null) return null;
  const numeric = /\d/.test(found[1] as string);
  const value = (one: string): number => (numeric ? Number(one) : one.charCodeAt(0));
  const [first, last] = [value(found[1] as string), value(found[2] as string)];
  const step = Math.max(1, Math.abs(Number(found[3] ?? 1))) * (first <= last ? 1 : -1);
  const out: Piece[][] = [];
  for (let at = first; out.length < maxSteps && (step > 0 ? at <= last : at >= last); at += step) {
    out.push([{ literal: numeric ? String(at) : String.fromCharCode(at), quoted: false }]);
  }
  return out;
}

/** Programs that a glob in the place of a command name must not reach unseen. */
const dangerous =
  'rm dd mkfs shred fdisk chmod chown sudo su mount unshare nsenter chroot docker kubectl curl wget nc ncat socat ssh scp rsync bash sh dash zsh python python3 perl ruby node kill killall pkill crontab git find cat env printenv tee cp mv ln xargs busybox eval'.split(
    ' ',
  );

/** The dangerous programs that a name with glob marks may stand for, at most four. */
export function matchingNames(name: string): readonly string[] {
  return dangerous.filter((one) => matchesGlob(name, one)).slice(0, 4);
}
